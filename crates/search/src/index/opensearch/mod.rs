//! An index on an OpenSearch server that several servers of a farm share.
//!
//! The server knows no rights. What a caller may find is sent with each question, and every weight too, because its own
//! statistics include hidden entries.

mod admission_filter;
mod answer;
mod bitmap;
mod bulk;
mod clauses;
mod document;
#[cfg(test)]
mod fake;
mod generations;
mod http;
mod index;
mod limits;
mod listing;
mod mapping;
mod matching;
mod place_table;
mod search;
mod server;
mod stored_checkpoint;
#[cfg(test)]
mod tests;
mod tokens;
mod view;
mod writer;

pub use generations::SharedGenerations;
pub(super) use index::{SEARCH_TIMEOUT, SharedIndex};
pub use server::SearchServer;
pub(super) use view::SharedView;
pub(super) use writer::SharedWriter;

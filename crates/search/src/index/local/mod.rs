//! An index in a directory of one server, made with tantivy.

mod admitted;
mod analyzer;
mod closeness;
mod columns;
mod contents;
mod entry_test;
mod error;
mod faults;
mod files;
mod filters;
mod index;
mod matching;
mod names;
mod passages;
mod phrase_query;
mod phrases;
mod place_numbers;
mod schema;
mod segment_counts;
mod top;
mod until_time;
mod view;
mod weights;
mod word_query;
mod writer;

pub use columns::Candidate;
pub(super) use index::LocalIndex;
pub(super) use view::LocalView;
pub(super) use writer::LocalWriter;

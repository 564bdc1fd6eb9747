//! The full-text index of one content database: what is indexed, one writer, and views that stay as they are.
//!
//! The index is made from the content database alone and can be thrown away at any time. It knows numbers of places and
//! of people, no names of either, and no rights: whoever asks brings the rule of what may be found ([`Admission`]).

mod analyzer;
mod checkpoint;
mod entry;
mod error;
mod passage;
mod schema;
mod search_index;
mod top;
mod view;
mod writer;

pub use checkpoint::{Checkpoint, FORMAT, FollowedEvent, Gap};
pub use entry::{Entry, Face};
pub use passage::{Passage, Piece};
pub use search_index::SearchIndex;
pub use top::{Admission, Candidate, Hit};
pub use view::View;
pub use writer::IndexWriter;

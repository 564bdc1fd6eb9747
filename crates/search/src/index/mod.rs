//! The full-text index of one content database: what is indexed, one writer, and views that stay as they are.
//!
//! Two providers keep it: `local` in a directory of one server, and `opensearch` on a search server. The other files
//! are the contract of both.
//!
//! The index is derived data and can be deleted at any time. It stores identifiers of places and people, but no rights;
//! the caller passes an [`Admission`].

mod admission;
mod checkpoint;
mod clock;
mod entry;
mod facets;
mod kept_text;
mod local;
mod names;
mod opensearch;
mod passage;
mod passages;
mod provider;
mod ranking;
mod top;
mod word_tokenizers;

pub use admission::{Admission, ChangedDocument, PlaceAccess, PlaceKey, ValidEntry};
pub use checkpoint::{
    Checkpoint, Comparison, ComparisonCounts, FORMAT, FinishedComparison, FollowedEvent, Gap, MAX_GAPS, WalkCounts,
};
pub use clock::Clock;
pub use entry::{
    Audience, Entry, EntryKind, EntryProperties, Fault, FaultyDocument, IndexedEntry, WantedFaults, name_print,
};
pub use facets::Facets;
pub use local::Candidate;
pub use names::{NameHit, NameHits, NameRequest, SHORTEST_PART};
pub use opensearch::{SearchServer, SharedGenerations};
pub use passage::{Passage, PassageFinder, Piece};
pub use passages::Passages;
pub use provider::{IndexWriter, SearchIndex, View};
pub use top::{Hit, HitOrder, TopHits, TopRequest};

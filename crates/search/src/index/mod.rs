//! The full-text index of one content database: what is indexed, one writer, and views that stay as they are.
//!
//! The index is derived data and can be deleted at any time. It stores identifiers of places and people, but no rights;
//! the caller passes an [`Admission`].

mod admission;
mod admitted;
mod analyzer;
mod checkpoint;
mod clock;
mod closeness;
mod columns;
mod contents;
mod entry;
mod entry_test;
mod error;
mod facets;
mod faults;
mod kept_text;
mod matching;
mod names;
mod opensearch;
mod passage;
mod passages;
mod phrase;
mod place_numbers;
mod provider;
mod schema;
mod search_index;
mod top;
mod until_time;
mod view;
mod weights;
mod word_query;
mod writer;

pub use admission::{Admission, Audience, ChangedDocument, Spot, ValidEntry};
pub use checkpoint::{Checkpoint, FORMAT, FinishedSweep, FollowedEvent, Gap, Sweep, SweepCounts, WalkCounts};
pub use clock::Clock;
pub use columns::Candidate;
pub use entry::{Entry, Face, Fault, FaultyDocument, IndexedEntry, WantedFaults, name_print};
pub use facets::Facets;
pub use names::{NameHit, NameHits, NameRequest, SHORTEST_PART};
pub use opensearch::{SearchServer, SharedGenerations};
pub use passage::{Passage, PassageFinder, Piece};
pub use passages::Passages;
pub use provider::{IndexWriter, SearchIndex, View};
pub use top::{Hit, HitOrder, TopHits, TopRequest};

//! Position of an index in the events of its content database.

use model::Error;
use serde::{Deserialize, Serialize};

/// Version of the index format. An index of another version is rebuilt. To be raised as well when readers find more
/// text in the same bytes.
pub const FORMAT: u32 = 10;

/// Position of an index in the events of its content database. Stored in the same commit as the entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Version of the index, [`FORMAT`].
    pub format: u32,
    /// Sequence of the newest event that the index contains, except `gaps`.
    pub sequence: i64,
    /// The newest event that was followed, which shows whether an index and a content database belong together.
    pub newest: Option<FollowedEvent>,
    /// Missing sequences below it, from transactions that are still open or were rolled back.
    pub gaps: Vec<Gap>,
    /// Abilities of the external programs. Documents that need them were read, or `retry` says which are still to be.
    #[serde(default)]
    pub abilities: Vec<String>,
    /// The document and version before which documents that need a program are read again; `None` once all were.
    #[serde(default)]
    pub retry: Option<(i64, i64)>,
    /// The last document that the first walk through the database has read; `None` once it is through.
    pub walk: Option<i64>,
    /// True if texts from stores that encrypt are in it.
    #[serde(default)]
    pub has_encrypted_texts: bool,
    /// Documents of the walk so far.
    #[serde(default)]
    pub walk_counts: WalkCounts,
    /// Comparisons of the index with its content database.
    #[serde(default)]
    pub comparison: Comparison,
}

impl Checkpoint {
    /// Returns the checkpoint of an empty index.
    pub(super) fn of_empty_index() -> Self {
        Self { format: FORMAT, walk: Some(0), ..Self::default() }
    }
}

/// Returns the error for an index of another version.
pub(super) fn other_version() -> Error {
    Error::corrupt("the search index has another format; the server rebuilds it")
}

/// Comparisons of an index with its content database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comparison {
    /// Time from which the next one is due, in microseconds since 1970; `None` if it was not set yet.
    pub due: Option<i64>,
    /// The last document that the one under way has compared; `None` between two.
    pub after: Option<i64>,
    /// What the one under way has found so far.
    pub counts: ComparisonCounts,
    /// The last one that has ended.
    pub last: Option<FinishedComparison>,
}

/// A comparison of an index with its content database that has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedComparison {
    /// Time of its end, in microseconds since 1970.
    pub at: i64,
    /// What it found.
    pub counts: ComparisonCounts,
}

/// Numbers of documents in a comparison of an index with its content database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparisonCounts {
    /// Documents of the database that were compared.
    pub documents: u64,
    /// Documents without an entry that should have one.
    pub missing: u64,
    /// Documents whose entries are of another version, place, name or audience.
    pub outdated: u64,
    /// Documents with entries that should have none.
    pub surplus: u64,
}

impl ComparisonCounts {
    /// Returns the number of documents that differed.
    pub fn differences(&self) -> u64 {
        self.missing + self.outdated + self.surplus
    }
}

/// Numbers of documents in the walk through the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WalkCounts {
    /// Documents whose text was read.
    pub texts: u64,
    /// Documents of whose text only the beginning was read.
    pub cut: u64,
    /// Documents whose text cannot be read.
    pub faults: u64,
    /// Documents that were deleted meanwhile.
    pub removed: u64,
}

/// An event that was followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FollowedEvent {
    /// Its sequence.
    pub sequence: i64,
    /// Time at which it happened, in microseconds since 1970.
    pub at: i64,
    /// The item.
    pub node: i64,
}

/// A sequence that was missing, and since when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The sequence.
    pub sequence: i64,
    /// Time at which it was first missed, in microseconds since 1970.
    pub since: i64,
}

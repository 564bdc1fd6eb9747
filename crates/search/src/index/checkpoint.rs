//! Position of an index in the events of its content database.

use model::{Error, Result};
use serde::{Deserialize, Serialize};

/// Version of the index format. An index of another version is rebuilt. To be raised as well when readers find more
/// text in the same bytes.
pub const FORMAT: u32 = 11;

/// Limit on the missing sequences that are remembered.
pub const MAX_GAPS: usize = 10_000;
/// Limit on the numbers in a checkpoint, which no farm reaches, so that sums of them are numbers.
const MAX_NUMBER: u64 = 1 << 60;

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

    /// Returns a checkpoint that was read, after a look at its numbers: whoever writes an index may make them up.
    ///
    /// # Errors
    /// `Corrupt` if they are impossible.
    pub(super) fn checked(self) -> Result<Self> {
        let is_number = |number: i64| u64::try_from(number).is_ok_and(|number| number <= MAX_NUMBER);
        let is_time = |time: i64| time.unsigned_abs() <= MAX_NUMBER;
        let Comparison { due, after, counts, last } = self.comparison;
        let last_counts = last.map(|last| last.counts).unwrap_or_default();
        let numbers = [self.sequence, self.walk.unwrap_or_default(), after.unwrap_or_default()];
        let mut numbers =
            numbers.into_iter().chain(self.newest.into_iter().flat_map(|newest| [newest.sequence, newest.node]));
        let times =
            [due.unwrap_or_default(), last.map_or(0, |last| last.at), self.newest.map_or(0, |newest| newest.at)];
        let WalkCounts { texts, cut, faults, removed } = self.walk_counts;
        let of = |counts: ComparisonCounts| [counts.documents, counts.missing, counts.outdated, counts.surplus];
        let mut counted = [texts, cut, faults, removed].into_iter().chain(of(counts)).chain(of(last_counts));
        let is_gap = |gap: &Gap| gap.sequence >= 0 && gap.sequence < self.sequence && is_time(gap.since);
        let is_possible = numbers.all(is_number)
            && times.into_iter().all(is_time)
            && counted.all(|count| count <= MAX_NUMBER)
            && self.retry.is_none_or(|(document, version)| document >= 0 && version >= 0)
            && self.gaps.len() <= MAX_GAPS
            && self.gaps.iter().all(is_gap);
        if is_possible { Ok(self) } else { Err(impossible()) }
    }
}

/// Returns the error for a checkpoint with impossible numbers.
pub(super) fn impossible() -> Error {
    Error::corrupt("the checkpoint of the search index is damaged; the server rebuilds the index")
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
        self.missing.saturating_add(self.outdated).saturating_add(self.surplus)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn impossible_numbers_are_refused() {
        let good = Checkpoint {
            sequence: 20,
            newest: Some(FollowedEvent { sequence: 20, at: 1, node: 3 }),
            gaps: vec![Gap { sequence: 19, since: -1 }],
            walk: Some(7),
            ..Checkpoint::of_empty_index()
        };
        assert_eq!(good.clone().checked().unwrap(), good);
        let gap = Gap { sequence: 1, since: 0 };
        let counts = ComparisonCounts { missing: u64::MAX, outdated: 1, ..ComparisonCounts::default() };
        assert_eq!(counts.differences(), u64::MAX);
        let wrong: [fn(&mut Checkpoint); 8] = [
            |checkpoint| checkpoint.sequence = -1,
            |checkpoint| checkpoint.sequence = i64::MAX,
            |checkpoint| checkpoint.gaps = vec![Gap { sequence: 20, since: 0 }],
            |checkpoint| checkpoint.gaps = vec![Gap { sequence: -1, since: 0 }],
            |checkpoint| checkpoint.walk = Some(i64::MIN),
            |checkpoint| checkpoint.walk_counts.texts = u64::MAX,
            |checkpoint| checkpoint.comparison.counts.missing = u64::MAX,
            |checkpoint| checkpoint.comparison.due = Some(i64::MIN),
        ];
        for spoil in wrong {
            let mut checkpoint = good.clone();
            spoil(&mut checkpoint);
            assert_eq!(checkpoint.checked().unwrap_err().kind(), model::ErrorKind::Corrupt);
        }
        let many = |count| Checkpoint { gaps: vec![gap; count], ..good.clone() }.checked().is_ok();
        assert_eq!((many(MAX_GAPS), many(MAX_GAPS + 1)), (true, false));
    }
}

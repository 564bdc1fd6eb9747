//! Requests for entries by parts of their names, and what is found.

use model::{Id, Timestamp};

use super::clock::Clock;
use crate::language::parts::SHORTEST;

/// Request for entries by parts of their names.
#[derive(Clone, Debug)]
pub struct NameRequest<'a> {
    /// Parts that a name must contain, folded by [`model::fold`], of at least [`SHORTEST_PART`] characters and without
    /// control characters.
    pub parts: &'a [String],
    /// A folded beginning; names with it come first.
    pub beginning: &'a str,
    /// Limit on the hits.
    pub limit: usize,
    /// Time limit.
    pub clock: Clock,
}

/// Number of characters in the shortest part that is looked up.
pub const SHORTEST_PART: usize = SHORTEST;

/// An entry whose name fits. The greater comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NameHit {
    /// True if the name begins with the text.
    pub begins: bool,
    /// Time of the last change.
    pub modified: Timestamp,
    /// The document.
    pub node: Id,
}

/// Entries whose names fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameHits {
    /// Those that begin with the text first; newest first.
    pub hits: Vec<NameHit>,
    /// True if there are more than the limit.
    pub more: bool,
    /// True if everything was searched. Otherwise time was up.
    pub whole: bool,
}

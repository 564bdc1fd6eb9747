//! Counts of hits by their properties.

use std::collections::{BTreeMap, HashMap};

use model::{Id, Timestamp};
use time::OffsetDateTime;

use crate::language::ROW_EXTENSION;

/// Numbers of hits by their properties.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facets {
    /// By extension of the name, folded and without the full stop; names without one are under the empty text. Rows of
    /// lists have one of their own, see [`Facets::take_rows`].
    pub extensions: BTreeMap<String, u64>,
    /// By creator.
    pub authors: HashMap<Id, u64>,
    /// By year of the last change (UTC).
    pub years: BTreeMap<i32, u64>,
    /// By site collection and place.
    pub places: HashMap<(Id, Id), u64>,
}

impl Facets {
    /// Takes the number of rows of lists out of the extensions.
    pub fn take_rows(&mut self) -> u64 {
        self.extensions.remove(ROW_EXTENSION).unwrap_or_default()
    }

    /// Adds the counts of another index.
    pub fn add(&mut self, other: Self) {
        other.extensions.into_iter().for_each(|(key, count)| *self.extensions.entry(key).or_default() += count);
        other.authors.into_iter().for_each(|(key, count)| *self.authors.entry(key).or_default() += count);
        other.years.into_iter().for_each(|(key, count)| *self.years.entry(key).or_default() += count);
        other.places.into_iter().for_each(|(key, count)| *self.places.entry(key).or_default() += count);
    }
}

/// Returns the year of a time (UTC).
pub(super) fn year_of(at: Timestamp) -> i32 {
    OffsetDateTime::from_unix_timestamp(at.seconds()).map_or(0, |at| at.year())
}

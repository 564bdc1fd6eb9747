//! Numbers of the places that entries name, so that what holds for a place is looked up once for each search and not
//! for each entry.

use std::sync::{Mutex, PoisonError};

use model::Id;
use rustc_hash::FxHashMap;

/// The numbers of places, each with its site collection, in the order in which they were first seen. Places that are
/// gone keep theirs until the index is opened again.
#[derive(Default)]
pub(super) struct PlaceNumbers(Mutex<FxHashMap<(Id, Id), u32>>);

impl PlaceNumbers {
    /// Returns the number of each place.
    pub(super) fn of(&self, places: impl Iterator<Item = (Id, Id)>) -> Vec<u32> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut last = None;
        let number = |place| {
            // Entries of one place are often neighbours.
            if let Some((same, number)) = last
                && same == place
            {
                return number;
            }
            let next = known.len() as u32;
            let number = *known.entry(place).or_insert(next);
            last = Some((place, number));
            number
        };
        places.map(number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_number() {
        let (numbers, place) = (PlaceNumbers::default(), |collection, place| (Id::new(collection), Id::new(place)));
        let (one, other, elsewhere) = (place(1, 10), place(1, 11), place(2, 10));
        assert_eq!(numbers.of([one, one, other, one].into_iter()), [0, 0, 1, 0]);
        assert_eq!(numbers.of([elsewhere, other].into_iter()), [2, 1]);
    }
}

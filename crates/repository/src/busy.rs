//! Counts the work of one kind that each person has under way. Knows neither the work nor the person.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use model::Id;

/// Work of one kind.
pub(crate) struct Busy {
    most: usize,
    under_way: Mutex<HashMap<Id, usize>>,
}

/// A piece of work of a person, under way until it is dropped.
pub(crate) struct Work<'a> {
    busy: &'a Busy,
    person: Id,
}

impl Busy {
    /// Lets each person have so many pieces of work under way.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, under_way: Mutex::default() }
    }

    /// Begins a piece of work, unless the person has too many under way.
    pub(crate) fn begin(&self, person: Id) -> Option<Work<'_>> {
        let mut under_way = self.locked();
        let count = under_way.entry(person).or_default();
        if *count >= self.most {
            return None;
        }
        *count += 1;
        Some(Work { busy: self, person })
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<Id, usize>> {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Work<'_> {
    fn drop(&mut self) {
        let mut under_way = self.busy.locked();
        if let Some(count) = under_way.get_mut(&self.person) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.person);
            }
        }
    }
}

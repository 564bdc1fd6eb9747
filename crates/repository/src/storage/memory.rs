//! What a process keeps in memory about BLOB stores between requests: what was read today, what is being looked at again, and which databases hold no references into forgotten stores.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::{Digest, Id};

use crate::farm::registry::Registry;

/// More BLOBs are not kept in memory between two times of writing; what is left out is noted at its next read.
const MOST: usize = 200_000;

/// Content databases and BLOBs in them that were read since the last time of writing.
#[derive(Default)]
pub(crate) struct Accesses(pub(super) Mutex<HashSet<(Id, Id)>>);

impl Accesses {
    /// Notes that a BLOB was read, if a policy wants to know.
    pub(crate) fn note(&self, registry: &Registry, database: Id, blob: Id) {
        if registry.wants_accesses {
            let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if read.len() < MOST {
                read.insert((database, blob));
            }
        }
    }
}

/// BLOBs that are asked for again at once because somebody could not read them.
const NOTED_AT_ONCE: usize = 4;

/// How long a BLOB on record is left alone after it was read again for somebody who wanted it.
const LOOKED_AGAIN: Duration = Duration::from_secs(5 * 60);

/// BLOBs on record that are read again within that time, at most.
const MOST_LOOKED: usize = 1_000;

/// BLOBs that could not be read, or are on record, and are being read again, beside the requests that met them.
#[derive(Default)]
pub(crate) struct Noting(Mutex<Notes>);

#[derive(Default)]
pub(super) struct Notes {
    busy: HashSet<Key>,
    /// Those on record that were read again, and when.
    looked: HashMap<Key, Instant>,
}

/// Identifier of a content database, and a BLOB that it needs.
type Key = (Id, Digest);

impl Noting {
    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins with one, unless it is under way already or enough others are.
    pub(super) fn begin(&self, key: Key) -> bool {
        let mut notes = self.notes();
        notes.busy.len() < NOTED_AT_ONCE && notes.busy.insert(key)
    }

    /// Begins with one that is on record, unless it was looked at a moment ago.
    pub(super) fn begin_again(&self, key: Key) -> bool {
        let mut notes = self.notes();
        notes.looked.retain(|_, at| at.elapsed() < LOOKED_AGAIN);
        let is_due = notes.looked.len() < MOST_LOOKED && !notes.looked.contains_key(&key);
        let begun = is_due && notes.busy.len() < NOTED_AT_ONCE && notes.busy.insert(key);
        if begun {
            notes.looked.insert(key, Instant::now());
        }
        begun
    }

    pub(super) fn end(&self, key: Key) {
        self.notes().busy.remove(&key);
    }
}

/// Time for which "there are none" is believed while the farm has the same stores: counting reads all references.
const BELIEVED: Duration = Duration::from_secs(60 * 60);

/// Time at which each content database was found to have none, with the stores that the farm had then.
#[derive(Default)]
pub(crate) struct Looked(Mutex<HashMap<Id, (Instant, Vec<Id>)>>);

impl Looked {
    pub(super) fn is_fresh(&self, database: Id, stores: &[Id]) -> bool {
        let looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.get(&database).is_some_and(|(at, known)| at.elapsed() < BELIEVED && known == stores)
    }

    pub(super) fn note(&self, database: Id, stores: Vec<Id>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(database, (Instant::now(), stores));
    }
}

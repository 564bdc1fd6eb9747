//! State about BLOB stores that a process keeps in memory between requests: BLOBs read recently, BLOBs being verified
//! again, and databases without references to forgotten stores.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use model::{Digest, Id};

use crate::farm::registry::Registry;

/// Limit on the BLOBs kept in memory between two writes. Others are noted at their next read.
const MAX_NOTED_BLOBS: usize = 200_000;

/// BLOBs read since the last write, each with its content database.
#[derive(Default)]
pub(crate) struct ReadTracker(pub(super) Mutex<HashSet<(Id, Id)>>);

impl ReadTracker {
    /// VerificationState that a BLOB was read, if a policy needs to know.
    pub(crate) fn note(&self, registry: &Registry, database: Id, blob: Id) {
        if registry.wants_accesses {
            let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if read.len() < MAX_NOTED_BLOBS {
                read.insert((database, blob));
            }
        }
    }
}

/// Limit on concurrent verifications of BLOBs that could not be read.
const MAX_CONCURRENT_REREADS: usize = 4;

/// Minimum delay between two rereads of a BLOB on record that a reader wanted.
const REREAD_DELAY: Duration = Duration::from_secs(5 * 60);

/// Limit on rereads of BLOBs on record within that time.
const MAX_REREADS: usize = 1_000;

/// BLOBs being verified in the background, because they could not be read or are on record.
#[derive(Default)]
pub(crate) struct Verifications(Mutex<VerificationState>);

#[derive(Default)]
pub(super) struct VerificationState {
    busy: HashSet<Key>,
    /// BLOBs on record that were reread, with the time.
    reread: HashMap<Key, Instant>,
}

/// A content database, and the digest of a BLOB that it needs.
type Key = (Id, Digest);

impl Verifications {
    pub(super) fn state(&self) -> MutexGuard<'_, VerificationState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a verification, unless it is already running or the limit is reached.
    pub(super) fn begin(&self, key: Key) -> bool {
        let mut state = self.state();
        state.busy.len() < MAX_CONCURRENT_REREADS && state.busy.insert(key)
    }

    /// Begins a reread of a BLOB on record, unless it was reread recently.
    pub(super) fn begin_again(&self, key: Key) -> bool {
        let mut state = self.state();
        state.reread.retain(|_, at| at.elapsed() < REREAD_DELAY);
        let is_due = state.reread.len() < MAX_REREADS && !state.reread.contains_key(&key);
        let begun = is_due && state.busy.len() < MAX_CONCURRENT_REREADS && state.busy.insert(key);
        if begun {
            state.reread.insert(key, Instant::now());
        }
        begun
    }

    pub(super) fn end(&self, key: Key) {
        self.state().busy.remove(&key);
    }
}

/// Validity of the result that there are no forgotten stores, while the farm has the same stores. Counting reads all
/// references.
const CHECK_LIFETIME: Duration = Duration::from_secs(60 * 60);

/// Time at which each content database was found to have no references to forgotten stores, with the farm's stores at
/// that time.
#[derive(Default)]
pub(crate) struct UnknownStoreChecks(Mutex<HashMap<Id, (Instant, Vec<Id>)>>);

impl UnknownStoreChecks {
    pub(super) fn is_fresh(&self, database: Id, stores: &[Id]) -> bool {
        let checks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        checks.get(&database).is_some_and(|(at, known)| at.elapsed() < CHECK_LIFETIME && known == stores)
    }

    pub(super) fn note(&self, database: Id, stores: Vec<Id>) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(database, (Instant::now(), stores));
    }
}

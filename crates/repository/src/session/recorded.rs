//! Counts the audit events of a transaction in the metrics, once it is committed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::content::event_detail::AUDIT_ACTIONS;

/// Number of events by action that a transaction has recorded so far. Clones share it.
#[derive(Clone, Default)]
pub(super) struct RecordedActions(Arc<Mutex<HashMap<&'static str, u64>>>);

impl RecordedActions {
    /// Forgets what an earlier attempt recorded.
    pub(super) fn begin(&self) {
        self.locked().clear();
    }

    /// Adds an event.
    pub(super) fn add(&self, action: &str) {
        if let Some(known) = AUDIT_ACTIONS.iter().find(|known| **known == action) {
            *self.locked().entry(known).or_default() += 1;
        }
    }

    /// Counts the events of a committed transaction.
    pub(super) fn report(&self) {
        for (action, count) in self.locked().drain() {
            metrics::counter!("strongroom_audit_events_total", "action" => action).increment(count);
        }
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<&'static str, u64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

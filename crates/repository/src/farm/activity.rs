//! Whether people work, for jobs that make room for them: the requests of this process, or what a server on the same data directory
//! says by the time of its lock file, so that a command makes room too.

use std::sync::atomic::{AtomicU64, Ordering};

/// So many requests between two looks are people at work.
const BUSY: u64 = 2;

/// Requests so far.
#[derive(Default)]
pub(crate) struct Activity(AtomicU64);

impl Activity {
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What one who makes room has seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch(u64);

impl Watch {
    pub(crate) fn is_busy(&mut self, activity: &Activity) -> bool {
        let now = activity.0.load(Ordering::Relaxed);
        now.wrapping_sub(std::mem::replace(&mut self.0, now)) >= BUSY
    }
}

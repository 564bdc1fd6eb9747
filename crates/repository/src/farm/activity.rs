//! Detects user activity, for background jobs that yield to users. A server counts the requests of its own process. A
//! command reads the modification time of the server's lock file in the same data directory, so that commands yield
//! too.

use std::sync::atomic::{AtomicU64, Ordering};

/// Number of requests between two checks that counts as user activity.
const BUSY: u64 = 2;

/// Requests so far.
#[derive(Default)]
pub(crate) struct Activity(AtomicU64);

impl Activity {
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// The number of requests at the last check of a yielding job.
#[derive(Clone, Copy, Debug, Default)]
pub struct ActivityMonitor(u64);

impl ActivityMonitor {
    pub(crate) fn is_busy(&mut self, activity: &Activity) -> bool {
        let now = activity.0.load(Ordering::Relaxed);
        now.wrapping_sub(std::mem::replace(&mut self.0, now)) >= BUSY
    }
}

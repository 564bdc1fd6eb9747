//! Validity of the lock on a backup location, as its holder sees it.
//!
//! A file lock holds until it is released. A lease on a bucket lapses when it cannot be renewed in time. This module
//! performs no I/O.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use model::{Error, Result};
use rustix::time::{ClockId, clock_gettime};

/// Value of a validity that has ended.
const LAPSED: u64 = 0;

/// The time until which a holder may rely on its lock. After this time has passed once, the validity stays lapsed:
/// another process may have held the lock in between.
#[derive(Clone)]
pub(crate) struct LeaseValidity {
    place: Arc<str>,
    /// Milliseconds since the start of the system.
    until: Arc<AtomicU64>,
}

impl LeaseValidity {
    /// Returns the validity of a lock that is held until it is released.
    pub fn unlimited() -> Self {
        Self::until("", u64::MAX)
    }

    /// Returns the validity of a lease that was requested at `sent` and lasts for `term` from then on.
    pub fn new(place: &str, sent: u64, term: Duration) -> Self {
        Self::until(place, end_of(sent, term))
    }

    fn until(place: &str, until: u64) -> Self {
        Self { place: place.into(), until: Arc::new(AtomicU64::new(until)) }
    }

    /// Extends the validity after a renewal that was requested at `sent`. Has no effect after the validity lapsed.
    pub fn extend(&self, sent: u64, term: Duration) {
        let now = running_time();
        // The closure returns a value in every case, so the update succeeds.
        let _ = self.until.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |until| {
            Some(if until > now { end_of(sent, term) } else { LAPSED })
        });
    }

    /// Ends the validity, because another process may have held the lock.
    pub fn lapse(&self) {
        self.until.store(LAPSED, Ordering::SeqCst);
    }

    /// Checks that the lock was held without interruption until now.
    ///
    /// # Errors
    /// `Unavailable` after the lease lapsed.
    pub fn check(&self) -> Result<()> {
        let (until, now) = (self.until.load(Ordering::SeqCst), running_time());
        if until > now {
            return Ok(());
        }
        // A renewal may have extended the validity since it was read: too late.
        self.until.store(LAPSED, Ordering::SeqCst);
        Err(Error::unavailable(format!(
            "the lease on {} lapsed because it was not renewed in time: another backup or prune may have changed \
             or removed what this command was using; run it again",
            self.place
        )))
    }

    /// Replaces an error by that of the lapsed lease, which explains it.
    pub fn explain(&self, error: Error) -> Error {
        self.check().err().unwrap_or(error)
    }
}

/// Returns the time since the start of the system in milliseconds, including time in which the machine slept. It does
/// not depend on the clock being right.
pub(crate) fn running_time() -> u64 {
    let time = clock_gettime(ClockId::Boottime);
    (time.tv_sec as u64).saturating_mul(1_000).saturating_add(time.tv_nsec as u64 / 1_000_000)
}

fn end_of(sent: u64, term: Duration) -> u64 {
    sent.saturating_add(term.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lapsed_lease_is_not_revived_by_a_late_renewal() {
        let hour = Duration::from_secs(3600);
        let validity = LeaseValidity::new("s3://b/p", running_time(), hour);
        assert!(validity.check().is_ok());
        validity.extend(running_time(), Duration::ZERO);
        validity.extend(running_time(), hour);
        let error = validity.clone().check().unwrap_err();
        assert!(error.message().contains("the lease on s3://b/p lapsed"), "{error}");
        let explained = validity.explain(Error::corrupt("the backup has lost the bytes"));
        assert!(explained.message().contains("lapsed"), "{explained}");
        assert!(LeaseValidity::unlimited().check().is_ok());
    }
}

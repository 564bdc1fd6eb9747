//! A single-flight check whose result is cached. Concurrent callers share the result, failures included, so that
//! callers of an unresponsive store do not time out one after another.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::{Error, Result};
use tokio::sync::Mutex;

/// Caches the result of a check.
pub struct CachedCheck {
    /// Lifetime of a success, counted from the start of the check; unlimited when `None`.
    lifetime: Option<Duration>,
    /// Minimum delay between a failed check and the next attempt. Until then callers get the same error.
    retry_delay: Duration,
    since: Instant,
    /// End of the cached success, in milliseconds after `since`.
    valid_until: AtomicU64,
    last_failure: Mutex<Option<(Instant, Error)>>,
}

impl CachedCheck {
    pub fn new(lifetime: Option<Duration>, retry_delay: Duration) -> Self {
        Self {
            lifetime,
            retry_delay,
            since: Instant::now(),
            valid_until: AtomicU64::new(0),
            last_failure: Mutex::default(),
        }
    }

    /// Returns whether a cached success is still valid.
    pub fn is_valid(&self) -> bool {
        (self.since.elapsed().as_millis() as u64) < self.valid_until.load(Ordering::Acquire)
    }

    /// Runs the check, unless a success is cached or a failure is recent.
    ///
    /// # Errors
    /// The errors of the check, cached ones included.
    pub async fn ensure<F: Future<Output = Result<()>>>(&self, check: impl FnOnce() -> F) -> Result<()> {
        if self.is_valid() {
            return Ok(());
        }
        let came = Instant::now();
        let mut refused = self.last_failure.lock().await;
        if self.is_valid() {
            return Ok(());
        }
        if let Some((when, error)) = refused.as_ref()
            && (*when >= came || when.elapsed() < self.retry_delay)
        {
            return Err(same(error));
        }
        let asked = self.since.elapsed();
        match check().await {
            Ok(()) => {
                let until = self.lifetime.map_or(u64::MAX, |lifetime| (asked + lifetime).as_millis() as u64);
                self.valid_until.store(until, Ordering::Release);
                *refused = None;
                Ok(())
            }
            Err(error) => {
                *refused = Some((Instant::now(), same(&error)));
                Err(error)
            }
        }
    }
}

/// Copies an error, without its source.
fn same(error: &Error) -> Error {
    Error::new(error.kind(), error.message().to_owned()).with_code(error.code())
}

//! A question to a place whose answer is good for a while: whoever comes while it is asked shares what comes of it, a refusal too, so
//! that those who wait for a place that gives no answer do not wait in turn.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use model::{Error, Result};
use tokio::sync::Mutex;

/// Remembers what came of the question.
pub struct Asked {
    /// How long a good answer is believed from when it was asked for; for good when absent.
    believed: Option<Duration>,
    /// For how long what went wrong is answered without asking again.
    pause: Duration,
    since: Instant,
    /// Until when that is, in milliseconds after `since`.
    until: AtomicU64,
    refused: Mutex<Option<(Instant, Error)>>,
}

impl Asked {
    pub fn new(believed: Option<Duration>, pause: Duration) -> Self {
        Self { believed, pause, since: Instant::now(), until: AtomicU64::new(0), refused: Mutex::default() }
    }

    /// Whether the last answer was good and is still believed.
    pub fn is_settled(&self) -> bool {
        (self.since.elapsed().as_millis() as u64) < self.until.load(Ordering::Acquire)
    }

    /// Asks, unless that is settled or was refused just now.
    ///
    /// Errors: those of the question.
    pub async fn settle<F: Future<Output = Result<()>>>(&self, question: impl FnOnce() -> F) -> Result<()> {
        if self.is_settled() {
            return Ok(());
        }
        let came = Instant::now();
        let mut refused = self.refused.lock().await;
        if self.is_settled() {
            return Ok(());
        }
        if let Some((when, error)) = refused.as_ref()
            && (*when >= came || when.elapsed() < self.pause)
        {
            return Err(same(error));
        }
        let asked = self.since.elapsed();
        match question().await {
            Ok(()) => {
                let until = self.believed.map_or(u64::MAX, |believed| (asked + believed).as_millis() as u64);
                self.until.store(until, Ordering::Release);
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

/// An error once more, without its cause.
fn same(error: &Error) -> Error {
    Error::new(error.kind(), error.message().to_owned()).with_code(error.code())
}

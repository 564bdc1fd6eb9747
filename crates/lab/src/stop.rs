//! Stop requests of the user: the first one ends the run early and cleans up, the second one leaves at once.

use std::future::Future;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::error::{Error, Result};

/// Records the stop requests and their number. Clones share the record.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<StopRequests>>);

#[derive(Clone, Copy, Debug, Default)]
struct StopRequests {
    times: u32,
    /// True once the load has shown what it was run for.
    enough: bool,
}

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(StopRequests::default())))
    }
}

impl Stop {
    /// Creates a stop that handles SIGINT and SIGTERM from now on, in place of their default action.
    ///
    /// # Errors
    /// If the signal handlers cannot be installed.
    pub fn on_signals() -> Result<Self> {
        let failed = |error: std::io::Error| Error::new(format!("signals cannot be received: {error}"));
        let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut ended = signal(SignalKind::terminate()).map_err(failed)?;
        let stop = Self::default();
        let heard = stop.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupted.recv() => heard.request(),
                    _ = ended.recv() => heard.request(),
                }
            }
        });
        Ok(stop)
    }

    /// Requests a stop.
    pub fn request(&self) {
        self.0.send_modify(|asked| asked.times = asked.times.saturating_add(1));
    }

    /// Ends a load that has shown what it was run for.
    pub fn finish(&self) {
        self.0.send_modify(|asked| asked.enough = true);
    }

    /// Returns whether a stop was requested.
    pub fn is_requested(&self) -> bool {
        self.0.borrow().times > 0
    }

    /// Returns whether the load has shown what it was run for.
    pub fn is_finished(&self) -> bool {
        self.0.borrow().enough
    }

    /// Waits for a stop request, or until the load has shown what it was run for.
    pub async fn first_request(&self) {
        self.until(|asked| asked.times > 0 || asked.enough).await;
    }

    /// Waits for a second stop request.
    pub async fn second_request(&self) {
        self.until(|asked| asked.times > 1).await;
    }

    async fn until(&self, reached: impl FnMut(&StopRequests) -> bool) {
        // `self` holds the sender, so the channel cannot be closed.
        let _ = self.0.subscribe().wait_for(reached).await;
    }

    /// Performs work unless a stop is requested before it is done.
    ///
    /// # Errors
    /// Errors of the work, or that it was interrupted.
    pub async fn unless_requested<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = self.first_request() => Err(Self::interrupted()),
        }
    }

    /// Returns the error of work that was interrupted.
    pub fn interrupted() -> Error {
        Error::new("interrupted before the load began")
    }
}

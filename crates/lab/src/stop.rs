//! Ends what goes on when somebody asks for it: once, to end early and tidy up; twice, to leave at once.

use std::future::Future;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use crate::error::{Error, Result};

/// Whether somebody asked to end, and how often. Copies hear the same.
#[derive(Clone, Debug)]
pub struct Stop(Arc<watch::Sender<StopRequests>>);

#[derive(Clone, Copy, Debug, Default)]
struct StopRequests {
    times: u32,
    /// What was wanted is known already.
    enough: bool,
}

impl Default for Stop {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(StopRequests::default())))
    }
}

impl Stop {
    /// One that hears SIGINT and SIGTERM from now on, instead of what these would do otherwise.
    ///
    /// # Errors
    /// When the system does not let them be heard.
    pub fn on_signals() -> Result<Self> {
        let failed = |error: std::io::Error| Error::new(format!("signals cannot be heard: {error}"));
        let mut interrupted = signal(SignalKind::interrupt()).map_err(failed)?;
        let mut ended = signal(SignalKind::terminate()).map_err(failed)?;
        let stop = Self::default();
        let heard = stop.clone();
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    _ = interrupted.recv() => heard.ask(),
                    _ = ended.recv() => heard.ask(),
                }
            }
        });
        Ok(stop)
    }

    /// Asks to end.
    pub fn ask(&self) {
        self.0.send_modify(|asked| asked.times = asked.times.saturating_add(1));
    }

    /// Ends a load that has shown what it was to show.
    pub fn enough(&self) {
        self.0.send_modify(|asked| asked.enough = true);
    }

    /// Whether somebody asked.
    pub fn asked(&self) -> bool {
        self.0.borrow().times > 0
    }

    /// Whether the load has shown what it was to show.
    pub fn is_enough(&self) -> bool {
        self.0.borrow().enough
    }

    /// Waits until somebody asks, or it is enough.
    pub async fn first(&self) {
        self.until(|asked| asked.times > 0 || asked.enough).await;
    }

    /// Waits until somebody asks a second time.
    pub async fn second(&self) {
        self.until(|asked| asked.times > 1).await;
    }

    async fn until(&self, reached: impl FnMut(&StopRequests) -> bool) {
        // The sender is held here, so that it cannot be gone.
        let _ = self.0.subscribe().wait_for(reached).await;
    }

    /// Does something unless somebody asks to end before it is done.
    ///
    /// # Errors
    /// Those of the work; that it was interrupted.
    pub async fn unless_asked<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = self.first() => Err(Self::interrupted()),
        }
    }

    /// What is said of work that was not done.
    pub fn interrupted() -> Error {
        Error::new("interrupted before the load began")
    }
}

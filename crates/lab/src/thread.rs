//! Threads of the lab, each with its own event loop. Independent of plans and targets.

use std::future::Future;

use tokio::sync::oneshot;

use crate::error::{Error, Result};

/// Runs work that must stay on one thread, on a thread of its own.
///
/// # Errors
/// If the thread cannot be started or ends early.
pub async fn on_own_thread<T: Send + 'static, F: Future<Output = T>>(
    make: impl FnOnce() -> F + Send + 'static,
) -> Result<T> {
    let (done, end) = oneshot::channel();
    spawn("lab", make, done)?;
    end.await.map_err(|_| Error::new("a thread of the lab ended early"))
}

/// Starts a thread with its own event loop. `done` receives the result of the work.
///
/// # Errors
/// If the thread cannot be started.
pub fn spawn<T: Send + 'static, F: Future<Output = T>>(
    name: &str,
    make: impl FnOnce() -> F + Send + 'static,
    done: oneshot::Sender<T>,
) -> Result<()> {
    let failed = |error: std::io::Error| Error::new(format!("a thread of the lab cannot be started: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let work = move || {
        let value = runtime.block_on(make());
        // The caller may no longer be waiting.
        let _ = done.send(value);
        // A pending name lookup must not hold the thread.
        runtime.shutdown_background();
    };
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map(drop).map_err(failed)
}

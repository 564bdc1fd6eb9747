//! Blocking work on tokio's blocking pool.
//!
//! This module must not know what the work is for.

use model::{Error, Result};

/// Runs work that waits for a disk or uses much CPU time on the blocking pool. The work runs to its end even if no
/// caller waits for the result any more.
///
/// # Errors
/// Those of the work; `Unavailable` when the program is stopping.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let task = tokio::task::spawn_blocking(work);
    task.await.map_err(|error| Error::unavailable("the program is stopping: try again").with_source(error))?
}

//! Blocking work on tokio's blocking pool.

use model::{Error, Result};
use tokio::task::JoinError;

/// Runs work that waits for a disk or uses much CPU time on the blocking pool.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(interrupted)?
}

/// The error for work that panicked or was cancelled.
pub(crate) fn interrupted(error: JoinError) -> Error {
    Error::unavailable("an operation of the BLOB store was interrupted").with_source(error)
}

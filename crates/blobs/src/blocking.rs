//! Work on threads that may wait.

use model::{Error, Result};
use tokio::task::JoinError;

/// Runs work that waits for a disk or takes the processor for a while on the blocking pool.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(interrupted)?
}

/// The error of work that ended without an answer.
pub(crate) fn interrupted(error: JoinError) -> Error {
    Error::unavailable("the BLOB store was interrupted").with_source(error)
}

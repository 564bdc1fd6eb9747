//! Work that waits for a disk or a search server.

use model::{Error, ErrorKind, Result};

/// Runs work that waits for a disk.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        let kind = if error.is_panic() { ErrorKind::Corrupt } else { ErrorKind::Unavailable };
        Error::new(kind, "work on a search index ended early").with_source(error)
    })?
}

//! Calculated fields that a change of a formula left out of date.

use std::time::Duration;

use futures_util::future::BoxFuture;
use repository::Repository;
use tokio::time::sleep;

/// Interval between searches for libraries and lists with such fields.
const EVERY: Duration = Duration::from_secs(2);
/// Interval after an error, which is likely to happen again.
const AFTER_ERROR: Duration = Duration::from_secs(60);

/// Computes calculated fields again where a formula has changed, until dropped. Several servers of a farm may run this
/// concurrently. Errors are logged, and the work is tried again a minute later.
pub fn recompute_always(repository: Repository) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        loop {
            let wait = match repository.recompute().await {
                Ok(0) => EVERY,
                Ok(done) => {
                    tracing::info!(done, "computed calculated fields of libraries and lists again");
                    EVERY
                }
                Err(error) => {
                    tracing::warn!(error = error.report(), "calculated fields could not be computed");
                    AFTER_ERROR
                }
            };
            sleep(wait).await;
        }
    })
}

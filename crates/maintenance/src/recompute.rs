//! Calculated fields that a change of a formula left out of date.

use std::time::Duration;

use futures_util::future::BoxFuture;
use repository::Repository;
use tokio::time::{MissedTickBehavior, interval};

/// Interval between searches for libraries and lists with such fields.
const EVERY: Duration = Duration::from_secs(2);

/// Computes calculated fields again where a formula has changed, until dropped. Several servers of a farm may run this
/// concurrently. Errors are logged, and the work is retried at the next interval.
pub fn recompute_always(repository: Repository) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut tick = interval(EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            match repository.recompute().await {
                Ok(0) => {}
                Ok(done) => tracing::info!(done, "computed calculated fields of libraries and lists again"),
                Err(error) => tracing::warn!(error = error.report(), "calculated fields could not be computed"),
            }
        }
    })
}

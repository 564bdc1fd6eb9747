//! Measurements of how much sites, libraries, lists and folders hold.

use std::time::{Duration, Instant};

use futures_util::future::BoxFuture;
use repository::Repository;
use tokio::time::sleep;

/// Interval between searches for measurements that somebody asked for.
const EVERY: Duration = Duration::from_secs(2);
/// Interval between searches for site collections whose measurement is missing or old.
const ALL: Duration = Duration::from_secs(60);
/// Time after the start of the server of the first of these, when it has less to do.
const FIRST: Duration = Duration::from_secs(60);
/// Interval after an error, which is likely to happen again.
const AFTER_ERROR: Duration = Duration::from_secs(60);

/// Measures site collections until dropped: when somebody asks for it, and once a day where something has changed.
/// Several servers of a farm may run this concurrently. Errors are logged, and the work is tried again a minute later.
pub fn measure_always(repository: Repository) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut next = Instant::now() + FIRST;
        loop {
            let all = Instant::now() >= next;
            let wait = match repository.measure(all).await {
                Ok(0) => EVERY,
                Ok(done) => {
                    tracing::debug!(done, "measured site collections");
                    EVERY
                }
                Err(error) => {
                    tracing::warn!(error = error.report(), "site collections could not be measured");
                    AFTER_ERROR
                }
            };
            if all {
                next = Instant::now() + ALL;
            }
            sleep(wait).await;
        }
    })
}

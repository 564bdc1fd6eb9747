//! Hourly clean-up inside a server: expired recycle-bin entries and abandoned uploads.

use std::time::Duration;

use futures_util::future::BoxFuture;
use model::Result;
use repository::{CleanedUp, Repository};
use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// Delay between the start of a server and its first clean-up, so that the first requests do not compete with it for
/// the disk.
const FIRST: Duration = Duration::from_secs(10);
/// Interval between clean-ups.
const EVERY: Duration = Duration::from_secs(60 * 60);

/// Cleans up every hour until dropped. Several servers of a farm may run this concurrently. Errors are logged, and the
/// work is retried at the next interval.
pub fn clean_up_hourly(repository: Repository) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut tick = interval_at(Instant::now() + FIRST, EVERY);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            match repository.tidy_uploads().await {
                Ok(0) => {}
                Ok(removed) => tracing::info!(removed, "removed abandoned uploads"),
                Err(error) => tracing::warn!(error = error.report(), "abandoned uploads could not be removed"),
            }
            if let Err(error) = clean_up(&repository).await {
                tracing::warn!(error = error.report(), "the clean-up failed and will be retried in an hour");
            }
        }
    })
}

/// Removes entries that were deleted longer ago than the retention period.
async fn clean_up(repository: &Repository) -> Result<()> {
    let session = repository.as_caller(repository.farm_administrator().await?);
    let kept = Duration::from_secs(u64::from(repository.recycle_days()) * 24 * 60 * 60);
    let cleaned = session.clean_up(kept).await?;
    if cleaned != CleanedUp::default() {
        let CleanedUp { recycled, unlisted } = cleaned;
        tracing::info!(recycled, unlisted, "cleaned up");
    }
    Ok(())
}

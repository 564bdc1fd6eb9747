//! Metrics: number and duration of put and open operations. The recorder must be installed before a store is opened.

use std::time::Instant;

use metrics::{Histogram, histogram};
use model::{Result, StoreKind};

use crate::provider::BoxFuture;

/// The metrics of the stores of one kind.
#[derive(Clone)]
pub(crate) struct Metrics {
    put: Histogram,
    open: Histogram,
}

impl Metrics {
    /// Creates the metrics of a kind.
    pub(crate) fn of(kind: StoreKind) -> Self {
        Self {
            put: histogram!("strongroom_blob_put_seconds", "kind" => kind.as_str()),
            open: histogram!("strongroom_blob_open_seconds", "kind" => kind.as_str()),
        }
    }

    /// Waits until a BLOB is durable and records the duration. Failures are not counted.
    pub(crate) async fn timed_put<T>(&self, putting: BoxFuture<'_, T>) -> Result<T> {
        timed(&self.put, putting).await
    }

    /// Waits until a BLOB is open and records the duration. Failures are not counted.
    pub(crate) async fn timed_open<T>(&self, opening: BoxFuture<'_, T>) -> Result<T> {
        timed(&self.open, opening).await
    }
}

async fn timed<T>(histogram: &Histogram, pending: BoxFuture<'_, T>) -> Result<T> {
    let start = Instant::now();
    let done = pending.await?;
    histogram.record(start.elapsed());
    Ok(done)
}

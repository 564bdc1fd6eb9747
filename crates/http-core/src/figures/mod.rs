//! History of this server's figures, for administrators. They are read from the server's own metrics every ten seconds
//! and kept in bounded memory.
//!
//! This module counts nothing itself. The history is lost when the process ends; `/metrics` serves those who want to
//! keep more.

mod history;
pub mod names;
mod reading;
mod recorder;
mod sample;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use async_recursion::async_recursion as boxed;
use model::Timestamp;

use history::History;
use reading::Reading;

pub use history::{COARSE, FINE, Span, Summary};
pub use recorder::{fold_samples, record_metrics, recorder};
pub use sample::{COUNT, FIGURES, Sample, Unit, position};

/// The history of one server.
pub struct MetricsHistory {
    started_at: Timestamp,
    history: Mutex<History>,
}

impl Default for MetricsHistory {
    fn default() -> Self {
        Self { started_at: Timestamp::now(), history: Mutex::default() }
    }
}

impl MetricsHistory {
    /// Returns the start time of this server.
    pub fn started_at(&self) -> Timestamp {
        self.started_at
    }

    /// Returns the samples of a span that are newer than `since`, oldest first.
    pub fn samples(&self, span: Span, since: Timestamp) -> Vec<Sample> {
        self.locked().samples(span, since)
    }

    /// Returns the last value, the mean and the maximum of each figure since `since`, or `None` for a figure without
    /// values.
    pub fn summaries(&self, span: Span, since: Timestamp) -> Vec<Option<Summary>> {
        let samples = self.samples(span, since);
        (0..COUNT).map(|at| Summary::of(samples.iter().map(|sample| sample.values[at]))).collect()
    }

    fn locked(&self) -> MutexGuard<'_, History> {
        self.history.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Takes a sample every ten seconds until the future is dropped.
#[boxed]
pub async fn keep(figures: Arc<MetricsHistory>) {
    let Some(mut before) = read() else { return };
    let mut tick = tokio::time::interval(FINE.step);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    tick.tick().await;
    loop {
        tick.tick().await;
        let Some(after) = read() else { return };
        figures.locked().add(&before, &after, Timestamp::now());
        before = after;
    }
}

/// Reads the current metrics.
fn read() -> Option<Reading> {
    recorder::note_memory();
    let text = recorder()?.render();
    Some(Reading::of(&text, Instant::now()))
}

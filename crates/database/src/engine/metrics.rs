//! Owns the names of the metrics of this room. The recorder must be installed before a database is opened.

use std::time::{Duration, Instant};

use metrics::{Counter, Histogram, counter, histogram};

use super::Engine;

/// The metrics of one open database.
#[derive(Clone)]
pub(crate) struct Metrics {
    reads: Counter,
    writes: Counter,
    failures: Counter,
    retries: Counter,
    batch: Histogram,
    commit: Histogram,
    wait: Histogram,
}

impl Metrics {
    pub(crate) fn new(engine: Engine) -> Self {
        let engine = engine.as_str();
        Self {
            reads: counter!("database_transactions_total", "engine" => engine, "kind" => "read"),
            writes: counter!("database_transactions_total", "engine" => engine, "kind" => "write"),
            failures: counter!("database_failures_total", "engine" => engine),
            retries: counter!("database_retries_total", "engine" => engine),
            batch: histogram!("database_batch_transactions", "engine" => engine),
            commit: histogram!("database_commit_seconds", "engine" => engine),
            wait: histogram!("database_queue_seconds", "engine" => engine),
        }
    }

    pub(crate) fn read(&self, succeeded: bool) {
        self.reads.increment(1);
        if !succeeded {
            self.failures.increment(1);
        }
    }

    pub(crate) fn write(&self, succeeded: bool) {
        self.writes.increment(1);
        if !succeeded {
            self.failures.increment(1);
        }
    }

    pub(crate) fn retry(&self) {
        self.retries.increment(1);
    }

    pub(crate) fn commit(&self, transactions: usize, took: Duration) {
        self.batch.record(transactions as f64);
        self.commit.record(took);
    }

    pub(crate) fn waited(&self, since: Instant) {
        self.wait.record(since.elapsed());
    }
}

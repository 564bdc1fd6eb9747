//! Owns the names of this crate's metrics. The recorder must be installed before a database is opened.

use std::path::Path;
use std::time::{Duration, Instant};

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};

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

/// The metrics of one SQLite file, for which no database server exists that would report them. They are labelled with
/// the file name.
#[derive(Clone)]
pub(crate) struct FileMetrics {
    hits: Counter,
    misses: Counter,
    logged: Counter,
    size: Gauge,
    lock: Histogram,
}

impl FileMetrics {
    pub(crate) fn new(path: &Path) -> Self {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self {
            hits: counter!("database_cache_hits_total", "database" => name.clone()),
            misses: counter!("database_cache_misses_total", "database" => name.clone()),
            logged: counter!("database_log_bytes_total", "database" => name.clone()),
            size: gauge!("database_size_bytes", "database" => name.clone()),
            lock: histogram!("database_lock_seconds", "database" => name),
        }
    }

    /// Counts pages found in a connection's page cache, and pages that had to be read.
    pub(crate) fn cache(&self, (hits, misses): (u64, u64)) {
        self.hits.increment(hits);
        self.misses.increment(misses);
    }

    /// Counts bytes by which the WAL has grown.
    pub(crate) fn logged(&self, bytes: u64) {
        self.logged.increment(bytes);
    }

    /// Sets the size of the file in bytes.
    pub(crate) fn size(&self, bytes: u64) {
        self.size.set(bytes as f64);
    }

    /// Records the time spent waiting for the write lock of the file.
    pub(crate) fn locked(&self, since: Instant) {
        self.lock.record(since.elapsed());
    }
}

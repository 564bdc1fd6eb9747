//! Owns the names of the metrics of this room. The recorder must be installed before a database is opened.

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

/// The metrics of one SQLite file, which no server of databases would tell. The name of the file tells them apart.
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

    /// Pages that were found in the cache of a connection, and those that had to be read.
    pub(crate) fn cache(&self, (hits, misses): (u64, u64)) {
        self.hits.increment(hits);
        self.misses.increment(misses);
    }

    /// Bytes by which the log has grown.
    pub(crate) fn logged(&self, bytes: u64) {
        self.logged.increment(bytes);
    }

    /// Bytes of the file.
    pub(crate) fn size(&self, bytes: u64) {
        self.size.set(bytes as f64);
    }

    /// The right to write the file was waited for.
    pub(crate) fn locked(&self, since: Instant) {
        self.lock.record(since.elapsed());
    }
}

//! Owns the read connections of a SQLite file.

use std::num::NonZero;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use model::Result;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::attendant::ReadWatchdog;
use super::classify::classify;
use super::connection::{Connection, Role};
use crate::engine::errors::{closed, overloaded};
use crate::engine::metrics::FileMetrics;
use crate::engine::queued::{ReadClosure, Returned, caught};
use crate::engine::session::{Reader, Session};

/// Number of threads that a runtime needs on this machine: one per core, and two more. Short reads run on these
/// threads. Each file runs at most one fewer at a time, so that other work can proceed while reads wait for a disk.
pub fn runtime_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get) + 2
}

/// A permit for reads of one kind, and one for a connection.
pub(super) type Permit = (OwnedSemaphorePermit, OwnedSemaphorePermit);

/// Read connections, opened on demand.
pub(super) struct Pool {
    path: Arc<PathBuf>,
    // `None` once the pool is closed.
    idle: Mutex<Option<Vec<Connection>>>,
    readers: u32,
    permits: Arc<Semaphore>,
    short: Arc<Semaphore>,
    long: Arc<Semaphore>,
    attendant: ReadWatchdog,
    patience: Duration,
    metrics: FileMetrics,
}

impl Pool {
    pub(super) fn new(path: &Arc<PathBuf>, readers: usize, patience: Duration, metrics: FileMetrics) -> Self {
        let readers = readers.clamp(2, 1000);
        Self {
            path: Arc::clone(path),
            idle: Mutex::new(Some(Vec::new())),
            readers: readers as u32,
            permits: Arc::new(Semaphore::new(readers)),
            short: Arc::new(Semaphore::new(runtime_threads() - 1)),
            long: Arc::new(Semaphore::new(readers / 2)),
            attendant: ReadWatchdog::new(),
            patience,
            metrics,
        }
    }

    /// Returns a permit to use one connection on a thread of the runtime, if one is free at this moment.
    pub(super) fn permit_at_once(&self) -> Option<Permit> {
        let short = Arc::clone(&self.short).try_acquire_owned().ok()?;
        Some((short, Arc::clone(&self.permits).try_acquire_owned().ok()?))
    }

    /// Waits for a permit to use one connection on a thread of the runtime. The wait blocks no thread, and no holder of
    /// a permit waits for another. To be called only from a task of its own, like [`Self::long_permit`]: a permit
    /// assigned to a future that is not being polled is unavailable to all others.
    pub(super) async fn permit(&self) -> Result<Permit> {
        let short = self.acquire(&self.short).await?;
        Ok((short, self.acquire(&self.permits).await?))
    }

    /// Waits for a permit to use one connection for a long read.
    pub(super) async fn long_permit(&self) -> Result<Permit> {
        let long = self.acquire(&self.long).await?;
        Ok((long, self.acquire(&self.permits).await?))
    }

    async fn acquire(&self, semaphore: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit> {
        match tokio::time::timeout(self.patience, Arc::clone(semaphore).acquire_owned()).await {
            Ok(permit) => permit.map_err(|_| closed()),
            Err(_) => Err(overloaded()),
        }
    }

    /// Runs a short read on a thread of the runtime. The caller must hold a permit.
    pub(super) fn run_here(&self, closure: ReadClosure) -> Result<Returned> {
        self.attendant.attend(|| self.run(closure))
    }

    /// Runs a read. The caller must hold a permit.
    pub(super) fn run(&self, closure: ReadClosure) -> Result<Returned> {
        let idle = self.idle().as_mut().ok_or_else(closed)?.pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => Connection::open(&self.path, Role::Reader, self.patience)?,
        };
        connection.control("BEGIN").map_err(|e| classify(e, &self.path))?;
        let result = {
            let mut reader = Reader::new(Session::Sqlite(&mut connection));
            let answer = caught(|| closure(&mut reader));
            reader.verdict(answer)
        };
        // A connection that cannot end its snapshot would hold back the WAL for ever, so it is closed instead of
        // reused.
        let ended = connection.raw().is_autocommit() || connection.control("COMMIT").is_ok();
        self.metrics.cache(connection.cache_use());
        if let (true, Some(idle)) = (ended, self.idle().as_mut()) {
            idle.push(connection);
        }
        result
    }

    /// Waits up to `patience` for running reads, and closes the connections.
    pub(super) async fn close(&self) {
        let all = tokio::time::timeout(self.patience, self.permits.acquire_many(self.readers)).await;
        self.permits.close();
        self.short.close();
        self.long.close();
        drop(self.idle().take());
        drop(all);
    }

    fn idle(&self) -> MutexGuard<'_, Option<Vec<Connection>>> {
        // No code panics while it holds this lock; even if it did, the list would still be consistent.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

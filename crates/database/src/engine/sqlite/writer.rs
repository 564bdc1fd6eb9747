//! Owns the single thread that changes a SQLite file, and its group commit: waiting transactions share one commit and
//! thus one flush to the disk. Each but the first runs inside its own savepoint.
//!
//! A transaction that finds the disk full is retried alone. A vital one may then use the reserved space. All others are
//! refused until the reserve is intact again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use model::{Code, Error, Result};
use tokio::sync::mpsc;

use crate::Options;
use crate::engine::metrics::{FileMetrics, Metrics};
use crate::engine::queued::Write;
use crate::engine::session::{Session, Transaction};

use super::checkpoint::Checkpoints;
use super::classify::{classify, classify_commit, full, is_busy, is_constraint, is_disk_error, is_full};
use super::commits::Commits;
use super::connection::{Connection, Role};
use super::reserve::Reserve;
use super::turn::WriteTurn;

/// Time after which a batch accepts no more transactions, so that the first does not wait long for its result.
const BATCH_TIME: Duration = Duration::from_millis(10);

/// Time that a vital transaction on a full disk waits for reads, because the WAL that they use cannot be emptied.
const READS_END: Duration = Duration::from_secs(1);

/// Time that a transaction waits before the release of a further part of the reserved space.
const SETTLE: Duration = Duration::from_millis(20);

/// The state of the thread.
pub(super) struct Writer {
    connection: Connection,
    path: Arc<PathBuf>,
    patience: Duration,
    turn: WriteTurn,
    commits: Commits,
    // The connection's change counter at the start of the transaction.
    changes: u64,
    batch: usize,
    log_pages: Arc<AtomicU32>,
    // Number of WAL pages already included in the metrics.
    counted_pages: u32,
    checkpoints: Checkpoints,
    reserve: Reserve,
    metrics: Metrics,
    file: FileMetrics,
}

/// The outcome of a transaction in a batch.
enum WriteOutcome {
    /// The transaction has its own outcome, and the batch continues.
    Settled(Result<()>),
    /// The error ended the transaction of the whole batch.
    Broke(Error),
}

impl Writer {
    pub(super) fn open(
        path: &Arc<PathBuf>,
        options: &Options,
        (metrics, file): (Metrics, FileMetrics),
        given_up: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let (patience, batch) = (options.patience, options.batch.max(1));
        let log_pages = Arc::new(AtomicU32::new(0));
        let connection = open_watched(path, patience, &log_pages)?;
        let checkpoints = Checkpoints::start(path, patience)?;
        let bytes = connection.bytes().map_err(|e| classify(e, path))?;
        let reserve = Reserve::open(path, bytes, Arc::clone(given_up));
        let (turn, commits) = (WriteTurn::open(path, patience), Commits::open(path));
        let path = Arc::clone(path);
        file.size(bytes);
        Ok(Self {
            connection,
            path,
            patience,
            turn,
            commits,
            changes: 0,
            batch,
            log_pages,
            counted_pages: 0,
            checkpoints,
            reserve,
            metrics,
            file,
        })
    }

    /// Serves transactions until every sender is dropped and the queue is empty.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Write>) {
        while let Some(first) = queue.blocking_recv() {
            self.serve(first, &mut queue);
        }
    }

    fn serve(&mut self, first: Write, queue: &mut mpsc::Receiver<Write>) {
        let for_all = self.reserve.is_whole() || self.take_back();
        if let Err(error) = self.begin() {
            self.refuse_all(first, queue, &error);
            return;
        }
        let started = Instant::now();
        let mut done: Vec<(Write, Result<()>)> = Vec::new();
        let mut next = Some(first);
        while let Some(mut job) = next {
            if !for_all && !job.is_vital() {
                done.push((job, Err(full(&self.path))));
            } else if !job.is_abandoned() {
                self.metrics.waited(job.queued());
                let first = done.iter().all(|(_, outcome)| outcome.is_err());
                match self.run_one(&mut job, first) {
                    WriteOutcome::Settled(outcome) => done.push((job, outcome)),
                    WriteOutcome::Broke(error) => {
                        self.recover(None);
                        if error.code() == Code::DiskFull && job.is_vital() {
                            done.push((job, Ok(())));
                        } else {
                            self.answer(job, Err(error));
                        }
                        self.retry_each(done);
                        return;
                    }
                }
            }
            let room = done.len() < self.batch && started.elapsed() < BATCH_TIME;
            next = if room { queue.try_recv().ok() } else { None };
        }
        self.commit(done);
    }

    /// Runs one transaction of a batch. It needs a savepoint only if the batch already contains changes of others. The
    /// first one runs without: SQLite then keeps no second copy of each changed page, and its failure affects no other
    /// transaction.
    fn run_one(&mut self, job: &mut Write, first: bool) -> WriteOutcome {
        if !first && let Err(error) = self.connection.control("SAVEPOINT one") {
            return WriteOutcome::Broke(classify(error, &self.path));
        }
        let outcome = {
            let mut transaction = Transaction::new(Session::Sqlite(&mut self.connection));
            job.run(&mut transaction)
        };
        // Some errors, such as a full disk, can roll back everything by themselves.
        let outcome = match outcome {
            Err(error) if first || error.code() == Code::DiskFull => return WriteOutcome::Broke(error),
            outcome if self.connection.raw().is_autocommit() => {
                return WriteOutcome::Broke(outcome.err().unwrap_or_else(ended_early));
            }
            outcome => outcome,
        };
        let ended = match outcome {
            Ok(()) if first => Ok(()),
            Ok(()) => self.connection.control("RELEASE one"),
            Err(_) => self.connection.control("ROLLBACK TO one").and_then(|()| self.connection.control("RELEASE one")),
        };
        match ended {
            Ok(()) => WriteOutcome::Settled(outcome),
            Err(error) => WriteOutcome::Broke(outcome.err().unwrap_or_else(|| classify(error, &self.path))),
        }
    }

    fn commit(&mut self, done: Vec<(Write, Result<()>)>) {
        let changed = done.iter().filter(|(_, outcome)| outcome.is_ok()).count();
        let started = Instant::now();
        match self.commit_covered() {
            Ok(()) => {
                self.metrics.commit(changed, started.elapsed());
                for (job, outcome) in done {
                    self.answer(job, outcome);
                }
                self.committed();
            }
            // A constraint that is checked at the end of the transaction must fail only the transactions that violate
            // it. On a full disk only those that do not fit must fail, and no vital one.
            Err(error) if is_full(&error) || is_constraint(&error) && changed > 1 => {
                self.recover(None);
                self.retry_each(done);
            }
            Err(error) => {
                self.recover(Some(&error));
                tracing::error!(database = %self.path.display(), %error, transactions = done.len(), "a commit failed");
                for (job, outcome) in done {
                    let failure = classify_commit(copy_of(&error), &self.path);
                    self.answer(job, outcome.and(Err(failure)));
                }
            }
        }
    }

    /// Runs each transaction alone, after a batch was rolled back because of one of them.
    fn retry_each(&mut self, jobs: Vec<(Write, Result<()>)>) {
        for (mut job, outcome) in jobs {
            if outcome.is_err() {
                self.answer(job, outcome);
                continue;
            }
            self.metrics.retry();
            let outcome = self.run_alone(&mut job);
            self.answer(job, outcome);
        }
    }

    /// Runs one transaction alone, if necessary in the reserved space.
    fn run_alone(&mut self, job: &mut Write) -> Result<()> {
        if !job.is_vital() && !self.reserve.is_whole() {
            return Err(full(&self.path));
        }
        let mut outcome = self.attempt(job);
        while outcome.as_ref().is_err_and(|error| error.code() == Code::DiskFull) && job.is_vital() {
            if !self.reserve.is_whole() {
                // Uploads in progress consumed the previous part. They end soon.
                std::thread::sleep(SETTLE);
            }
            if !self.reserve.release_part() {
                break;
            }
            self.empty_log(READS_END);
            outcome = self.attempt(job);
        }
        outcome
    }

    fn attempt(&mut self, job: &mut Write) -> Result<()> {
        self.begin().map_err(|e| classify(e, &self.path))?;
        match self.run_one(job, true) {
            WriteOutcome::Settled(outcome) => {
                if let Err(error) = self.commit_covered() {
                    self.recover(Some(&error));
                    return outcome.and(Err(classify_commit(error, &self.path)));
                }
                self.committed();
                outcome
            }
            WriteOutcome::Broke(error) => {
                self.recover(None);
                Err(error)
            }
        }
    }

    /// Begins a transaction when this process has its turn.
    fn begin(&mut self) -> rusqlite::Result<()> {
        let waiting = Instant::now();
        let begun = self.turn.begin(&mut self.connection);
        self.file.locked(waiting);
        self.changes = self.connection.raw().total_changes();
        begun
    }

    /// Commits if the disk has room for the checkpoint that follows; otherwise fails as with a full disk.
    fn commit_covered(&mut self) -> rusqlite::Result<()> {
        // While the reserve is released only vital transactions run, and the reserve is meant for them.
        let bytes = self.connection.bytes()?;
        if self.reserve.is_whole() && !self.reserve.ensure_covers(bytes) {
            return Err(rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_FULL), None));
        }
        let is_changed = self.connection.raw().total_changes() != self.changes;
        let count = if is_changed { Some(Commits::raise(self.connection.raw())?) } else { None };
        self.connection.control("COMMIT")?;
        if let Some(count) = count {
            self.commits.note(count);
        }
        self.file.size(bytes);
        Ok(())
    }

    /// Manages the WAL after a commit, and on a full disk the reserve too.
    fn committed(&mut self) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        // Fewer pages than before mean that the WAL was restarted.
        let new = if pages < self.counted_pages { pages } else { pages - self.counted_pages };
        self.counted_pages = pages;
        self.file.logged(u64::from(new) * self.connection.frame_bytes());
        self.file.cache(self.connection.cache_use());
        if self.reserve.is_whole() {
            self.checkpoints.committed(&self.connection, pages);
        } else {
            self.empty_log(Duration::ZERO);
            self.take_back();
        }
    }

    /// Truncates the WAL if the disk has room for all of it in the database file, and no read uses it after `wait`. A
    /// partial checkpoint would use up the space in vain.
    fn empty_log(&mut self, wait: Duration) {
        if self.connection.bytes().is_ok_and(|bytes| self.reserve.has_room_for(bytes)) {
            self.checkpoints.empty_log(&self.connection, wait, self.patience);
        }
    }

    fn take_back(&mut self) -> bool {
        self.connection.bytes().is_ok_and(|bytes| self.reserve.reclaim(bytes))
    }

    /// Makes the connection usable again. After a disk error a new connection replaces it.
    fn recover(&mut self, error: Option<&rusqlite::Error>) {
        let ended = self.connection.raw().is_autocommit() || self.connection.control("ROLLBACK").is_ok();
        if ended && !error.is_some_and(is_disk_error) {
            return;
        }
        match open_watched(&self.path, self.patience, &self.log_pages) {
            Ok(connection) => self.connection = connection,
            // The old connection fails further transactions with the reason, until one of them succeeds.
            Err(error) => tracing::error!(error = error.report(), "the database could not be opened again"),
        }
    }

    /// Refuses all waiting transactions. If they were tried one by one, each would wait in vain as long as the first.
    fn refuse_all(&mut self, first: Write, queue: &mut mpsc::Receiver<Write>, error: &rusqlite::Error) {
        if !is_busy(error) {
            self.recover(Some(error));
        }
        let mut waiting = queue.len();
        let mut next = Some(first);
        while let Some(job) = next {
            let failure = classify(copy_of(error), &self.path);
            self.answer(job, Err(failure));
            next = if waiting > 0 { queue.try_recv().ok() } else { None };
            waiting = waiting.saturating_sub(1);
        }
    }

    fn answer(&self, job: Write, outcome: Result<()>) {
        self.metrics.write(outcome.is_ok());
        job.answer(outcome);
    }
}

fn open_watched(path: &Arc<PathBuf>, patience: Duration, log_pages: &Arc<AtomicU32>) -> Result<Connection> {
    let seen = Arc::clone(log_pages);
    Connection::open_with(path, Role::Writer, patience, |raw| {
        raw.wal_hook(Some(move |_: &mut rusqlite::hooks::Wal, pages: i32| {
            seen.store(u32::try_from(pages).unwrap_or(0), Ordering::Relaxed);
            Ok(())
        }))
    })
}

/// Copies an error, because one failure is the result of many transactions and the driver's error cannot be cloned.
fn copy_of(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(failure, text) => rusqlite::Error::SqliteFailure(*failure, text.clone()),
        _ => rusqlite::Error::InvalidQuery,
    }
}

fn ended_early() -> Error {
    Error::unavailable("the database ended the transaction; nothing was changed, try again").with_code(Code::Aborted)
}

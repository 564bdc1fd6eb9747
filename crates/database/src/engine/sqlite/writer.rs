//! Owns the one thread that changes a SQLite file, and its group commit: the transactions that wait share one commit
//! and so one flush to the disk, all but the first inside a savepoint of its own.
//!
//! A transaction that finds the disk full is tried again alone. One that is vital may then use the room that is
//! kept back; all others are refused until that room is there again.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use model::{Code, Error, Result};
use tokio::sync::mpsc;

use crate::Options;
use crate::engine::job::Write;
use crate::engine::metrics::{FileMetrics, Metrics};
use crate::engine::session::{Session, Transaction};

use super::checkpoint::Checkpoints;
use super::classify::{classify, classify_commit, full, is_busy, is_constraint, is_disk_error, is_full};
use super::commits::Commits;
use super::connection::{Connection, Role};
use super::reserve::Reserve;
use super::turn::Turn;

/// A batch takes no more transactions after this time, so that the first does not wait long for its answer.
const BATCH_TIME: Duration = Duration::from_millis(10);

/// How long a transaction waits between two parts of the room that is kept back.
const SETTLE: Duration = Duration::from_millis(20);

/// The thread's state.
pub(super) struct Writer {
    connection: Connection,
    path: Arc<PathBuf>,
    patience: Duration,
    turn: Turn,
    commits: Commits,
    // Changes of the connection when the transaction began.
    changes: u64,
    batch: usize,
    log_pages: Arc<AtomicU32>,
    // How many of them are in the metrics.
    counted_pages: u32,
    checkpoints: Checkpoints,
    reserve: Reserve,
    metrics: Metrics,
    file: FileMetrics,
}

/// How a transaction ended inside its savepoint.
enum Ran {
    /// Its own outcome; the batch goes on.
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
        let (turn, commits) = (Turn::open(path, patience), Commits::open(path));
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

    /// Serves until every sender is gone and the queue is empty.
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
                    Ran::Settled(outcome) => done.push((job, outcome)),
                    Ran::Broke(error) => {
                        self.recover(None);
                        if error.code() == Code::DiskFull && job.is_vital() {
                            done.push((job, Ok(())));
                        } else {
                            self.answer(job, Err(error));
                        }
                        self.again(done);
                        return;
                    }
                }
            }
            let room = done.len() < self.batch && started.elapsed() < BATCH_TIME;
            next = if room { queue.try_recv().ok() } else { None };
        }
        self.commit(done);
    }

    /// Runs one transaction, inside a savepoint when there are changes of others before it: without one SQLite keeps no second
    /// copy of each page that it changes, and what fails takes nothing with it but itself.
    fn run_one(&mut self, job: &mut Write, first: bool) -> Ran {
        if !first && let Err(error) = self.connection.control("SAVEPOINT one") {
            return Ran::Broke(classify(error, &self.path));
        }
        let outcome = {
            let mut transaction = Transaction::new(Session::Sqlite(&mut self.connection));
            job.run(&mut transaction)
        };
        // Some errors, a full disk among them, can roll everything back on their own.
        let outcome = match outcome {
            Err(error) if first || error.code() == Code::DiskFull => return Ran::Broke(error),
            outcome if self.connection.raw().is_autocommit() => {
                return Ran::Broke(outcome.err().unwrap_or_else(ended_early));
            }
            outcome => outcome,
        };
        let ended = match outcome {
            Ok(()) if first => Ok(()),
            Ok(()) => self.connection.control("RELEASE one"),
            Err(_) => self.connection.control("ROLLBACK TO one").and_then(|()| self.connection.control("RELEASE one")),
        };
        match ended {
            Ok(()) => Ran::Settled(outcome),
            Err(error) => Ran::Broke(outcome.err().unwrap_or_else(|| classify(error, &self.path))),
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
            // A constraint that is checked at the end of the transaction: only those who broke it shall fail.
            // On a full disk only those shall that do not fit, and none that is vital.
            Err(error) if is_full(&error) || is_constraint(&error) && changed > 1 => {
                self.recover(None);
                self.again(done);
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

    /// Runs each alone, after a batch was rolled back for the fault of one of them.
    fn again(&mut self, jobs: Vec<(Write, Result<()>)>) {
        for (mut job, outcome) in jobs {
            if outcome.is_err() {
                self.answer(job, outcome);
                continue;
            }
            self.metrics.retry();
            let outcome = self.alone(&mut job);
            self.answer(job, outcome);
        }
    }

    /// Runs one transaction by itself, if need be in the room that is kept back.
    fn alone(&mut self, job: &mut Write) -> Result<()> {
        if !job.is_vital() && !self.reserve.is_whole() {
            return Err(full(&self.path));
        }
        let mut outcome = self.attempt(job);
        while outcome.as_ref().is_err_and(|error| error.code() == Code::DiskFull) && job.is_vital() {
            if !self.reserve.is_whole() {
                // Uploads that were on their way took the part before; they end soon.
                std::thread::sleep(SETTLE);
            }
            if !self.reserve.give_up() {
                break;
            }
            self.empty_log();
            outcome = self.attempt(job);
        }
        outcome
    }

    fn attempt(&mut self, job: &mut Write) -> Result<()> {
        self.begin().map_err(|e| classify(e, &self.path))?;
        match self.run_one(job, true) {
            Ran::Settled(outcome) => {
                if let Err(error) = self.commit_covered() {
                    self.recover(Some(&error));
                    return outcome.and(Err(classify_commit(error, &self.path)));
                }
                self.committed();
                outcome
            }
            Ran::Broke(error) => {
                self.recover(None);
                Err(error)
            }
        }
    }

    /// Begins a transaction, once it is this process's turn.
    fn begin(&mut self) -> rusqlite::Result<()> {
        let waiting = Instant::now();
        let begun = self.turn.begin(&mut self.connection);
        self.file.locked(waiting);
        self.changes = self.connection.raw().total_changes();
        begun
    }

    /// Commits, if the disk has room for copying the log afterwards; otherwise the error is that of a full disk.
    fn commit_covered(&mut self) -> rusqlite::Result<()> {
        // While the room is given up only vital transactions run, and they are what it is for.
        let bytes = self.connection.bytes()?;
        if self.reserve.is_whole() && !self.reserve.covers(bytes) {
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

    /// Looks after the log, and on a full disk after the room that is kept back.
    fn committed(&mut self) {
        let pages = self.log_pages.load(Ordering::Relaxed);
        // Fewer pages than before: the log was started over.
        let new = if pages < self.counted_pages { pages } else { pages - self.counted_pages };
        self.counted_pages = pages;
        self.file.logged(u64::from(new) * self.connection.frame_bytes());
        self.file.cache(self.connection.cache_use());
        if self.reserve.is_whole() {
            self.checkpoints.committed(&self.connection, pages);
        } else {
            self.empty_log();
            self.take_back();
        }
    }

    /// Empties the log, if the disk has room for all of it in the database file: half a copy would use up the room for nothing.
    fn empty_log(&mut self) {
        if self.connection.bytes().is_ok_and(|bytes| self.reserve.has_room_for(bytes)) {
            self.checkpoints.empty_log(&self.connection, self.patience);
        }
    }

    fn take_back(&mut self) -> bool {
        self.connection.bytes().is_ok_and(|bytes| self.reserve.take_back(bytes))
    }

    /// Makes the connection usable again; a new one replaces it after an error of the disk.
    fn recover(&mut self, error: Option<&rusqlite::Error>) {
        let ended = self.connection.raw().is_autocommit() || self.connection.control("ROLLBACK").is_ok();
        if ended && !error.is_some_and(is_disk_error) {
            return;
        }
        match open_watched(&self.path, self.patience, &self.log_pages) {
            Ok(connection) => self.connection = connection,
            // The old connection fails the next transactions with the reason, until one of them gets through.
            Err(error) => tracing::error!(error = error.report(), "the database could not be opened again"),
        }
    }

    /// Answers all who wait now: were they tried one by one, each would wait in vain as long as the first.
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

/// One failure answers many transactions, and the driver's error cannot be cloned.
fn copy_of(error: &rusqlite::Error) -> rusqlite::Error {
    match error {
        rusqlite::Error::SqliteFailure(failure, text) => rusqlite::Error::SqliteFailure(*failure, text.clone()),
        _ => rusqlite::Error::InvalidQuery,
    }
}

fn ended_early() -> Error {
    Error::unavailable("the transaction was ended by the database; nothing was changed, try again")
        .with_code(Code::Aborted)
}

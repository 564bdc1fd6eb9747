//! Owns the one thread that changes a SQLite file, and its group commit: the transactions that wait share one commit
//! and so one flush to the disk, each inside a savepoint of its own.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use model::{Error, Result};
use tokio::sync::mpsc;

use super::checkpoint::Checkpoints;
use super::classify::{classify, classify_commit, is_busy, is_constraint, is_disk_error};
use super::connection::{Connection, Role};
use crate::engine::job::Write;
use crate::engine::metrics::Metrics;
use crate::engine::session::{Session, Transaction};

/// A batch takes no more transactions after this time, so that the first does not wait long for its answer.
const BATCH_TIME: Duration = Duration::from_millis(10);

/// The thread's state.
pub(super) struct Writer {
    connection: Connection,
    path: Arc<PathBuf>,
    patience: Duration,
    batch: usize,
    log_pages: Arc<AtomicU32>,
    checkpoints: Checkpoints,
    metrics: Metrics,
}

/// How a transaction ended inside its savepoint.
enum Ran {
    /// Its own outcome; the batch goes on.
    Settled(Result<()>),
    /// The error ended the transaction of the whole batch.
    Broke(Error),
}

impl Writer {
    pub(super) fn open(path: &Arc<PathBuf>, patience: Duration, batch: usize, metrics: Metrics) -> Result<Self> {
        let log_pages = Arc::new(AtomicU32::new(0));
        let connection = open_watched(path, patience, &log_pages)?;
        let checkpoints = Checkpoints::start(path, patience)?;
        let path = Arc::clone(path);
        Ok(Self { connection, path, patience, batch: batch.max(1), log_pages, checkpoints, metrics })
    }

    /// Serves until every sender is gone and the queue is empty.
    pub(super) fn run(mut self, mut queue: mpsc::Receiver<Write>) {
        while let Some(first) = queue.blocking_recv() {
            self.serve(first, &mut queue);
        }
    }

    fn serve(&mut self, first: Write, queue: &mut mpsc::Receiver<Write>) {
        if let Err(error) = self.connection.control("BEGIN IMMEDIATE") {
            self.refuse_all(first, queue, &error);
            return;
        }
        let started = Instant::now();
        let mut done: Vec<(Write, Result<()>)> = Vec::new();
        let mut next = Some(first);
        while let Some(mut job) = next {
            if !job.is_abandoned() {
                self.metrics.waited(job.queued());
                match self.run_one(&mut job) {
                    Ran::Settled(outcome) => done.push((job, outcome)),
                    Ran::Broke(error) => {
                        self.recover(None);
                        self.answer(job, Err(error));
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

    /// Runs one transaction inside a savepoint.
    fn run_one(&mut self, job: &mut Write) -> Ran {
        if let Err(error) = self.connection.control("SAVEPOINT one") {
            return Ran::Broke(classify(error, &self.path));
        }
        let outcome = {
            let mut transaction = Transaction::new(Session::Sqlite(&mut self.connection));
            job.run(&mut transaction)
        };
        // Some errors, a full disk among them, roll everything back on their own.
        if self.connection.raw().is_autocommit() {
            return Ran::Broke(outcome.err().unwrap_or_else(ended_early));
        }
        let ended = match outcome {
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
        match self.connection.control("COMMIT") {
            Ok(()) => {
                self.metrics.commit(changed, started.elapsed());
                for (job, outcome) in done {
                    self.answer(job, outcome);
                }
                self.checkpoints.committed(&self.connection, self.log_pages.load(Ordering::Relaxed));
            }
            // A constraint that is checked at the end of the transaction: only those who broke it shall fail.
            Err(error) if is_constraint(&error) && changed > 1 => {
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

    fn alone(&mut self, job: &mut Write) -> Result<()> {
        self.connection.control("BEGIN IMMEDIATE").map_err(|e| classify(e, &self.path))?;
        match self.run_one(job) {
            Ran::Settled(outcome) => {
                if let Err(error) = self.connection.control("COMMIT") {
                    self.recover(Some(&error));
                    return outcome.and(Err(classify_commit(error, &self.path)));
                }
                outcome
            }
            Ran::Broke(error) => {
                self.recover(None);
                Err(error)
            }
        }
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
    Error::unavailable("the transaction was ended by the database; nothing was changed, try again").with_code("aborted")
}

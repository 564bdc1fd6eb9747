//! Owns a thread with one connection: takes closures from the queue, runs them, retries and reconnects.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Error, Result};
use tokio::runtime::Runtime;
use tokio_postgres::Config;

use super::classify::{Failure, classify};
use super::connection::{Connection, Mode};
use super::queue::{Job, Queue};
use crate::engine::at::ErrorLocation;
use crate::engine::metrics::Metrics;
use crate::engine::queued::{Read, ReadDuration, Write};
use crate::engine::session::{Reader, Session, Transaction};

/// Number of attempts at a transaction before its caller gets the conflict.
const ATTEMPTS: u32 = 8;

/// The state of one thread.
pub(super) struct Worker {
    pub(super) queue: Arc<Queue>,
    pub(super) runtime: Arc<Runtime>,
    pub(super) config: Arc<Config>,
    pub(super) server: Arc<str>,
    pub(super) patience: Duration,
    pub(super) statement: Duration,
    pub(super) metrics: Metrics,
    pub(super) connection: Option<Connection>,
}

impl Worker {
    /// Serves jobs until the queue is closed and empty.
    pub(super) fn run(mut self) {
        let runtime = Arc::clone(&self.runtime);
        // During this wait the connection's own task runs too, and notices when the server closes the connection.
        loop {
            let is_connected = self.connection.as_ref().is_some_and(|connection| !connection.is_closed());
            let Some(job) = runtime.block_on(self.queue.pop(is_connected)) else { break };
            match job {
                Job::Read(job) => self.read(job),
                Job::Write(job) => self.write(job),
            }
        }
    }

    fn read(&mut self, job: Read) {
        if job.is_abandoned() {
            return;
        }
        self.metrics.waited(job.queued());
        let deadline = job.queued() + self.patience;
        let connection = match self.connected(deadline) {
            Ok(connection) => connection,
            Err(error) => {
                self.metrics.read(false);
                return job.refuse(error);
            }
        };
        connection.begin(match job.duration() {
            ReadDuration::Single => Mode::Single,
            ReadDuration::Short => Mode::Read,
            ReadDuration::Long => Mode::Long,
        });
        let succeeded = job.run(&mut Reader::new(Session::Postgres(connection)));
        connection.abandon();
        self.metrics.read(succeeded);
    }

    fn write(&mut self, mut job: Write) {
        if job.is_abandoned() {
            return;
        }
        self.metrics.waited(job.queued());
        let outcome = self.attempt_all(&mut job);
        self.metrics.write(outcome.is_ok());
        job.answer(outcome);
    }

    fn attempt_all(&mut self, job: &mut Write) -> Result<()> {
        let deadline = job.queued() + self.patience;
        let mut attempt = 1;
        loop {
            let error = match self.attempt(job, deadline) {
                Ok(()) => return Ok(()),
                Err((error, Failure::Final)) => return Err(error),
                Err((error, Failure::Again | Failure::Lost)) => error,
            };
            if attempt >= ATTEMPTS {
                return Err(error);
            }
            tracing::debug!(error = error.report(), attempt, "a transaction is run again");
            self.metrics.retry();
            let pause = Duration::from_micros(500 << attempt) + jitter();
            attempt += 1;
            self.pause(pause);
        }
    }

    fn attempt(&mut self, job: &mut Write, deadline: Instant) -> std::result::Result<(), (Error, Failure)> {
        let metrics = self.metrics.clone();
        let connection = self.connected(deadline).map_err(|error| (error, Failure::Final))?;
        connection.begin(Mode::Write);
        let outcome = job.run(&mut Transaction::new(Session::Postgres(connection)));
        let outcome = outcome.and_then(|()| {
            let started = Instant::now();
            connection.commit().inspect(|()| metrics.commit(1, started.elapsed()))
        });
        outcome.map_err(|error| {
            connection.abandon();
            (error, connection.failure().unwrap_or(Failure::Final))
        })
    }

    fn pause(&self, duration: Duration) {
        // The timer must be created inside the runtime.
        self.runtime.block_on(async { tokio::time::sleep(duration).await });
    }

    /// Returns the connection. If it was cut, reconnects with increasing pauses until the deadline.
    fn connected(&mut self, deadline: Instant) -> Result<&mut Connection> {
        let runtime = Arc::clone(&self.runtime);
        let mut connection = self.connection.take().filter(|connection| !connection.is_closed());
        let mut pause = Duration::from_millis(20);
        while connection.is_none() {
            match Connection::open(&runtime, &self.config, self.statement, &self.server) {
                Ok(opened) => connection = Some(opened),
                Err(error) => {
                    if is_final(&error) || Instant::now() + pause >= deadline {
                        return Err(refused(error, &self.server));
                    }
                    self.pause(pause + jitter());
                    pause = (pause * 2).min(Duration::from_secs(1));
                }
            }
        }
        match connection {
            Some(connection) => Ok(self.connection.insert(connection)),
            None => Err(super::classify::unreachable(&self.server)),
        }
    }
}

/// Returns whether another attempt to connect is pointless, because the login or the database is wrong.
pub(super) fn is_final(error: &tokio_postgres::Error) -> bool {
    error.code().is_some_and(|code| code.code().starts_with("28") || code.code().starts_with("3D"))
}

/// The error of a connection that could not be opened.
pub(super) fn refused(error: tokio_postgres::Error, server: &str) -> Error {
    match error.code() {
        Some(_) => classify(error, server),
        None => super::classify::unreachable(server).with_source(ErrorLocation::new(server, error)),
    }
}

/// Random delay of up to two milliseconds, so that transactions that collided once do not collide again.
fn jitter() -> Duration {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.subsec_nanos());
    Duration::from_nanos(u64::from(nanos % 2_000_000))
}

//! Owns the engine for PostgreSQL: threads with one connection each, and the queue that feeds them.

mod classify;
mod config;
mod connection;
mod migrate;
mod queue;
mod value;
mod worker;

use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::{Error, Result};
use tokio::sync::Semaphore;
use tokio_postgres::{Client, Config};

pub(in crate::engine) use config::describe;
pub(crate) use config::{connect, parse_config};
pub(crate) use connection::Connection;
pub(crate) use value::column;

use super::errors::{closed, overloaded};
use super::exclusive_right::{self, Spare};
use super::metrics::Metrics;
use super::queued::{Read, ReadClosure, ReadDuration, Returned, Write, WriteClosure, answered, as_task};
use super::{Engine, ExclusiveRight, Options};
use crate::migrate::Plan;
use queue::{Job, Queue};
use worker::Worker;

/// Time without a response after which a server is probed, and the time allowed for the probe.
const SILENCE: Duration = Duration::from_secs(9);
const ANSWER: Duration = Duration::from_secs(3);

/// Connections to one PostgreSQL database.
pub(super) struct Postgres {
    queue: Arc<Queue>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    long: Arc<Semaphore>,
    patience: Duration,
    config: Arc<Config>,
    server: Arc<str>,
    spare: Spare,
}

impl Postgres {
    pub(super) async fn open(address: &str, plan: Plan, options: &Options) -> Result<Self> {
        let config = Arc::new(parse_config(address)?);
        let server: Arc<str> = describe(address).into();
        let mut client = first_connection(&config, &server, options.patience).await?;
        migrate::check_server(&client, &server).await?;
        migrate::migrate(&mut client, &plan, &server).await?;
        drop(client);

        let queue = Arc::new(Queue::new(options.queue));
        let metrics = Metrics::new(Engine::Postgres);
        let connections = options.connections.max(2);
        let mut threads = Vec::with_capacity(connections);
        for _ in 0..connections {
            threads.push(start(&queue, &config, &server, options, &metrics)?);
        }
        Ok(Self {
            queue,
            threads: Mutex::new(threads),
            long: Arc::new(Semaphore::new(connections / 2)),
            patience: options.patience,
            config,
            server,
            spare: Spare::default(),
        })
    }

    /// Implements [`super::Database::try_exclusive`] on a separate connection. The right ends with that connection.
    pub(super) async fn try_exclusive(&self, purpose: &'static str) -> Result<Option<ExclusiveRight>> {
        let client = match exclusive_right::take(&self.spare) {
            Some(client) => client,
            None => first_connection(&self.config, &self.server, self.patience).await?,
        };
        ExclusiveRight::of_session(client, purpose, &self.server, &self.spare).await
    }

    /// Runs a statement that cannot be part of a transaction, on a separate connection.
    pub(super) async fn maintain(&self, statement: &str) -> Result<()> {
        let client = first_connection(&self.config, &self.server, self.patience).await?;
        client.batch_execute(statement).await.map_err(|error| worker::refused(error, &self.server))
    }

    pub(super) async fn read(&self, closure: ReadClosure, kind: ReadDuration) -> Result<Returned> {
        let (job, answer) = Read::new(closure, kind);
        self.queue.push(Job::Read(job), self.patience).await?;
        self.heard(answered(answer), classify::unreachable).await
    }

    /// Waits for a result as long as the server proves to be alive. A server that is frozen, or whose network was cut
    /// silently, would never answer.
    async fn heard(
        &self,
        answer: impl Future<Output = Result<Returned>>,
        silent: fn(&str) -> Error,
    ) -> Result<Returned> {
        let mut answer = pin!(answer);
        loop {
            match tokio::time::timeout(SILENCE, &mut answer).await {
                Ok(outcome) => return outcome,
                Err(_) if self.is_alive().await => {}
                Err(_) => return Err(silent(&self.server)),
            }
        }
    }

    /// Returns whether the server accepts a new connection.
    async fn is_alive(&self) -> bool {
        let asked = tokio::time::timeout(ANSWER, config::connect(&self.config)).await;
        match asked {
            Ok(Ok(_)) => true,
            // A server that refuses, for want of connections or for another reason, is alive.
            Ok(Err(error)) => error.code().is_some(),
            Err(_) => false,
        }
    }

    pub(super) async fn read_long(&self, closure: ReadClosure) -> Result<Returned> {
        let (queue, long, patience) = (Arc::clone(&self.queue), Arc::clone(&self.long), self.patience);
        let pushed = as_task(async move {
            let permit = match tokio::time::timeout(patience, long.acquire_owned()).await {
                Ok(permit) => permit.map_err(|_| closed())?,
                Err(_) => return Err(overloaded()),
            };
            // The permit travels with the closure: if the caller stops waiting, the connection is still in use.
            let held: ReadClosure = Box::new(move |reader| {
                let result = closure(reader);
                drop(permit);
                result
            });
            let (job, answer) = Read::new(held, ReadDuration::Long);
            queue.push(Job::Read(job), patience).await?;
            Ok(answer)
        });
        self.heard(answered(pushed.await?), classify::unreachable).await
    }

    pub(super) async fn write(&self, closure: WriteClosure, vital: bool) -> Result<Returned> {
        let (job, answer) = Write::new(closure, vital);
        self.queue.push(Job::Write(job), self.patience).await?;
        // It cannot be known from here whether the server received the request and executes it later.
        self.heard(answered(answer), classify::outcome_unknown).await
    }

    pub(super) async fn close(&self) {
        self.queue.close();
        let threads = std::mem::take(&mut *self.threads.lock().unwrap_or_else(PoisonError::into_inner));
        // The threads catch and log panics of closures, so their own results say nothing.
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().for_each(|thread| drop(thread.join())));
        let _ = joined.await;
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.queue.close();
    }
}

async fn first_connection(config: &Config, server: &str, patience: Duration) -> Result<Client> {
    let deadline = Instant::now() + patience;
    let mut pause = Duration::from_millis(50);
    loop {
        let left = deadline.saturating_duration_since(Instant::now()).max(pause);
        let Ok(connected) = tokio::time::timeout(left, config::connect(config)).await else {
            return Err(classify::unreachable(server));
        };
        match connected {
            Ok(client) => return Ok(client),
            Err(error) if worker::is_final(&error) || Instant::now() + pause >= deadline => {
                return Err(worker::refused(error, server));
            }
            Err(_) => {
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(Duration::from_secs(1));
            }
        }
    }
}

fn start(
    queue: &Arc<Queue>,
    config: &Arc<Config>,
    server: &Arc<str>,
    options: &Options,
    metrics: &Metrics,
) -> Result<JoinHandle<()>> {
    let failed = |e: std::io::Error| Error::exhausted("no thread could be started for the database").with_source(e);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
    let worker = Worker {
        queue: Arc::clone(queue),
        runtime: Arc::new(runtime),
        config: Arc::clone(config),
        server: Arc::clone(server),
        patience: options.patience,
        statement: options.statement,
        metrics: metrics.clone(),
        connection: None,
    };
    std::thread::Builder::new().name("postgres".into()).spawn(move || worker.run()).map_err(failed)
}

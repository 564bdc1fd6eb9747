//! Owns the embedded engine: a file, one thread that writes it, and a pool of connections that read it.

mod attendant;
mod checkpoint;
mod checksum;
mod classify;
mod commits;
mod connection;
mod look;
mod mark;
mod migrate;
mod pool;
mod reserve;
mod snapshot;
mod turn;
mod value;
mod writer;

#[cfg(fuzzing)]
pub(crate) use checksum::fuzzing;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::{Code, Error, Result};
use tokio::sync::mpsc;

pub use checksum::file::{PageSums, WrongPages};
pub(crate) use connection::Connection;
pub use pool::runtime_threads;
pub(in crate::engine) use snapshot::{checkpoint_fully, rebuild_checksums, require_intact_pages};
pub(crate) use value::column;

use super::errors::{closed, overloaded};
use super::metrics::{FileMetrics, Metrics};
use super::queued::{ReadClosure, Returned, Write, WriteClosure, answered, as_task};
use super::{CheckExtent, Engine, ExclusiveRight, Mark, Options};
use crate::migrate::{self as steps, Plan};
use commits::Commits;
use connection::Role;
use mark::Header;
use pool::{Permit, Pool};
use reserve::Reserve;
use turn::WriteTurn;
use writer::Writer;

/// Opens a connection in the same way as the program, but without its settings.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn open_file(path: &Path) -> rusqlite::Result<rusqlite::Connection> {
    connection::open_checked(path, rusqlite::OpenFlags::default())
}

/// An open SQLite file.
pub(super) struct Sqlite {
    pool: Arc<Pool>,
    // `None` once the database is closed; the thread ends after it has served the waiting transactions.
    queue: Mutex<Option<mpsc::Sender<Write>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    header: RwLock<Option<Header>>,
    // Set while the disk is full and the reserved space has been released.
    full: Arc<AtomicBool>,
    path: Arc<PathBuf>,
    patience: Duration,
    /// The table with which the next check with a time limit begins.
    next_to_look_at: Mutex<Option<String>>,
    metrics: Metrics,
}

/// Tells a thread to stop, however the wait for the thread ends.
struct StopWhenDropped(Arc<AtomicBool>);

impl Drop for StopWhenDropped {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Returns whether the file exists with content. A WAL without its file is the remainder of a database, and no new
/// database is created over it.
fn require_there(path: &Path, makes: bool) -> Result<bool> {
    let missing = |what: String| Err(Error::unavailable(what).with_code(Code::DatabaseMissing));
    let shown = path.display();
    let length = |path: &Path| match std::fs::metadata(path) {
        Ok(data) => Ok(Some(data.len())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            let text = format!("the database file {} cannot be accessed: {error}", path.display());
            Err(Error::unavailable(text).with_code(Code::CannotOpen).with_source(error))
        }
    };
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    match length(path)? {
        Some(1..) => Ok(true),
        found if length(Path::new(&log))?.is_some_and(|length| length > 0) => missing(format!(
            "the database {shown} is {}, and only its log {} is left: restore it from a backup. Nothing was changed",
            if found.is_some() { "empty" } else { "missing" },
            Path::new(&log).display()
        )),
        _ if makes => Ok(false),
        Some(_) => Err(steps::empty(&shown.to_string())),
        None => missing(format!(
            "the database {shown} is missing: check whether its disk is mounted, or restore it from a backup. Nothing \
             was created in its place"
        )),
    }
}

impl Sqlite {
    pub(super) async fn open(path: &Path, plan: Plan, options: &Options) -> Result<Self> {
        let path = Arc::new(path.to_owned());
        let options = options.clone();
        let opened = tokio::task::spawn_blocking(move || Self::open_blocking(&path, &plan, &options)).await;
        opened.map_err(|e| Error::unavailable("opening the database was interrupted").with_source(e))?
    }

    fn open_blocking(path: &Arc<PathBuf>, plan: &Plan, options: &Options) -> Result<Self> {
        let role = if require_there(path, plan.makes)? { Role::Writer } else { Role::Maker };
        if role == Role::Maker {
            commits::forget(path).map_err(|error| classify::read_only(path).with_source(error))?;
        }
        let (metrics, full) = (Metrics::new(Engine::Sqlite), Arc::new(AtomicBool::new(false)));
        let file = FileMetrics::new(path);
        let open = || {
            let mut connection = Connection::open(path, role, options.patience)?;
            let commits = Commits::open(path);
            commits.compare(connection.raw())?;
            let turn = WriteTurn::open(path, options.patience);
            migrate::migrate(&mut connection, &turn, plan)?;
            snapshot::add_checksums(&mut connection, &turn, options.patience);
            if checksum::has(connection.raw()) {
                commits.note_checksums(connection.raw());
            }
            Writer::open(path, options, (metrics.clone(), file.clone()), &full)
        };
        let writer = match open() {
            Err(error) if error.code() == Code::DiskFull && Reserve::give_up_of(path) => open(),
            opened => opened,
        }?;
        let (queue, waiting) = mpsc::channel(options.queue.max(1));
        let thread = std::thread::Builder::new()
            .name("sqlite-writer".into())
            .spawn(move || writer.run(waiting))
            .map_err(|e| Error::exhausted("no thread could be started for the database").with_source(e))?;
        Ok(Self {
            pool: Arc::new(Pool::new(path, options.readers, options.patience, file)),
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
            header: RwLock::new(Some(Header::open(path, options.patience)?)),
            full,
            path: Arc::clone(path),
            patience: options.patience,
            next_to_look_at: Mutex::default(),
            metrics,
        })
    }

    pub(super) async fn read(&self, closure: ReadClosure) -> Result<Returned> {
        let waiting = Instant::now();
        let run = move |pool: &Pool, metrics: &Metrics, permit: Permit| {
            metrics.waited(waiting);
            let result = pool.run_here(closure);
            drop(permit);
            result
        };
        let result = match self.pool.permit_at_once() {
            Some(permit) => run(&self.pool, &self.metrics, permit),
            None => {
                let (pool, metrics) = (Arc::clone(&self.pool), self.metrics.clone());
                as_task(async move { pool.permit().await.and_then(|permit| run(&pool, &metrics, permit)) }).await
            }
        };
        self.metrics.read(result.is_ok());
        result
    }

    pub(super) async fn read_long(&self, closure: ReadClosure) -> Result<Returned> {
        let pool = Arc::clone(&self.pool);
        let result = as_task(async move {
            let permits = pool.long_permit().await?;
            let run = tokio::task::spawn_blocking(move || {
                let result = pool.run(closure);
                drop(permits);
                result
            });
            run.await.unwrap_or_else(|_| Err(closed()))
        })
        .await;
        self.metrics.read(result.is_ok());
        result
    }

    pub(super) async fn write(&self, closure: WriteClosure, vital: bool) -> Result<Returned> {
        let queue = self.queue().clone().ok_or_else(closed)?;
        let (job, answer) = Write::new(closure, vital);
        match tokio::time::timeout(self.patience, queue.send(job)).await {
            Ok(sent) => sent.map_err(|_| closed())?,
            Err(_) => return Err(overloaded()),
        }
        // The thread runs until all senders are dropped, so this one must not be held during the wait for the result.
        drop(queue);
        answered(answer).await
    }

    /// Copies a snapshot of the whole file.
    pub(super) async fn snapshot_to(&self, to: &Path) -> Result<()> {
        let (path, to, patience) = (Arc::clone(&self.path), to.to_owned(), self.patience);
        let copied = tokio::task::spawn_blocking(move || snapshot::copy(&path, &to, patience)).await;
        copied.unwrap_or_else(|_| Err(closed()))
    }

    /// Implements [`super::Database::try_exclusive`].
    pub(super) fn try_exclusive(&self, purpose: &'static str) -> Result<Option<ExclusiveRight>> {
        ExclusiveRight::beside(&self.path, purpose)
    }

    /// Rewrites the whole file.
    pub(super) async fn compact(&self) -> Result<()> {
        let (path, patience) = (Arc::clone(&self.path), self.patience);
        let written = tokio::task::spawn_blocking(move || snapshot::compact(&path, patience)).await;
        written.unwrap_or_else(|_| Err(closed()))
    }

    /// Implements [`super::Database::look_through`].
    pub(super) async fn look_through(&self, at_most: Option<Duration>) -> Result<CheckExtent> {
        let (path, patience) = (Arc::clone(&self.path), self.patience);
        let until = at_most.map(|most| Instant::now() + most);
        // Dropped when the caller stops waiting.
        let stop = StopWhenDropped(Arc::default());
        let flag = Arc::clone(&stop.0);
        let next = || self.next_to_look_at.lock().unwrap_or_else(PoisonError::into_inner);
        let first = at_most.and_then(|_| next().clone());
        let look = move || look::look_through(&path, patience, first.as_deref(), until, &flag);
        let looked = tokio::task::spawn_blocking(look).await;
        drop(stop);
        let (looked, rest) = looked.unwrap_or_else(|_| Err(closed()))?;
        *next() = rest;
        Ok(looked)
    }

    /// Returns whether the pages of the file have checksums.
    pub(super) async fn has_checksums(&self) -> Result<bool> {
        let (path, patience) = (Arc::clone(&self.path), self.patience);
        let look = move || Connection::open(&path, Role::Reader, patience).map(|open| checksum::has(open.raw()));
        tokio::task::spawn_blocking(look).await.unwrap_or_else(|_| Err(closed()))
    }

    /// Implements [`super::Database::mark`].
    pub(super) fn mark(&self) -> Option<Mark> {
        self.header.read().unwrap_or_else(PoisonError::into_inner).as_ref()?.mark()
    }

    pub(super) fn require_room(&self) -> Result<()> {
        if self.full.load(Ordering::Relaxed) { Err(classify::full(&self.path)) } else { Ok(()) }
    }

    pub(super) async fn close(&self) {
        drop(self.queue().take());
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // The thread's panics were caught and logged one by one, so its own result says nothing.
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
        // The connections close one after another: if two close at once, SQLite sees no last one and leaves the WAL.
        self.pool.close().await;
        let last = self.header.write().unwrap_or_else(PoisonError::into_inner).take();
        // The last one empties the WAL, which may wait for the disk.
        let _ = tokio::task::spawn_blocking(move || drop(last)).await;
    }

    fn queue(&self) -> MutexGuard<'_, Option<mpsc::Sender<Write>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

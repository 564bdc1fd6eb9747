//! Owns the thread that copies the write-ahead log back into the database file, so that no transaction waits for it.
//!
//! A transaction that finds the log far too long copies the rest itself before it begins: while nothing else writes,
//! that always gets to the end, and the next transaction starts the log over. Only a read that takes minutes can
//! make the log grow further, by what is written meanwhile.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Error, Result};

use super::connection::{Connection, Role};

/// The thread is woken each time the log has grown by this many pages, which are 8 MB. Waking it for every commit would
/// have it flush the database file all the time, in the way of the commits.
const WAKE_PAGES: u32 = 2_000;
/// Pages in the log from which the writer copies the rest itself: 64 MB.
const BOUND_PAGES: u32 = 16_000;

/// The writer's side of the thread.
pub(super) struct Checkpoints {
    wake: Option<SyncSender<()>>,
    woken_at: u32,
    /// Held while the log is copied: SQLite refuses a second copy at the same time instead of waiting for the first.
    copying: Arc<Mutex<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Checkpoints {
    pub(super) fn start(path: &Arc<PathBuf>, patience: Duration) -> Result<Self> {
        let connection = Connection::open(path, Role::Writer, patience)?;
        let (wake, woken) = sync_channel(1);
        let copying = Arc::new(Mutex::new(()));
        let thread = std::thread::Builder::new()
            .name("sqlite-checkpoint".into())
            .spawn({
                let copying = copying.clone();
                move || run(&connection, &woken, &copying)
            })
            .map_err(|e| Error::exhausted("no thread could be started for the database").with_source(e))?;
        Ok(Self { wake: Some(wake), woken_at: 0, copying, thread: Some(thread) })
    }

    /// Called after each commit with the number of pages in the log.
    pub(super) fn committed(&mut self, writer: &Connection, pages: u32) {
        // Fewer pages than before: the log was started over.
        self.woken_at = self.woken_at.min(pages);
        if pages >= BOUND_PAGES {
            checkpoint(writer, &self.copying);
        } else if pages - self.woken_at >= WAKE_PAGES
            && let Some(wake) = &self.wake
        {
            self.woken_at = pages;
            // A full channel means that the thread is about to look anyway.
            if let Err(TrySendError::Disconnected(())) = wake.try_send(()) {
                checkpoint(writer, &self.copying);
            }
        }
    }

    /// Empties the log as [`empty_log`] does, once the thread does not copy it: otherwise SQLite would refuse that.
    pub(super) fn empty_log(&self, writer: &Connection, patience: Duration) {
        let _turn = self.copying.lock().unwrap_or_else(PoisonError::into_inner);
        empty_log(writer, patience);
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // The thread only logs; there is nothing to learn from how it ended.
            let _ = thread.join();
        }
    }
}

fn run(connection: &Connection, woken: &Receiver<()>, copying: &Mutex<()>) {
    while woken.recv().is_ok() {
        checkpoint(connection, copying);
    }
}

/// Copies the log back and gives its room back to the disk, unless somebody still reads from it.
pub(super) fn empty_log(connection: &Connection, patience: Duration) {
    let waiting = |time| {
        if let Err(error) = connection.raw().busy_timeout(time) {
            tracing::warn!(%error, "the patience of a connection could not be set");
        }
    };
    waiting(Duration::ZERO);
    run_checkpoint(connection, "PRAGMA wal_checkpoint(TRUNCATE)");
    waiting(patience);
}

fn checkpoint(connection: &Connection, copying: &Mutex<()>) {
    let _turn = copying.lock().unwrap_or_else(PoisonError::into_inner);
    run_checkpoint(connection, "PRAGMA wal_checkpoint(PASSIVE)");
}

fn run_checkpoint(connection: &Connection, text: &str) {
    let result = connection
        .raw()
        .query_row(text, [], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?)));
    match result {
        Ok((busy, log, copied)) => tracing::debug!(busy, log, copied, "checkpoint"),
        // Nothing is lost: the log keeps what could not be copied, and the next checkpoint tries again.
        Err(error) => {
            tracing::warn!(database = %connection.path().display(), %error, "a checkpoint failed and will be tried again")
        }
    }
}

//! Owns the checkpoint thread, which copies the WAL back into the database file, so that no transaction waits for it.
//!
//! If the WAL is far too long after a commit, the writer thread itself copies the rest before the next transaction
//! begins. As long as nothing else writes, this always reaches the end, and the next transaction restarts the WAL. Only
//! a read that takes minutes can make the WAL grow further, by everything written meanwhile.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Error, Result};

use super::connection::{Connection, Role};

/// Growth of the WAL in pages (8 MB) after which the thread is woken. Waking it for every commit would make it flush
/// the database file all the time and so slow the commits down.
const WAKE_PAGES: u32 = 2_000;
/// Size of the WAL in pages (64 MB) from which the writer itself performs the checkpoint.
const BOUND_PAGES: u32 = 16_000;

/// The writer's handle of the checkpoint thread.
pub(super) struct Checkpoints {
    wake: Option<SyncSender<()>>,
    woken_at: u32,
    /// Held during a checkpoint, because SQLite refuses a concurrent second one instead of waiting for the first.
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

    /// Called after each commit with the number of pages in the WAL.
    pub(super) fn committed(&mut self, writer: &Connection, pages: u32) {
        // Fewer pages than before mean that the WAL was restarted.
        self.woken_at = self.woken_at.min(pages);
        if pages >= BOUND_PAGES {
            checkpoint(writer, &self.copying);
        } else if pages - self.woken_at >= WAKE_PAGES
            && let Some(wake) = &self.wake
        {
            self.woken_at = pages;
            // A full channel means that the thread is about to run anyway.
            if let Err(TrySendError::Disconnected(())) = wake.try_send(()) {
                checkpoint(writer, &self.copying);
            }
        }
    }

    /// Truncates the WAL like [`empty_log`]. Waits for a checkpoint of the thread first, because SQLite would refuse a
    /// concurrent one.
    pub(super) fn empty_log(&self, writer: &Connection, wait: Duration, patience: Duration) {
        let _turn = self.copying.lock().unwrap_or_else(PoisonError::into_inner);
        empty_log(writer, wait, patience);
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.wake.take());
        if let Some(thread) = self.thread.take() {
            // The thread only logs, so its result says nothing.
            let _ = thread.join();
        }
    }
}

fn run(connection: &Connection, woken: &Receiver<()>, copying: &Mutex<()>) {
    while woken.recv().is_ok() {
        checkpoint(connection, copying);
    }
}

/// Checkpoints and truncates the WAL, unless a reader still uses it after `wait`.
pub(super) fn empty_log(connection: &Connection, wait: Duration, patience: Duration) {
    let waiting = |time| {
        if let Err(error) = connection.raw().busy_timeout(time) {
            tracing::warn!(%error, "the lock timeout of a connection could not be set");
        }
    };
    waiting(wait);
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
        // Nothing is lost: the WAL keeps the pages that could not be copied, and the next checkpoint tries again.
        Err(error) => {
            tracing::warn!(database = %connection.path().display(), %error,
                "a checkpoint failed and will be tried again")
        }
    }
}

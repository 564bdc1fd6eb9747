//! Owns fair turn-taking between processes that write one SQLite file: a lock on an empty file beside the database,
//! `NAME-turn`.
//!
//! SQLite itself makes processes that find the file locked poll from time to time. A process that begins its next
//! transaction right after a commit would starve the others for as long as it has work. Here each process first waits
//! for its turn, and passes the turn on once its transaction has begun. A process that has committed and wants to write
//! again then finds that a waiting process holds the turn.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use super::classify::is_busy;
use super::connection::Connection;

/// Polling interval of a waiting process.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// A process's handle on the turns at one database.
pub(super) struct WriteTurn {
    // `None` if the file cannot be opened; then the processes do not take turns.
    file: Option<File>,
    patience: Duration,
}

impl WriteTurn {
    /// Opens the turn file of the database at `path`. A caller waits up to `patience` for the turn, and as long again
    /// for the database.
    pub(super) fn open(path: &Path, patience: Duration) -> Self {
        let mut place = path.as_os_str().to_owned();
        place.push("-turn");
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&place);
        let opened = opened.inspect_err(|error| {
            tracing::warn!(
                database = %path.display(), %error,
                "the turn file beside the database could not be opened; a process that writes a lot can keep others \
                 from writing"
            );
        });
        Self { file: opened.ok(), patience }
    }

    /// Begins a write transaction.
    pub(super) fn begin(&self, connection: &mut Connection) -> rusqlite::Result<()> {
        self.run(connection, "BEGIN IMMEDIATE")
    }

    /// Runs one statement that needs exclusive access to the database, and keeps the turn until the statement has
    /// ended.
    pub(super) fn run(&self, connection: &mut Connection, statement: &'static str) -> rusqlite::Result<()> {
        let held = self.wait_for_turn();
        // SQLite's own busy handler polls ever less frequently.
        connection.raw().busy_timeout(Duration::ZERO)?;
        let asked = Instant::now();
        let begun = loop {
            match connection.control(statement) {
                Err(error) if is_busy(&error) && asked.elapsed() < self.patience => std::thread::sleep(POLL_INTERVAL),
                begun => break begun,
            }
        };
        connection.raw().busy_timeout(self.patience)?;
        if let Some(file) = held
            && let Err(error) = file.unlock()
        {
            tracing::warn!(%error, "the turn file of a database could not be unlocked");
        }
        begun
    }

    /// Waits for the turn. After `patience` the caller proceeds without it: the lock on the database is the one that
    /// counts.
    fn wait_for_turn(&self) -> Option<&File> {
        let file = self.file.as_ref()?;
        let asked = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Some(file),
                Err(TryLockError::WouldBlock) if asked.elapsed() < self.patience => std::thread::sleep(POLL_INTERVAL),
                Err(_) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;
    use crate::engine::sqlite::connection::Role;

    const TIMEOUT: Duration = Duration::from_secs(30);

    #[test]
    fn one_that_never_stops_writing_keeps_nobody_out() {
        let directory = tempfile::tempdir().unwrap();
        let path = Arc::new(directory.path().join("x.db"));
        let open = || (Connection::open(&path, Role::Maker, TIMEOUT).unwrap(), WriteTurn::open(&path, TIMEOUT));
        open().0.raw().execute_batch("CREATE TABLE t (x BIGINT)").unwrap();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let busy = scope.spawn(|| {
                let (mut connection, turn) = open();
                let mut commits = 0_u32;
                while !ended.load(Ordering::Relaxed) {
                    turn.begin(&mut connection).unwrap();
                    connection.raw().execute("INSERT INTO t VALUES (1)", []).unwrap();
                    // sleep: the duration of a large transaction
                    std::thread::sleep(Duration::from_millis(5));
                    connection.control("COMMIT").unwrap();
                    commits += 1;
                }
                commits
            });
            let (mut connection, turn) = open();
            for _ in 0..50 {
                turn.begin(&mut connection).unwrap();
                connection.raw().execute("INSERT INTO t VALUES (2)", []).unwrap();
                connection.control("COMMIT").unwrap();
            }
            ended.store(true, Ordering::Relaxed);
            // The processes take turns. The other one got in more often only while this one was not waiting yet.
            let commits = busy.join().unwrap();
            assert!(commits < 300, "{commits} commits of the other beside 50");
        });
    }

    #[test]
    fn who_waits_in_vain_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let path = Arc::new(directory.path().join("x.db"));
        let open =
            |patience| (Connection::open(&path, Role::Maker, TIMEOUT).unwrap(), WriteTurn::open(&path, patience));
        let (mut holder, turn) = open(TIMEOUT);
        turn.begin(&mut holder).unwrap();
        let (mut other, impatient) = open(Duration::from_millis(20));
        assert!(is_busy(&impatient.begin(&mut other).unwrap_err()));
        holder.control("COMMIT").unwrap();
        impatient.begin(&mut other).unwrap();
        other.control("COMMIT").unwrap();
    }
}

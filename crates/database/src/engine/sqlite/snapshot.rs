//! Owns operations on a SQLite file as a whole: copying it page by page during normal operation, and rewriting it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::{Code, Error, Result, counted};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{OpenFlags, ffi};

use crate::engine::at::ErrorLocation;

use super::checkpoint::empty_log;
use super::checksum;
use super::checksum::file::{write_sums, wrong_pages};
use super::classify::{classify, damaged, is_full};
use super::commits::Commits;
use super::connection::{Connection, Role, open_checked, open_unchecked};
use super::turn::WriteTurn;

/// Checkpoints the WAL of a file that no process has open, so that the file alone is the whole database. Blocks.
pub(in crate::engine) fn checkpoint_fully(path: &Path) -> Result<()> {
    let path = Arc::new(path.to_owned());
    // Connections that close at the same moment may each leave the checkpoint to the other. This one closes alone.
    let connection = Connection::open(&path, Role::Writer, LOCK_TIMEOUT)?;
    let truncated = connection.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    match truncated.map_err(|error| classify(error, &path))? {
        0 => Ok(()),
        _ => Err(Error::unavailable(format!("{} is still in use; try again", path.display()))),
    }
}

/// Rewrites the whole file without gaps. Readers continue meanwhile, writers wait. Blocks.
pub(super) fn compact(path: &Arc<PathBuf>, patience: Duration) -> Result<()> {
    let mut connection = Connection::open(path, Role::Writer, patience)?;
    let turn = WriteTurn::open(path, patience);
    if !checksum::has(connection.raw()) && !is_consistent(&connection).map_err(|error| classify(error, path))? {
        return Err(damaged(path));
    }
    vacuum(&mut connection, &turn).map_err(|error| classify(error, path))?;
    if checksum::has(connection.raw()) {
        Commits::open(path).note_checksums(connection.raw());
    }
    empty_log(&connection, Duration::ZERO, patience);
    Ok(())
}

/// Rewrites the whole file in one transaction. Its pages have checksums from then on.
fn vacuum(connection: &mut Connection, turn: &WriteTurn) -> rusqlite::Result<()> {
    checksum::enable_for_new_file(connection.raw());
    // The new content is assembled in an unnamed temporary file instead of in memory.
    connection.raw().pragma_update(None, "temp_store", "file")?;
    turn.run(connection, "VACUUM")
}

/// Maximum size in bytes up to which a file from a version without checksums is converted when it is opened. A larger
/// file gets checksums only by compaction.
const CONVERTED_AT_MOST: u64 = 256 << 20;

/// Adds checksums to the pages of a file that has none, if that will not take long. The file is usable without them, so
/// a failure is only logged.
pub(super) fn add_checksums(connection: &mut Connection, turn: &WriteTurn, patience: Duration) {
    if checksum::has(connection.raw()) {
        return;
    }
    let database = connection.path().display().to_string();
    match connection.bytes() {
        Ok(0..=CONVERTED_AT_MOST) => {}
        Ok(_) => {
            let advice =
                "the pages of the database have no checksums yet: `strongroom site database compact` adds them";
            return tracing::warn!(database, "{advice}");
        }
        Err(error) => {
            return tracing::warn!(database, %error, "cannot determine whether the database has checksums");
        }
    }
    // Checked first, because a rewrite would give damaged content valid checksums.
    match is_consistent(connection) {
        Ok(true) => {}
        Ok(false) => {
            return tracing::error!(database, "the database is damaged, so its pages get no checksums: restore it");
        }
        Err(error) => {
            return tracing::error!(database, %error, "the database cannot be read, so its pages get no checksums");
        }
    }
    match vacuum(connection, turn) {
        Ok(()) => {
            empty_log(connection, Duration::ZERO, patience);
            tracing::info!(database, "the pages of the database have checksums now");
        }
        Err(error) => tracing::warn!(database, %error, "the pages of the database could not be given checksums"),
    }
}

/// Returns whether the pages, rows and indexes of a file without checksums are consistent.
fn is_consistent(connection: &Connection) -> rusqlite::Result<bool> {
    connection.raw().query_row("PRAGMA quick_check(1)", [], |row| Ok(row.get::<_, String>(0)? == "ok"))
}

/// Number of retries of a copy that meets a lock, followed by the lock timeout and the pause between retries.
const TRIES: u32 = 200;
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Copies a snapshot of the file at `path` into the new file `to`, which is not flushed. One read transaction covers
/// all pages: writers go on, and their changes stay in the WAL until the copy is complete. Finally the checksums of all
/// pages of the copy are verified. Blocks.
///
/// # Errors
/// Those of the source. With code [`Code::CopyFailed`] if the copy's disk fails to store it or read it back, and with
/// the code of a full disk if the copy's disk is full.
pub(super) fn copy(path: &Arc<PathBuf>, to: &Path, patience: Duration) -> Result<()> {
    let source = Connection::open(path, Role::Reader, patience)?;
    let of_copy = |error: rusqlite::Error| match is_full(&error) {
        true => classify(error, to),
        false => copy_failed(to, &error.to_string()).with_source(ErrorLocation::new(to.display(), error)),
    };
    let mut target = open_copy(to).map_err(of_copy)?;
    let has_checksums = checksum::has(source.raw());
    if has_checksums && !checksum::force(&target) {
        return Err(copy_failed(to, "checksums cannot be enabled for its pages"));
    }
    if let Err(error) = transfer(&source, &mut target) {
        let is_of_copy = checksum::has_failed(&target) || is_full(&error) || is_truncation(&error);
        return Err(if is_of_copy { of_copy(error) } else { classify(error, path) });
    }
    drop(target);
    let wrong = wrong_pages(to).map_err(|error| copy_failed(to, &error.to_string()).with_source(error))?;
    if wrong.count > 0 || wrong.has_checksums != has_checksums {
        return Err(copy_failed(to, &format!("{} did not read back as written", counted(wrong.count.max(1), "page"))));
    }
    Ok(())
}

fn open_copy(to: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let target = open_checked(to, OpenFlags::default())?;
    // An incomplete copy is discarded, so it needs no durability.
    target.pragma_update(None, "synchronous", "off")?;
    target.pragma_update(None, "journal_mode", "off")?;
    Ok(target)
}

fn transfer(source: &Connection, target: &mut rusqlite::Connection) -> rusqlite::Result<()> {
    let backup = Backup::new(source.raw(), target)?;
    for _ in 0..TRIES {
        match backup.step(-1)? {
            StepResult::Done => return Ok(()),
            _ => std::thread::sleep(PAUSE),
        }
    }
    Err(rusqlite::Error::SqliteFailure(ffi::Error::new(ffi::SQLITE_BUSY), None))
}

/// Returns whether truncating a file to its length failed. That cannot happen to the source, which is only read.
fn is_truncation(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_IOERR_TRUNCATE)
}

fn copy_failed(to: &Path, why: &str) -> Error {
    let text = format!(
        "the database cannot be copied to {}: {why}. Check the disk of the copy; the database itself is not affected",
        to.display()
    );
    Error::unavailable(text).with_code(Code::CopyFailed)
}

/// Refuses a file with a page that does not match its checksum. A file without checksums passes. No process may have
/// the file open. Blocks.
pub(in crate::engine) fn require_intact_pages(path: &Path) -> Result<()> {
    let wrong = wrong_pages(path).map_err(|error| unread(path, error))?;
    match wrong.first {
        None => Ok(()),
        Some(first) => Err(Error::corrupt(format!(
            "{} of a database {} not match the checksums; the first one is page {first}",
            counted(wrong.count, "page"),
            if wrong.count == 1 { "does" } else { "do" }
        ))
        .with_code(Code::PageChecksum)
        .with_source(ErrorLocation::silent(path.display()))),
    }
}

/// Rewrites the checksums of all pages that do not match theirs, provided that SQLite finds the pages, rows and indexes
/// of the file in order. Returns the number of these pages. No process may have the file open. Blocks.
pub(in crate::engine) fn rebuild_checksums(path: &Path) -> Result<u64> {
    let wrong = wrong_pages(path).map_err(|error| unread(path, error))?;
    if wrong.count == 0 {
        return Ok(0);
    }
    let is_whole = || -> rusqlite::Result<bool> {
        let raw = open_unchecked(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        raw.query_row("PRAGMA integrity_check(1)", [], |row| Ok(row.get::<_, String>(0)? == "ok"))
    };
    if wrong.is_cut || !is_whole().map_err(|error| classify(error, path))? {
        return Err(damaged(path));
    }
    write_sums(path).map_err(|error| {
        let text = format!("the checksums of {} cannot be rewritten ({error}): check its disk", path.display());
        Error::unavailable(text).with_source(error)
    })
}

fn unread(path: &Path, error: std::io::Error) -> Error {
    let text = format!(
        "{}, the copy of a database, cannot be read ({error}): check whether its disk is mounted",
        path.display()
    );
    Error::unavailable(text).with_source(error)
}

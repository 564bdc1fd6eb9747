//! Owns what is done to a SQLite file as a whole: copying it, page by page, while others read and write it, and writing it anew.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use model::{Code, Error, Result, counted};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{OpenFlags, ffi};

use crate::engine::at::At;

use super::checkpoint::empty_log;
use super::checksum;
use super::checksum::file::{write_sums, wrong_pages};
use super::classify::{classify, damaged, is_full};
use super::commits::Commits;
use super::connection::{Connection, Role, open_checked, open_unchecked};
use super::turn::Turn;

/// Copies the log of a file that nothing has open into the file, so that the file alone is the whole database. Blocks.
pub(in crate::engine) fn settle(path: &Path) -> Result<()> {
    let path = Arc::new(path.to_owned());
    // Connections that end at the same moment leave the log to each other; this one ends alone.
    let connection = Connection::open(&path, Role::Writer, PATIENCE)?;
    let truncated = connection.raw().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    match truncated.map_err(|error| classify(error, &path))? {
        0 => Ok(()),
        _ => Err(Error::unavailable(format!("{} is still in use; try again", path.display()))),
    }
}

/// Writes the whole file anew, without gaps. Others read meanwhile and cannot write. Blocks.
pub(super) fn compact(path: &Arc<PathBuf>, patience: Duration) -> Result<()> {
    let mut connection = Connection::open(path, Role::Writer, patience)?;
    let turn = Turn::open(path, patience);
    if !checksum::has(connection.raw()) && !looks_whole(&connection).map_err(|error| classify(error, path))? {
        return Err(damaged(path));
    }
    write_anew(&mut connection, &turn).map_err(|error| classify(error, path))?;
    if checksum::has(connection.raw()) {
        Commits::open(path).note_checksums(connection.raw());
    }
    empty_log(&connection, patience);
    Ok(())
}

/// Writes the whole file anew, in one transaction; its pages have checksums from then on.
fn write_anew(connection: &mut Connection, turn: &Turn) -> rusqlite::Result<()> {
    checksum::want(connection.raw());
    // The new file is put together in one that has no name, and not in memory.
    connection.raw().pragma_update(None, "temp_store", "file")?;
    turn.run(connection, "VACUUM")
}

/// A file up to so many bytes of a version that wrote no checksums is written anew when it is opened; a larger one by whoever compacts it.
const CONVERTED_AT_MOST: u64 = 256 << 20;

/// Gives the pages of a file checksums, if they have none and that is soon done. The file is as good without: a failure is told only.
pub(super) fn add_checksums(connection: &mut Connection, turn: &Turn, patience: Duration) {
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
        Err(error) => return tracing::warn!(database, %error, "whether the database has checksums cannot be told"),
    }
    // Written anew, damage would look like what was meant to be there.
    match looks_whole(connection) {
        Ok(true) => {}
        Ok(false) => {
            return tracing::error!(database, "the database is damaged and is not given checksums: restore it");
        }
        Err(error) => {
            return tracing::error!(database, %error, "the database cannot be read and is not given checksums");
        }
    }
    match write_anew(connection, turn) {
        Ok(()) => {
            empty_log(connection, patience);
            tracing::info!(database, "the pages of the database have checksums now");
        }
        Err(error) => tracing::warn!(database, %error, "the pages of the database could not be given checksums"),
    }
}

/// Whether the pages, rows and indexes of a file that has no checksums fit each other.
fn looks_whole(connection: &Connection) -> rusqlite::Result<bool> {
    connection.raw().query_row("PRAGMA quick_check(1)", [], |row| Ok(row.get::<_, String>(0)? == "ok"))
}

/// How often a copy that meets a lock is tried again, and how long it waits in between.
const TRIES: u32 = 200;
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(50);

/// Copies what the file at `path` holds at one moment into the new file `to`, which is not flushed. One read transaction
/// covers all pages: writers go on, and what they write meanwhile stays in the log until the copy is complete. All pages
/// of the copy are compared with their checksums at last. Blocks.
///
/// Errors: those of the source; with code [`Code::CopyFailed`] when it is the copy that its disk does not take or give back,
/// and with that of a full disk.
pub(super) fn copy(path: &Arc<PathBuf>, to: &Path, patience: Duration) -> Result<()> {
    let source = Connection::open(path, Role::Reader, patience)?;
    let of_copy = |error: rusqlite::Error| match is_full(&error) {
        true => classify(error, to),
        false => copy_failed(to, &error.to_string()).with_source(At::new(to.display(), error)),
    };
    let mut target = open_copy(to).map_err(of_copy)?;
    let has_checksums = checksum::has(source.raw());
    if has_checksums && !checksum::expect(&target) {
        return Err(copy_failed(to, "its pages cannot be given checksums"));
    }
    if let Err(error) = transfer(&source, &mut target) {
        let is_of_copy = checksum::has_failed(&target) || is_full(&error) || is_truncation(&error);
        return Err(if is_of_copy { of_copy(error) } else { classify(error, path) });
    }
    drop(target);
    let wrong = wrong_pages(to).map_err(|error| copy_failed(to, &error.to_string()).with_source(error))?;
    if wrong.count > 0 || wrong.has_checksums != has_checksums {
        return Err(copy_failed(to, &format!("{} not what was written", counted(wrong.count.max(1), "page"))));
    }
    Ok(())
}

fn open_copy(to: &Path) -> rusqlite::Result<rusqlite::Connection> {
    let target = open_checked(to, OpenFlags::default())?;
    // A copy that is cut short is thrown away.
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

/// Returns whether a file could not be given its length. A source that is only read never is.
fn is_truncation(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|failure| failure.extended_code == ffi::SQLITE_IOERR_TRUNCATE)
}

fn copy_failed(to: &Path, why: &str) -> Error {
    let text = format!(
        "the copy of a database in {} cannot be made: {why}. Look at the disk of the copy; the database itself is not \
         concerned",
        to.display()
    );
    Error::unavailable(text).with_code(Code::CopyFailed)
}

/// Refuses a file of which a page is not what its checksum says; one without checksums passes. Nobody may have it open.
/// Blocks.
pub(in crate::engine) fn require_intact_pages(path: &Path) -> Result<()> {
    let wrong = wrong_pages(path).map_err(|error| unread(path, error))?;
    match wrong.first {
        None => Ok(()),
        Some(first) => Err(Error::corrupt(format!(
            "{} of a database {} not what the checksums say; the first one is page {first}",
            counted(wrong.count, "page"),
            if wrong.count == 1 { "is" } else { "are" }
        ))
        .with_code(Code::PageChecksum)
        .with_source(At::silent(path.display()))),
    }
}

/// Writes the checksums of those pages anew that are not what their checksums say, if the file is whole without them:
/// SQLite finds its pages, rows and indexes in order. Returns how many. Nobody may have the file open. Blocks.
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
        let text = format!("the checksums of {} cannot be written anew ({error}): look at its disk", path.display());
        Error::unavailable(text).with_source(error)
    })
}

fn unread(path: &Path, error: std::io::Error) -> Error {
    let text = format!(
        "{}, the copy of a database, cannot be read ({error}): look whether its disk is mounted",
        path.display()
    );
    Error::unavailable(text).with_source(error)
}

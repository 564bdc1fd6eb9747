//! Owns the count of commits beside a SQLite file, `NAME-commits`, by which a file that lacks acknowledged changes is
//! known: the end of its log was lost, or an older copy took its place.
//!
//! The file itself counts too, as `PRAGMA user_version`. Each commit raises that number, and the count beside the file
//! follows once the commit is durable and before anybody is told of it. It is not flushed: after a power cut it may lag
//! behind the file, and is never ahead of it. Numbers wrap around, and only their distance matters.
//!
//! The format is one line of text: `strongroom-commits 1`, then the number twice with ten digits, each after a blank. A second line,
//! `checksums`, says that the pages of the file end with checksums, whatever becomes of its header. It is written once, and flushed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::{Code, Error, Result};
use rusqlite::config::DbConfig;

use crate::engine::at::At;

/// Name and version of the format.
const HEAD: &str = "strongroom-commits 1";
const LENGTH: usize = HEAD.len() + 2 * 11 + 1;
/// The second line.
const CHECKSUMS: &str = "checksums\n";

/// The count beside one file.
pub(super) struct Commits {
    // None where the file cannot be had; then nothing is compared.
    file: Option<File>,
    /// The database.
    path: PathBuf,
}

impl Commits {
    pub(super) fn open(path: &Path) -> Self {
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place(path)).inspect_err(
                |error| tracing::warn!(database = %path.display(), %error, "commits cannot be counted beside the database"),
            );
        Self { file: opened.ok(), path: path.to_owned() }
    }

    /// Compares the count with that of the database.
    ///
    /// # Errors
    /// Corrupt with code `changes_lost` when the database lacks commits.
    pub(super) fn compare(&self, raw: &rusqlite::Connection) -> Result<()> {
        // First, since another process may commit meanwhile.
        let Some(noted) = self.noted() else { return Ok(()) };
        let counted = count(raw).map_err(|error| super::classify::classify(error, &self.path))?;
        let lacking = noted.wrapping_sub(counted);
        if lacking.cast_signed() <= 0 {
            return Ok(());
        }
        // What is left of the log stays as it is, for whoever looks into it.
        if let Err(error) = raw.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) {
            tracing::warn!(database = %self.path.display(), %error, "the log will be copied into the database");
        }
        Err(lost(&self.path, lacking))
    }

    /// Raises the database's own count, inside of a transaction, and returns it.
    pub(super) fn raise(raw: &rusqlite::Connection) -> rusqlite::Result<u32> {
        let next = count(raw)?.wrapping_add(1);
        raw.pragma_update(None, "user_version", next.cast_signed())?;
        Ok(next)
    }

    /// Notes a count that is durable in the database. What cannot be noted is not compared later.
    pub(super) fn note(&self, count: u32) {
        if let Some(file) = &self.file
            && let Err(error) = file.write_all_at(line(count).as_bytes(), 0)
        {
            tracing::warn!(%error, "a commit could not be counted beside the database");
        }
    }

    /// Notes that the pages of the file have checksums, which a connection has found to be so. What cannot be noted is learned from
    /// the file's header alone.
    pub(super) fn note_checksums(&self, raw: &rusqlite::Connection) {
        let write = |file: &File| -> io::Result<()> {
            // Writes the first line if it is missing: the note goes behind it.
            if file.metadata()?.len() < LENGTH as u64 {
                let count = count(raw).map_err(io::Error::other)?;
                file.write_all_at(line(count).as_bytes(), 0)?;
            }
            file.write_all_at(CHECKSUMS.as_bytes(), LENGTH as u64)?;
            file.sync_all()
        };
        if let Some(file) = &self.file
            && !has_checksums(&self.path)
            && let Err(error) = write(file)
        {
            tracing::warn!(database = %self.path.display(), %error, "checksums could not be noted beside the database");
        }
    }

    fn noted(&self) -> Option<u32> {
        let mut bytes = [0; LENGTH];
        match self.file.as_ref()?.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            // It was just made.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return None,
            Err(error) => {
                tracing::warn!(database = %self.path.display(), %error, "the count of commits beside the database cannot be read");
                return None;
            }
        }
        let noted = parse(&bytes);
        if noted.is_none() {
            tracing::warn!(database = %self.path.display(), "the count of commits beside the database is damaged, and begins again");
        }
        noted
    }
}

/// Whether checksums are noted beside a file. A note that cannot be read says nothing: then the file's header does.
pub(super) fn has_checksums(path: &Path) -> bool {
    let read = || -> io::Result<bool> {
        let mut bytes = [0; CHECKSUMS.len()];
        File::open(place(path))?.read_exact_at(&mut bytes, LENGTH as u64)?;
        Ok(bytes == CHECKSUMS.as_bytes())
    };
    read().unwrap_or(false)
}

/// Forgets the count of a file that is not there any more.
pub(super) fn forget(path: &Path) -> io::Result<()> {
    match fs::remove_file(place(path)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn place(path: &Path) -> PathBuf {
    let mut place = path.as_os_str().to_owned();
    place.push("-commits");
    place.into()
}

fn count(raw: &rusqlite::Connection) -> rusqlite::Result<u32> {
    let counted = raw.prepare_cached("PRAGMA user_version")?.query_row([], |row| row.get::<_, i32>(0))?;
    Ok(counted.cast_unsigned())
}

fn line(count: u32) -> String {
    format!("{HEAD} {count:010} {count:010}\n")
}

fn parse(line: &[u8]) -> Option<u32> {
    let numbers = std::str::from_utf8(line).ok()?.strip_prefix(HEAD)?.strip_prefix(' ')?.strip_suffix('\n')?;
    let (first, second) = numbers.split_once(' ')?;
    (first == second).then(|| first.parse().ok())?
}

fn lost(path: &Path, commits: u32) -> Error {
    let text = format!(
        "a database lacks {commits} acknowledged changes: the end of its log was lost, or an older copy or another \
         database took its place. Restore it from a backup; to go on without these changes, remove the file beside it whose name ends with \
         -commits. Nothing was changed"
    );
    Error::corrupt(text).with_code(Code::ChangesLost).with_source(At::silent(path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_stays_as_it_is() {
        assert_eq!(line(12_345), "strongroom-commits 1 0000012345 0000012345\n");
        assert_eq!(line(u32::MAX).len(), LENGTH);
        for count in [0, 7, u32::MAX] {
            assert_eq!(parse(line(count).as_bytes()), Some(count));
        }
        for damaged in
            ["", "strongroom-commits 2 0000012345 0000012345\n", "strongroom-commits 1 0000012345 0000012346\n"]
        {
            assert_eq!(parse(damaged.as_bytes()), None);
        }
    }
}

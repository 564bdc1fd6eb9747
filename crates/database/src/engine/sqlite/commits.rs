//! Owns the commit counter beside a SQLite file, `NAME-commits`. It reveals a file that lacks acknowledged changes,
//! because the end of its WAL was lost or because an older copy replaced it.
//!
//! The file itself has a counter too, in `PRAGMA user_version`. Each commit raises that number, and the counter beside
//! the file follows once the commit is durable and before it is acknowledged. The counter beside the file is not
//! flushed: after a power failure it may lag behind the file, but it is never ahead of it. Numbers wrap around, and
//! only their distance matters.
//!
//! The format is one line of text: `strongroom-commits 1`, then the number twice with ten digits, each after a blank. A
//! second line, `checksums`, says that the pages of the file end with checksums, whatever becomes of its header. It is
//! written once, and flushed.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::{Code, Error, Result};
use rusqlite::config::DbConfig;

use crate::engine::at::ErrorLocation;

/// Name and version of the format.
const HEAD: &str = "strongroom-commits 1";
const LENGTH: usize = HEAD.len() + 2 * 11 + 1;
/// The second line.
const CHECKSUMS: &str = "checksums\n";

/// The commit counter beside one file.
pub(super) struct Commits {
    // `None` if the file cannot be opened; then nothing is compared.
    file: Option<File>,
    /// The database.
    path: PathBuf,
}

impl Commits {
    pub(super) fn open(path: &Path) -> Self {
        let opened =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(place(path)).inspect_err(
                |error| {
                    tracing::warn!(
                        database = %path.display(), %error,
                        "the commit counter beside the database cannot be opened"
                    )
                },
            );
        Self { file: opened.ok(), path: path.to_owned() }
    }

    /// Compares the counter with that of the database.
    ///
    /// # Errors
    /// `Corrupt` with code `changes_lost` if the database lacks commits.
    pub(super) fn compare(&self, raw: &rusqlite::Connection) -> Result<()> {
        // The recorded counter is read first, since another process may commit in between.
        let Some(noted) = self.noted() else { return Ok(()) };
        let counted = count(raw).map_err(|error| super::classify::classify(error, &self.path))?;
        let lacking = noted.wrapping_sub(counted);
        if lacking.cast_signed() <= 0 {
            return Ok(());
        }
        // The rest of the WAL is preserved for investigation.
        if let Err(error) = raw.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true) {
            tracing::warn!(
                database = %self.path.display(), %error,
                "the log cannot be kept for investigation: it will be copied into the database"
            );
        }
        Err(lost(&self.path, lacking))
    }

    /// Raises the database's own counter, inside a transaction, and returns it.
    pub(super) fn raise(raw: &rusqlite::Connection) -> rusqlite::Result<u32> {
        let next = count(raw)?.wrapping_add(1);
        raw.pragma_update(None, "user_version", next.cast_signed())?;
        Ok(next)
    }

    /// Records a counter that is durable in the database. If it cannot be recorded, that commit is merely not compared
    /// later.
    pub(super) fn note(&self, count: u32) {
        if let Some(file) = &self.file
            && let Err(error) = file.write_all_at(line(count).as_bytes(), 0)
        {
            tracing::warn!(%error, "the commit counter beside the database could not be written");
        }
    }

    /// Records that the pages of the file have checksums, as a connection has found. If it cannot be recorded, only the
    /// file's header tells.
    pub(super) fn note_checksums(&self, raw: &rusqlite::Connection) {
        let write = |file: &File| -> io::Result<()> {
            // Writes the first line if it is missing, because the record follows it.
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
            tracing::warn!(
                database = %self.path.display(), %error,
                "the commit counter beside the database could not record that its pages have checksums"
            );
        }
    }

    fn noted(&self) -> Option<u32> {
        let mut bytes = [0; LENGTH];
        match self.file.as_ref()?.read_exact_at(&mut bytes, 0) {
            Ok(()) => {}
            // The file has just been created.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return None,
            Err(error) => {
                tracing::warn!(
                    database = %self.path.display(), %error,
                    "the commit counter beside the database cannot be read"
                );
                return None;
            }
        }
        let noted = parse(&bytes);
        if noted.is_none() {
            tracing::warn!(
                database = %self.path.display(),
                "the commit counter beside the database is damaged and starts again"
            );
        }
        noted
    }
}

/// Returns whether checksums are recorded beside a file. A record that cannot be read counts as absent, and then the
/// file's header decides.
pub(super) fn has_checksums(path: &Path) -> bool {
    let read = || -> io::Result<bool> {
        let mut bytes = [0; CHECKSUMS.len()];
        File::open(place(path))?.read_exact_at(&mut bytes, LENGTH as u64)?;
        Ok(bytes == CHECKSUMS.as_bytes())
    };
    read().unwrap_or(false)
}

/// Deletes the counter of a file that no longer exists.
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
        "a database lacks {commits} acknowledged changes: the end of its log was lost, or the file was replaced by an \
         older copy or by another database. Restore it from a backup; to go on without these changes, remove the file \
         beside it whose name ends with -commits. Nothing was changed"
    );
    Error::corrupt(text).with_code(Code::ChangesLost).with_source(ErrorLocation::silent(path.display()))
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

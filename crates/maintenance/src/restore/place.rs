//! The data directory of a restore, and the moves of files to their final locations.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::blobs::{create_private_directories, sync_directory};
use async_recursion::async_recursion as boxed;
use model::{Code, Error, Id, Result};
use repository::{DataDirectory, DataDirectoryLock, require_restorable};

use super::leftovers::ASIDE;
use super::options::RestoreOptions;
use super::unfinished::{Note, Unfinished};
use crate::backup::place::small_files::{blocking, failed};

/// Name suffixes of the files of a database: the database file itself, and the files beside it.
const SUFFIXES: [&str; 5] = ["", "-wal", "-shm", "-reserve", "-commits"];

/// Name suffix of the note that records the new name of a database while it is set aside. The note exists as long as
/// only some of its files may have been moved.
const SETTING_ASIDE: &str = ".setting-aside";

/// A data directory that is locked against servers while this value exists.
pub(super) struct TargetDirectory {
    directory: PathBuf,
    set: Id,
    pub unfinished: Unfinished,
    _lock: DataDirectoryLock,
}

impl TargetDirectory {
    /// Creates or opens the directory, for a whole farm or for one content database of the existing farm.
    ///
    /// # Errors
    /// `Conflict` when a server uses the directory, or when it holds other files or a farm that must not be replaced.
    #[boxed]
    pub async fn enter(options: &RestoreOptions, set: Id, content_database: Option<&str>) -> Result<Arc<Self>> {
        let data = DataDirectory::new(&options.directory);
        let enter = move || {
            require_restorable(&data)?;
            create_private_directories(data.path())?;
            let lock = lock(&data)?;
            Ok((lock, data.holds_configuration()?))
        };
        let (lock, has_farm) = blocking(enter).await?;
        let directory = options.directory.clone();
        let (set_text, source) = (set.to_string(), options.source.absolute().to_string());
        let content_database = content_database.map(str::to_owned);
        let is_whole = content_database.is_none();
        let note = Note { set: set_text, source, content_database, databases: Vec::new() };
        let unfinished = Unfinished::open(&directory, note).await?;
        if is_whole && has_farm && !options.force && !unfinished.goes_on() {
            return Err(Error::conflict(format!(
                "{} already holds a farm: restore into an empty directory, or add --force to replace it; its databases \
                 are then set aside, and BLOBs that are still there are not copied again",
                directory.display()
            ))
            .with_code(Code::FarmExists));
        }
        // An existing farm remains usable until a part of it is replaced.
        if !has_farm || unfinished.goes_on() {
            unfinished.begin().await?;
        }
        Ok(Arc::new(Self { directory, set, unfinished, _lock: lock }))
    }

    /// Moves a file to its final location. An existing file is set aside. Blocking.
    pub fn install(&self, from: &Path, to: &Path) -> Result<()> {
        set_aside(to, self.set)?;
        let folder = to.parent().unwrap_or(&self.directory);
        create_private_directories(folder)?;
        File::open(from).and_then(|file| file.sync_all()).map_err(|e| failed("flush", from, e))?;
        move_to(from, to)?;
        sync_directory(folder)
    }

    /// Writes a small file into the directory. An existing file is set aside. Blocking.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let to = self.directory.join(name);
        let from = self.directory.join(format!("{name}.restoring"));
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&from)?;
            file.write_all(content)
        };
        write().map_err(|e| failed("write", &from, e))?;
        self.install(&from, &to)
    }
}

/// Renames an existing database to an unused name. When repeated after a crash, it gives the remaining files the same
/// name as those already renamed: a database file without its WAL may lack the latest commits. Blocking.
fn set_aside(path: &Path, set: Id) -> Result<()> {
    let (present, begun) = (ends_of(path, "")?, pending_suffix(path)?);
    if present.is_empty() && begun.is_none() {
        return Ok(());
    }
    let is_free = |aside: &str| Ok(!ends_of(path, aside)?.iter().any(|end| present.contains(end)));
    let aside = match &begun {
        Some(aside) if is_free(aside)? => aside.clone(),
        _ => unused_aside(path, set)?,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    let note = with_end(path, SETTING_ASIDE);
    // A note that holds is not written again: cut short by a second crash, it would say that nothing was moved.
    if begun.as_ref() != Some(&aside) {
        let write = || -> io::Result<()> {
            let mut file = File::create(&note)?;
            file.write_all(format!("{aside}\n").as_bytes())?;
            file.sync_all()
        };
        write().map_err(|e| failed("write", &note, e))?;
        sync_directory(folder)?;
    }
    for end in present {
        let from = with_end(path, end);
        let moved = if ["-reserve", "-commits"].contains(&end) {
            fs::remove_file(&from)
        } else {
            fs::rename(&from, with_end(path, &format!("{aside}{end}")))
        };
        moved.map_err(|e| failed("set aside", &from, e))?;
    }
    sync_directory(folder)?;
    // The removal must be durable before another database is moved here, because the note does not apply to that one.
    fs::remove_file(&note).map_err(|e| failed("remove", &note, e))?;
    sync_directory(folder)
}

/// Returns the new name suffix of a database that a crash left partly set aside. An incompletely written note counts as
/// none, because no file had been moved yet.
fn pending_suffix(path: &Path) -> Result<Option<String>> {
    let note = with_end(path, SETTING_ASIDE);
    match fs::read_to_string(&note) {
        Ok(text) => Ok(text.strip_suffix('\n').filter(|aside| aside.starts_with(ASIDE)).map(ToOwned::to_owned)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Ok(None),
        Err(error) => Err(failed("read", &note, error)),
    }
}

/// Returns an unused name suffix for setting a database aside.
fn unused_aside(path: &Path, set: Id) -> Result<String> {
    let (mut aside, mut attempt) = (format!("{ASIDE}{set}"), 1);
    while !ends_of(path, &aside)?.is_empty() {
        attempt += 1;
        aside = format!("{ASIDE}{set}-{attempt}");
    }
    Ok(aside)
}

/// Moves a file. On another file system it is replaced by a durable copy. Blocking.
fn move_to(from: &Path, to: &Path) -> Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        moved => return moved.map_err(|e| failed("write", to, e)),
    }
    let beside = with_end(to, ".restoring");
    let copy = || -> io::Result<()> {
        fs::copy(from, &beside)?;
        File::open(&beside)?.sync_all()?;
        fs::rename(&beside, to)
    };
    copy().map_err(|e| failed("write", to, e))?;
    // Before the new name is durable, a power failure could leave neither file, so the source must still exist.
    if let Some(folder) = to.parent() {
        sync_directory(folder)?;
    }
    fs::remove_file(from).map_err(|e| failed("remove", from, e))
}

/// Returns the suffixes of the existing files of a database, under its own name or with `aside` appended to it.
fn ends_of(path: &Path, aside: &str) -> Result<Vec<&'static str>> {
    let mut ends = Vec::new();
    for end in SUFFIXES {
        if exists(&with_end(path, &format!("{aside}{end}")))? {
            ends.push(end);
        }
    }
    Ok(ends)
}

/// Locks the directory against servers and other restores. Blocking.
fn lock(data: &DataDirectory) -> Result<DataDirectoryLock> {
    data.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => Error::conflict(format!(
            "a server or another restore is using {}: stop it first, or restore into another directory",
            data.path().display()
        )),
        TryLockError::Error(error) => failed("open", &data.server_lock(), error),
    })
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn exists(path: &Path) -> Result<bool> {
    path.try_exists().map_err(|e| failed("examine", path, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gets_its_place_on_another_file_system_too() {
        let (here, there) = (tempfile::tempdir().unwrap(), tempfile::tempdir_in("/dev/shm").unwrap());
        let (from, to) = (here.path().join("from"), there.path().join("main.sqlite"));
        for content in ["first", "second"] {
            fs::write(&from, content).unwrap();
            move_to(&from, &to).unwrap();
            assert_eq!(fs::read_to_string(&to).unwrap(), content);
            assert!(!from.exists());
            assert!(fs::read_dir(there.path()).unwrap().count() == 1);
        }
    }

    #[test]
    fn what_a_crash_separated_is_set_aside_together() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("main.sqlite");
        let write = |end: &str, content: &str| fs::write(with_end(&database, end), content).unwrap();
        let read = |end: &str| fs::read_to_string(with_end(&database, end)).unwrap_or_default();
        // The repeated restore may use another set.
        for (first, second, moved, left) in [(7, 7, "", "-wal"), (7, 8, "-wal", ""), (9, 7, "", "-wal")] {
            write("", &format!("file {first}"));
            write("-wal", &format!("log {first}"));
            let aside = unused_aside(&database, Id::new(first)).unwrap();
            write(SETTING_ASIDE, &format!("{aside}\n"));
            fs::rename(with_end(&database, moved), with_end(&database, &format!("{aside}{moved}"))).unwrap();
            set_aside(&database, Id::new(second)).unwrap();
            assert!(!with_end(&database, left).exists());
            assert!(!with_end(&database, SETTING_ASIDE).exists());
            assert_eq!(read(&aside), format!("file {first}"));
            assert_eq!(read(&format!("{aside}-wal")), format!("log {first}"));
            // A repetition with nothing left to do.
            set_aside(&database, Id::new(second)).unwrap();
        }
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 6);
    }

    #[test]
    fn a_note_that_holds_is_not_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("main.sqlite");
        let (note, same) = (with_end(&database, SETTING_ASIDE), directory.path().join("same note"));
        fs::write(with_end(&database, "-wal"), "log").unwrap();
        let aside = unused_aside(&database, Id::new(7)).unwrap();
        fs::write(&note, format!("{aside}\n")).unwrap();
        // The first restoration moved the file, and ended before it moved the log.
        fs::write(with_end(&database, &aside), "file").unwrap();
        fs::hard_link(&note, &same).unwrap();
        let long_ago = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000_000);
        File::options().write(true).open(&same).unwrap().set_modified(long_ago).unwrap();
        set_aside(&database, Id::new(8)).unwrap();
        assert_eq!(fs::metadata(&same).unwrap().modified().unwrap(), long_ago);
        assert_eq!(fs::read_to_string(with_end(&database, &format!("{aside}-wal"))).unwrap(), "log");
        assert!(!note.exists());
    }

    #[test]
    fn nothing_joins_or_replaces_a_database_that_was_set_aside_before() {
        let directory = tempfile::tempdir().unwrap();
        let database = directory.path().join("main.sqlite");
        let write = |end: &str, content: &str| fs::write(with_end(&database, end), content).unwrap();
        let read = |end: &str| fs::read_to_string(with_end(&database, end)).unwrap_or_default();
        write("", "first");
        set_aside(&database, Id::new(7)).unwrap();
        // Only the WAL of another database exists.
        write("-wal", "lone log");
        set_aside(&database, Id::new(7)).unwrap();
        // An incompletely written note, and a note with a name that has been taken meanwhile.
        for (note, content) in [(".before-res", "third"), (".before-restore-7\n", "fourth")] {
            write("", content);
            write(SETTING_ASIDE, note);
            set_aside(&database, Id::new(7)).unwrap();
        }
        let name = |end: &str| format!("{ASIDE}{}{end}", Id::new(7));
        assert_eq!(read(&name("")), "first");
        assert_eq!((read(&name("-wal")), read(&name("-2-wal"))), (String::new(), "lone log".to_owned()));
        assert_eq!((read(&name("-3")), read(&name("-4"))), ("third".to_owned(), "fourth".to_owned()));
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 4);
    }
}

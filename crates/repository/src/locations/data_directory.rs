//! The data directory of a farm: the names of its files, the lock that keeps other processes out, and the evidence
//! that a directory is one.
//!
//! Knows the names of files and nothing of their content.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use blobs::STORE_MARKER;
use model::{Error, Id, Result};

use super::search_directory::SearchDirectory;

/// Location of the store `files` of a new farm.
pub(crate) const FILES_LOCATION: &str = "blobs";
/// Directory of the embedded content databases.
const DATABASES: &str = "databases";
/// Directory of the search indexes.
const SEARCH: &str = "search";
/// Directories to which the farm itself writes.
pub(super) const RESERVED: [&str; 4] = [DATABASES, "cache", SEARCH, "uploads"];

/// A data directory, or a directory that could be one.
///
/// # Evidence of a farm
/// Only the lock file is in every data directory, and its name is not ours alone:
///
/// | file                      | farm on SQLite      | farm on PostgreSQL  | restoration cut short |
/// |---------------------------|---------------------|---------------------|-----------------------|
/// | `server.lock`             | always              | always              | always                |
/// | `restore-unfinished.json` | never               | never               | always                |
/// | `configuration.sqlite`    | always              | never               | placed last           |
/// | `strongroom.toml`         | if it has settings  | if not set outside  | placed last           |
/// | `farm.key`                | with sealed secrets | with sealed secrets | placed late           |
/// | `blobs`                   | unless removed      | unless removed      | once stores are open  |
///
/// Four questions are decided by these files. They differ in the damage that a wrong answer does.
///
/// - [`Self::holds_farm`] keeps other locations away. It must not miss a farm, and must not take an unrelated directory
///   around a location for one. `server.lock` counts only beside `blobs`, `strongroom.toml` or `farm.key`.
///   `strongroom.toml` alone does not count: an administrator may keep it in a directory around the data directory.
/// - [`Self::was_used`] admits a restoration to a directory that is not empty. The administrator named the directory,
///   so one file suffices. A restoration that was cut short at once leaves only the lock file.
/// - [`Self::holds_configuration`] makes a restoration require `--force`. Only files that lead to a configuration
///   database count. A farm that lost its databases has nothing to replace and is restored without force.
/// - `remains` names the content that a first start would otherwise adopt. Lock and settings are no content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataDirectory {
    path: PathBuf,
}

/// The lock on a data directory. Dropping it releases the lock, and so does the end of the process, even by a crash.
#[derive(Debug)]
pub struct DataDirectoryLock {
    _file: File,
}

impl DataDirectory {
    /// Name of the embedded configuration database.
    pub const CONFIGURATION_FILE: &str = "configuration.sqlite";
    /// Name of the settings file.
    pub const SETTINGS_FILE: &str = "strongroom.toml";
    /// Name of the file with the key of the farm's secrets.
    pub const KEY_FILE: &str = "farm.key";
    /// Name of the note of a running or unfinished restoration.
    pub const UNFINISHED_RESTORE_FILE: &str = "restore-unfinished.json";

    /// The directory at `path`, which need not exist.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path below the directory. An absolute path stays as it is.
    pub fn join(&self, path: impl AsRef<Path>) -> PathBuf {
        self.path.join(path)
    }

    /// The embedded configuration database.
    pub fn configuration(&self) -> PathBuf {
        self.path.join(Self::CONFIGURATION_FILE)
    }

    /// The settings file.
    pub fn settings(&self) -> PathBuf {
        self.path.join(Self::SETTINGS_FILE)
    }

    /// The file with the key of the farm's secrets.
    pub fn key(&self) -> PathBuf {
        self.path.join(Self::KEY_FILE)
    }

    /// The note of a running or unfinished restoration.
    pub fn unfinished_restore(&self) -> PathBuf {
        self.path.join(Self::UNFINISHED_RESTORE_FILE)
    }

    /// The search index of a content database.
    pub fn search_index(&self, database: Id) -> SearchDirectory {
        SearchDirectory::new(self.path.join(SEARCH).join(database.to_string()))
    }

    /// The directory below which programs that read documents for the search indexes write. It is protected like these.
    pub fn search_scratch(&self) -> PathBuf {
        self.path.join(SEARCH)
    }

    /// The lock file. It stays after the lock is released. A server sets its modification time while users are active.
    pub fn server_lock(&self) -> PathBuf {
        self.path.join("server.lock")
    }

    /// Takes the lock by which a server or a restoration keeps the others out. The directory must exist. Blocks.
    ///
    /// # Errors
    /// `WouldBlock` when another process holds the lock; otherwise the error of opening or locking the file.
    pub fn try_lock(&self) -> std::result::Result<DataDirectoryLock, TryLockError> {
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(self.server_lock());
        let file = file.map_err(TryLockError::Error)?;
        file.try_lock()?;
        Ok(DataDirectoryLock { _file: file })
    }

    /// Returns whether a process holds the lock. A lock file that is missing or cannot be opened counts as free.
    /// Blocks.
    pub fn is_locked(&self) -> bool {
        let file = OpenOptions::new().write(true).open(self.server_lock());
        file.is_ok_and(|file| matches!(file.try_lock(), Err(TryLockError::WouldBlock)))
    }

    /// Returns whether the directory belongs to a farm, complete or not. See [`DataDirectory`]. Blocks.
    ///
    /// # Errors
    /// `Unavailable` when the directory cannot be examined.
    pub fn holds_farm(&self) -> Result<bool> {
        if self.has(Self::CONFIGURATION_FILE)? || self.has(Self::UNFINISHED_RESTORE_FILE)? {
            return Ok(true);
        }
        Ok(is_there(&self.server_lock())?
            && (self.has(FILES_LOCATION)? || self.has(Self::SETTINGS_FILE)? || self.has(Self::KEY_FILE)?))
    }

    /// Returns whether a server or a restoration has used the directory, or a farm's configuration is in it. See
    /// [`DataDirectory`]. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::holds_farm`].
    pub fn was_used(&self) -> Result<bool> {
        Ok(is_there(&self.server_lock())? || self.holds_configuration()?)
    }

    /// Returns whether the directory holds a farm that a restoration would replace. See [`DataDirectory`]. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::holds_farm`].
    pub fn holds_configuration(&self) -> Result<bool> {
        Ok(self.has(Self::CONFIGURATION_FILE)? || self.has(Self::SETTINGS_FILE)?)
    }

    /// Returns the files that only a farm leaves behind, relative to the directory. See [`DataDirectory`]. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::holds_farm`].
    pub(crate) fn remains(&self) -> Result<Vec<String>> {
        let mut left = Vec::new();
        for name in [Self::KEY_FILE.to_owned(), format!("{FILES_LOCATION}/{STORE_MARKER}")] {
            let path = self.path.join(&name);
            if path.try_exists().map_err(|error| inaccessible(&path, error))? {
                left.push(name);
            }
        }
        let databases = self.path.join(DATABASES);
        let entries = match fs::read_dir(&databases) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(left),
            entries => entries.map_err(|error| inaccessible(&databases, error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| inaccessible(&databases, error))?;
            let data = entry.metadata().map_err(|error| inaccessible(&entry.path(), error))?;
            if data.is_file() && data.len() > 0 && entry.path().extension().is_some_and(|kind| kind == "sqlite") {
                left.push(format!("{DATABASES}/{}", entry.file_name().display()));
            }
        }
        Ok(left)
    }

    fn has(&self, name: &str) -> Result<bool> {
        is_there(&self.path.join(name))
    }
}

/// Returns whether a file or directory exists. Nothing exists below a file. Blocks.
///
/// # Errors
/// `Unavailable` when that cannot be determined.
pub(super) fn is_there(path: &Path) -> Result<bool> {
    match path.try_exists() {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(false),
        found => found.map_err(|error| inaccessible(path, error)),
    }
}

pub(super) fn inaccessible(path: &Path, error: io::Error) -> Error {
    Error::unavailable(format!("{} cannot be accessed: {error}", path.display())).with_source(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with these files.
    fn with(names: &[&str]) -> (tempfile::TempDir, DataDirectory) {
        let scratch = tempfile::tempdir().unwrap();
        for name in names {
            let path = scratch.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "x").unwrap();
        }
        let directory = DataDirectory::new(scratch.path());
        (scratch, directory)
    }

    #[test]
    fn a_farm_is_known_whichever_database_it_uses_and_after_a_cut_restoration() {
        // The last three columns: it holds a farm, it was used, and it holds a configuration.
        for (state, names, expected) in [
            ("SQLite", &["configuration.sqlite", "server.lock", "blobs/store.toml"][..], [true, true, true]),
            ("SQLite, copied without the lock", &["configuration.sqlite"], [true, true, true]),
            ("PostgreSQL", &["server.lock", "strongroom.toml", "blobs/store.toml"], [true, true, true]),
            ("PostgreSQL, set by the environment", &["server.lock", "blobs/store.toml"], [true, true, false]),
            ("PostgreSQL, BLOBs in a bucket", &["server.lock", "farm.key"], [true, true, false]),
            ("databases lost", &["server.lock", "blobs/store.toml", "databases/x"], [true, true, false]),
            ("restoration cut while copying", &["server.lock", "restore-unfinished.json"], [true, true, false]),
            ("restoration cut at once", &["server.lock"], [false, true, false]),
            ("settings beforehand, or beside a data directory", &["strongroom.toml"], [false, true, true]),
            ("a store that outlived its farm", &["blobs/store.toml"], [false, false, false]),
            ("something else", &["blobs/letter.txt", "databases/x.sqlite"], [false, false, false]),
        ] {
            let (_scratch, directory) = with(names);
            let found = [directory.holds_farm(), directory.was_used(), directory.holds_configuration()];
            assert_eq!(found.map(|found| found.unwrap()), expected, "{state}");
        }
        let (scratch, _) = with(&["file"]);
        assert!(!DataDirectory::new(scratch.path().join("file")).holds_farm().unwrap());
    }

    #[test]
    fn the_remains_of_a_farm_are_its_contents() {
        let (_scratch, directory) = with(&["farm.key", "blobs/store.toml", "databases/main.sqlite", "databases/x-wal"]);
        assert_eq!(directory.remains().unwrap(), ["farm.key", "blobs/store.toml", "databases/main.sqlite"]);
        let (_scratch, directory) = with(&["server.lock", "strongroom.toml", "blobs/letter.txt"]);
        assert!(directory.remains().unwrap().is_empty());
    }

    #[test]
    fn a_data_directory_has_one_holder_of_its_lock() {
        let (_scratch, directory) = with(&[]);
        assert!(!directory.is_locked());
        assert!(!directory.server_lock().exists());
        let held = directory.try_lock().unwrap();
        assert!(directory.is_locked());
        assert!(matches!(directory.try_lock(), Err(TryLockError::WouldBlock)));
        drop(held);
        assert!(!directory.is_locked());
        assert!(directory.try_lock().is_ok());
        assert!(directory.server_lock().exists());
        assert!(matches!(DataDirectory::new("/missing").try_lock(), Err(TryLockError::Error(_))));
    }
}

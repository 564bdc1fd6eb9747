//! The data directory that a farm is restored into, and how its files get their places.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use model::{Error, Id, Result};

use crate::backup::papers::failed;

/// What a database consists of beside its file.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-reserve"];

/// A data directory that no server uses as long as this is held.
pub(super) struct Ground {
    directory: PathBuf,
    set: Id,
    _lock: File,
}

impl Ground {
    /// Makes the directory, or takes the one that is there. Blocks.
    ///
    /// # Errors
    /// Conflict when a server runs on it, or when it holds a farm that is not to be replaced.
    pub fn prepare(directory: &Path, set: Id, force: bool) -> Result<Self> {
        DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|e| failed("make", directory, e))?;
        let path = directory.join("server.lock");
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let lock = lock.map_err(|e| failed("open", &path, e))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::conflict(format!(
                    "a server is running on {}: stop it first, or restore into another directory",
                    directory.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(failed("lock", &path, error)),
        }
        let ground = Self { directory: directory.to_owned(), set, _lock: lock };
        for sign in ["configuration.sqlite", "strongroom.toml"] {
            if !force && exists(&directory.join(sign))? {
                return Err(Error::conflict(format!(
                    "{} holds a farm already: restore into an empty directory, or add --force to replace it; its databases are then set aside, and BLOBs that are still there are not copied again",
                    directory.display()
                ))
                .with_code("farm_exists"));
            }
        }
        Ok(ground)
    }

    /// Puts a file into its place; what is there is set aside. Blocks.
    pub fn put(&self, from: &Path, to: &Path) -> Result<()> {
        self.set_aside(to)?;
        let folder = to.parent().unwrap_or(&self.directory);
        DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|e| failed("make", folder, e))?;
        File::open(from).and_then(|file| file.sync_all()).map_err(|e| failed("flush", from, e))?;
        fs::rename(from, to).map_err(|e| failed("write", to, e))?;
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|e| failed("flush", folder, e))
    }

    /// Writes a small file into the directory; what is there is set aside. Blocks.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let to = self.directory.join(name);
        let from = self.directory.join(format!("{name}.restoring"));
        let write = || -> io::Result<()> {
            let mut file = OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&from)?;
            file.write_all(content)
        };
        write().map_err(|e| failed("write", &from, e))?;
        self.put(&from, &to)
    }

    fn set_aside(&self, path: &Path) -> Result<()> {
        for end in [&[""][..], &BESIDE].concat() {
            let present = with_end(path, end);
            if !exists(&present)? {
                continue;
            }
            let aside = with_end(path, &format!(".before-restore-{}{end}", self.set));
            let moved = if end == "-reserve" { fs::remove_file(&present) } else { fs::rename(&present, aside) };
            moved.map_err(|e| failed("set aside", &present, e))?;
        }
        Ok(())
    }
}

fn with_end(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

fn exists(path: &Path) -> Result<bool> {
    path.try_exists().map_err(|e| failed("look at", path, e))
}

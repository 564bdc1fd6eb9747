//! Directories for copies on their way. They hold what is in databases, so that none is left behind for long.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use model::{Id, Result};

use super::papers::{blocking, failed};

/// A directory that is emptied before and removed after.
pub(crate) struct Scratch {
    path: PathBuf,
    /// Locked as long as it is in use, when there are several.
    _lock: Option<File>,
}

impl Scratch {
    /// The only one of its name; something else keeps others away from it.
    pub async fn new(path: PathBuf) -> Result<Self> {
        blocking(move || {
            make(&path)?;
            Ok(Self { path, _lock: None })
        })
        .await
    }

    /// One of several that may be in use at once in a directory. Those that a process left when it was killed are removed.
    pub async fn one_of(parent: PathBuf, start: &'static str, id: Id) -> Result<Self> {
        blocking(move || {
            // Nobody takes one for abandoned between its making and its lock.
            let gate = File::open(&parent).map_err(|e| failed("open", &parent, e))?;
            gate.lock().map_err(|e| failed("lock", &parent, e))?;
            for entry in fs::read_dir(&parent).map_err(|e| failed("look into", &parent, e))? {
                let path = entry.map_err(|e| failed("look into", &parent, e))?.path();
                let is_one = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
                if is_one && File::open(&path).is_ok_and(|scratch| scratch.try_lock().is_ok()) {
                    remove(&path)?;
                }
            }
            let path = parent.join(format!("{start}{id}"));
            make(&path)?;
            let lock = File::open(&path).map_err(|e| failed("open", &path, e))?;
            lock.lock().map_err(|e| failed("lock", &path, e))?;
            Ok(Self { path, _lock: Some(lock) })
        })
        .await
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next one.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn make(path: &Path) -> Result<()> {
    remove(path)?;
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|e| failed("make", path, e))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("empty", path, error)),
        _ => Ok(()),
    }
}

//! Temporary directories for copies. The copies hold database content, so none may be left behind for long.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use async_recursion::async_recursion as boxed;
use model::Result;

use super::small_files::{blocking, failed};

/// A directory that is emptied on creation and removed on drop.
pub(crate) struct TemporaryDirectory {
    path: PathBuf,
    /// Lock on the directory while it is in use, for directories made by [`Self::new_shared`].
    _lock: Option<File>,
}

impl TemporaryDirectory {
    /// Creates the directory at a fixed path. The caller must ensure that no other process uses it.
    #[boxed]
    pub async fn new(path: PathBuf) -> Result<Self> {
        blocking(move || {
            make(&path)?;
            Ok(Self { path, _lock: None })
        })
        .await
    }

    /// Creates one of several directories that may be in use concurrently below `parent`. Directories left behind by
    /// killed processes are removed.
    #[boxed]
    pub async fn new_shared(parent: PathBuf, start: &'static str) -> Result<Self> {
        blocking(move || {
            // The lock on the parent keeps other processes from removing a new directory between its creation and its
            // lock.
            let gate = File::open(&parent).map_err(|e| failed("open", &parent, e))?;
            gate.lock().map_err(|e| failed("lock", &parent, e))?;
            for entry in fs::read_dir(&parent).map_err(|e| failed("read", &parent, e))? {
                let entry = entry.map_err(|e| failed("read", &parent, e))?;
                let path = entry.path();
                let is_one = entry.file_name().to_string_lossy().starts_with(start)
                    && entry.file_type().is_ok_and(|kind| kind.is_dir());
                if is_one
                    && File::open(&path).is_ok_and(|scratch| scratch.try_lock().is_ok())
                    && let Err(error) = remove(&path)
                {
                    tracing::warn!(error = error.report(), "the leftovers of a killed process cannot be removed");
                }
            }
            let mut number = 1_u64;
            let path = loop {
                let path = parent.join(format!("{start}{number}"));
                match DirBuilder::new().mode(0o700).create(&path) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
                    made => break made.map(|()| path.clone()).map_err(|e| failed("create", &path, e))?,
                }
            };
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

impl Drop for TemporaryDirectory {
    fn drop(&mut self) {
        // The next scratch directory removes leftovers of a failed removal.
        let _ = fs::remove_dir_all(&self.path);
    }
}

fn make(path: &Path) -> Result<()> {
    remove(path)?;
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(|e| failed("create", path, e))
}

fn remove(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("empty", path, error)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn several_are_in_use_at_once_and_abandoned_ones_go() {
        let place = tempfile::tempdir().unwrap();
        let parent = || place.path().to_owned();
        let first = TemporaryDirectory::new_shared(parent(), "drill-").await.unwrap();
        let second = TemporaryDirectory::new_shared(parent(), "drill-").await.unwrap();
        assert!(first.path() != second.path());
        assert!(first.path().is_dir());
        assert!(second.path().is_dir());
        fs::create_dir_all(place.path().join("drill-7/farm")).unwrap();
        fs::write(place.path().join("drill-notes"), "no scratch place").unwrap();
        fs::create_dir(place.path().join("letters")).unwrap();
        let third = TemporaryDirectory::new_shared(parent(), "drill-").await.unwrap();
        assert!(!place.path().join("drill-7").exists(), "whoever made it is gone");
        assert!(place.path().join("drill-notes").exists());
        assert!(place.path().join("letters").exists());
        assert!(first.path().is_dir());
        assert!(second.path().is_dir());
        assert!(third.path().is_dir());
        let path = first.path().to_owned();
        drop(first);
        assert!(!path.exists());
    }
}

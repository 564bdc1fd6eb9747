//! Directories for programs that need files. They are removed when the program has ended, and at the next start after a
//! crash.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Beginning of the names of such directories.
const NAME: &str = "scratch-";

/// A directory that only the user of this process may open. It is removed when dropped.
#[derive(Debug)]
pub struct Scratch(PathBuf);

impl Scratch {
    /// Creates an empty directory in `place`, which is created if it is missing.
    pub fn create(place: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let mut builder = DirBuilder::new();
        builder.mode(0o700);
        builder.recursive(true).create(place)?;
        let path = place.canonicalize()?.join(format!("{NAME}{}-{number}", std::process::id()));
        builder.recursive(false).create(&path)?;
        Ok(Self(path))
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(error = %error, "a directory of a program cannot be removed; the next start removes it");
        }
    }
}

/// Removes directories that processes left that have ended. No other process may use `place`.
///
/// # Errors
/// That of the directory that cannot be removed.
pub fn remove_left_over(place: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(place) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(NAME) && entry.file_type()?.is_dir() {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(())
}

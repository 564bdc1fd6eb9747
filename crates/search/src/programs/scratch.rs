//! Directories for programs that need files. They are removed when the program has ended, and at the next start after a
//! crash.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
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
        if let Err(error) = remove(&self.0) {
            tracing::warn!(error = %error, "a directory of a program cannot be removed; the next start removes it");
        }
    }
}

/// Removes a directory, also one in which a program took permissions away from directories.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            open_up(path)?;
            fs::remove_dir_all(path)
        }
        removed => removed,
    }
}

/// Gives the owner of a directory all permissions for it and the directories in it.
fn open_up(directory: &Path) -> io::Result<()> {
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        fs::set_permissions(&directory, Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                directories.push(entry.path());
            }
        }
    }
    Ok(())
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
            remove(&entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_has_closed_is_removed() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("scratch-1-1/closed/deep");
        fs::create_dir_all(&deep).unwrap();
        fs::write(deep.join("file"), "x").unwrap();
        for closed in [&deep, &place.path().join("scratch-1-1/closed")] {
            fs::set_permissions(closed, Permissions::from_mode(0o000)).unwrap();
        }
        open_up(&place.path().join("scratch-1-1")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&deep), 0o700, "also for the superuser, whom no permission stops");
        remove_left_over(place.path()).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0);
    }
}

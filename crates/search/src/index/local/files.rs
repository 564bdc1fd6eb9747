//! The files of an index. They are mapped into memory, where a part that the disk cannot read would end the process
//! instead of being an error. They are therefore read in the usual way first when the last process did not close them.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use model::{Error, Result};
use rustix::io::Errno;

/// Name of the file that is there while an index is open for writing, and stays when its process is killed.
const OPEN: &str = "open";
/// Errors of a disk or file system that is damaged.
const DAMAGE: [Errno; 3] = [Errno::IO, Errno::BADMSG, Errno::UCLEAN];
/// Bytes that are read at once.
const STEP: usize = 1 << 20;

/// Reads all files of an index in a directory. Blocks.
///
/// # Errors
/// `Corrupt` if the disk cannot read one; `Unavailable` if one cannot be opened, for example because too many files are
/// open.
pub(super) fn read_through(directory: &Path) -> Result<()> {
    read_files(directory).map_err(|error| {
        let place = directory.display();
        let is_damage = error.raw_os_error().is_some_and(|code| DAMAGE.iter().any(|it| it.raw_os_error() == code));
        let failed = if is_damage {
            Error::corrupt(format!("the disk cannot read the search index in {place}; the server rebuilds it"))
        } else {
            Error::unavailable(format!(
                "the search index in {place} cannot be read: check the disk and its permissions"
            ))
        };
        failed.with_source(error)
    })
}

fn read_files(directory: &Path) -> io::Result<()> {
    let mut step = vec![0; STEP];
    for entry in fs::read_dir(directory)? {
        let mut file = match File::open(entry?.path()) {
            // Removed by a merge meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened?,
        };
        if file.metadata()?.is_file() {
            while file.read(&mut step)? > 0 {}
        }
    }
    Ok(())
}

/// Notes that an index is open for writing, and first reads all files if the last process that opened it was killed.
/// Blocks.
///
/// # Errors
/// Those of [`read_through`]; `Unavailable` if the directory cannot be written.
pub(super) fn note_open(directory: &Path) -> Result<()> {
    let note = directory.join(OPEN);
    match File::create_new(&note) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => read_through(directory),
        Err(error) => {
            let message = format!("{} cannot be written: check the disk and its permissions", note.display());
            Err(Error::unavailable(message).with_source(error))
        }
    }
}

/// An index that is open for writing. Dropped, it notes that its files have been closed.
pub(super) struct OpenNote(PathBuf);

impl OpenNote {
    pub(super) fn of(directory: &Path) -> Self {
        Self(directory.join(OPEN))
    }
}

impl Drop for OpenNote {
    fn drop(&mut self) {
        // If it stays, the files are read once more.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_after_a_crash() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("a.store"), b"text").unwrap();
        note_open(directory.path()).unwrap();
        note_open(directory.path()).unwrap();
        // Reading the first page of a process answers with an I/O error, as a damaged disk does.
        symlink("/proc/self/mem", directory.path().join("b.store")).unwrap();
        assert_eq!(note_open(directory.path()).unwrap_err().kind(), model::ErrorKind::Corrupt);
        fs::remove_file(directory.path().join("b.store")).unwrap();
        // A link in a circle cannot be opened, which says nothing about the disk.
        symlink("b.store", directory.path().join("b.store")).unwrap();
        assert_eq!(note_open(directory.path()).unwrap_err().kind(), model::ErrorKind::Unavailable);
        drop(OpenNote::of(directory.path()));
        note_open(directory.path()).unwrap();
    }
}

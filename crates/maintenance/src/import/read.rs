//! Consistent reading of files: a file that changes while it is read is skipped.

use std::fs::File;
use std::io::{self, Read};

use model::Name;

use crate::posix::{Directory, EntryKind, Status};
use crate::progress::{Fault, Reason};

/// Opens a file and returns its current status.
pub(super) fn open(directory: &Directory, name: &Name) -> Result<(File, Status), Fault> {
    let path = directory.path_of(name.as_str().as_ref());
    let unreadable = |error: io::Error| Fault::new(&path, Reason::Unreadable, format!("it cannot be opened: {error}"));
    let file = directory.read(name.as_str().as_ref()).map_err(unreadable)?;
    let status = Status::of_file(&file).map_err(unreadable)?;
    if status.kind != EntryKind::File {
        return Err(changed(directory, name));
    }
    Ok((file, status))
}

/// Appends a small file to `into`. Returns the offset at which its content begins, and its status.
pub(super) fn read_whole(
    directory: &Directory,
    name: &Name,
    limit: u64,
    into: &mut Vec<u8>,
) -> Result<(usize, Status), Fault> {
    let start = into.len();
    let read = append(directory, name, limit, into);
    if read.is_err() {
        into.truncate(start);
    }
    read.map(|status| (start, status))
}

fn append(directory: &Directory, name: &Name, limit: u64, into: &mut Vec<u8>) -> Result<Status, Fault> {
    let (file, status) = open(directory, name)?;
    if status.size > limit {
        return Err(changed(directory, name));
    }
    // Reading one byte more than expected reveals that the file has grown.
    let read = (&file).take(status.size + 1).read_to_end(into).map_err(|error| broken(directory, name, &error))?;
    check(directory, name, &file, &status, read as u64)?;
    Ok(status)
}

/// Refuses a file whose status has changed since it was opened, or whose length differs from its reported size.
pub(super) fn check(
    directory: &Directory,
    name: &Name,
    file: &File,
    before: &Status,
    length: u64,
) -> Result<(), Fault> {
    let after = Status::of_file(file).map_err(|error| broken(directory, name, &error))?;
    if length == before.size && after.is_unchanged(before) {
        return Ok(());
    }
    Err(changed(directory, name))
}

pub(super) fn broken(directory: &Directory, name: &Name, error: &io::Error) -> Fault {
    let path = directory.path_of(name.as_str().as_ref());
    Fault::new(&path, Reason::Unreadable, format!("it cannot be read: {error}"))
}

pub(super) fn changed(directory: &Directory, name: &Name) -> Fault {
    let path = directory.path_of(name.as_str().as_ref());
    Fault::new(
        &path,
        Reason::Changed,
        "it changed while it was being read: import it again when nothing is writing to it",
    )
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::path::Path;

    use super::*;

    fn whole(directory: &Directory, text: &str, limit: u64) -> Result<Vec<u8>, Fault> {
        let mut all = b"before".to_vec();
        let read = read_whole(directory, &name(text), limit, &mut all);
        assert!(read.is_ok() || all == b"before");
        read.map(|(start, _)| all[start..].to_vec())
    }

    fn name(text: &str) -> Name {
        Name::new(text).unwrap()
    }

    #[test]
    fn a_file_that_grows_while_it_is_read_is_not_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, "one\n").unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        assert_eq!(whole(&directory, "log", 100).unwrap(), b"one\n");
        let (file, status) = open(&directory, &name("log")).unwrap();
        std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"two\n").unwrap();
        assert_eq!(check(&directory, &name("log"), &file, &status, 4).unwrap_err().reason, Reason::Changed);
        assert_eq!(whole(&directory, "log", 5).unwrap_err().reason, Reason::Changed);
    }

    #[test]
    fn files_that_lie_about_their_size_or_fail_are_reported() {
        let directory = Directory::open(Path::new("/proc/self")).unwrap();
        assert_eq!(whole(&directory, "status", 100).unwrap_err().reason, Reason::Changed);
        assert_eq!(whole(&directory, "mem", 100).unwrap_err().reason, Reason::Unreadable);
        assert_eq!(whole(&directory, "none", 100).unwrap_err().reason, Reason::Unreadable);
    }

    #[test]
    fn neither_a_link_nor_a_pipe_is_opened_as_a_file() {
        let folder = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/etc/passwd", folder.path().join("link")).unwrap();
        let directory = Directory::open(folder.path()).unwrap();
        rustix::fs::mknodat(
            rustix::fs::CWD,
            folder.path().join("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::from_raw_mode(0o600),
            0,
        )
        .unwrap();
        assert_eq!(open(&directory, &name("link")).unwrap_err().reason, Reason::Unreadable);
        assert_eq!(open(&directory, &name("pipe")).unwrap_err().reason, Reason::Changed);
    }
}

//! A directory handle. All access is relative to the handle and does not follow links.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use model::Timestamp;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, Stat, Timestamps};

use super::time::{timespec, timestamp};

/// An open directory, and its path below the root of the tree for messages.
pub(crate) struct Directory {
    handle: OwnedFd,
    path: PathBuf,
}

/// Kind of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    File,
    Directory,
    Link,
    Special,
}

/// Status of a directory entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) kind: EntryKind,
    pub(crate) size: u64,
    pub(crate) modified: Timestamp,
    /// Modification time in the full precision of the file system.
    exact: (i64, i64),
    pub(crate) user: u32,
    pub(crate) group: u32,
    pub(crate) mode: u32,
    device: u64,
    inode: u64,
}

impl Status {
    #[allow(clippy::unnecessary_cast, reason = "the fields' types differ between platforms")]
    fn of(stat: &Stat) -> Self {
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => EntryKind::File,
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Link,
            _ => EntryKind::Special,
        };
        let exact = (stat.st_mtime as i64, stat.st_mtime_nsec as i64);
        Self {
            kind,
            size: u64::try_from(stat.st_size).unwrap_or(0),
            modified: timestamp(exact.0, exact.1),
            exact,
            user: stat.st_uid,
            group: stat.st_gid,
            mode: stat.st_mode as u32,
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
        }
    }

    /// Returns the status of an open file.
    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        Ok(Self::of(&rustix::fs::fstat(file)?))
    }

    /// Returns whether both describe the same file with the same content, as far as the file system can tell.
    pub(crate) fn is_unchanged(&self, other: &Self) -> bool {
        (self.device, self.inode, self.size, self.exact) == (other.device, other.inode, other.size, other.exact)
    }

    /// Returns whether both describe the same file or directory.
    pub(crate) fn is_same_file(&self, other: &Self) -> bool {
        (self.device, self.inode) == (other.device, other.inode)
    }
}

const ENTER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

impl Directory {
    /// Opens the root of a tree. A link is followed only here, because the user named it.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let handle = rustix::fs::open(path, ENTER, Mode::empty())?;
        Ok(Self { handle, path: PathBuf::new() })
    }

    /// Opens a subdirectory.
    pub(crate) fn enter(&self, name: &OsStr) -> io::Result<Self> {
        let handle = rustix::fs::openat(&self.handle, name, ENTER.union(OFlags::NOFOLLOW), Mode::empty())?;
        Ok(Self { handle, path: self.path.join(name) })
    }

    /// Duplicates the handle.
    pub(crate) fn again(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, path: self.path.clone() })
    }

    /// Opens a directory by a path below this one, component by component.
    pub(crate) fn descend(&self, path: &Path) -> io::Result<Self> {
        path.iter().try_fold(self.again()?, |directory, name| directory.enter(name))
    }

    /// Takes an exclusive advisory lock, held until this handle is closed. Returns false when another process holds it.
    pub(crate) fn try_lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(&self.handle, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Path below the root, empty for the root itself.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Path of an entry below the root.
    pub(crate) fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Returns the names of the entries, in ascending byte order.
    pub(crate) fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsStr::from_bytes(name).to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Returns the status of an entry, without following a link.
    pub(crate) fn status(&self, name: &OsStr) -> io::Result<Status> {
        Ok(Status::of(&rustix::fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Returns the status of this directory.
    pub(crate) fn own_status(&self) -> io::Result<Status> {
        Ok(Status::of(&rustix::fs::fstat(&self.handle)?))
    }

    /// Opens a file for reading. Never blocks, not even for the writer of a pipe.
    pub(crate) fn read(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.handle, name, flags, Mode::empty())?))
    }

    /// Returns the directory's access control list. None if it has no list, empty if the list cannot be read.
    pub(crate) fn access_list(&self) -> Option<Vec<u8>> {
        let mut bytes = vec![0; 4 + 8 * 64];
        loop {
            match rustix::fs::fgetxattr(&self.handle, "system.posix_acl_access", &mut bytes[..]) {
                Ok(length) => {
                    bytes.truncate(length);
                    return Some(bytes);
                }
                // Linux limits an attribute to 64 KiB.
                Err(rustix::io::Errno::RANGE) if bytes.len() < 64 * 1024 => bytes.resize(64 * 1024, 0),
                Err(rustix::io::Errno::NODATA | rustix::io::Errno::NOTSUP | rustix::io::Errno::NOSYS) => return None,
                Err(_) => return Some(Vec::new()),
            }
        }
    }

    /// Creates a directory, or opens an existing one.
    pub(crate) fn make(&self, name: &OsStr) -> io::Result<Self> {
        match rustix::fs::mkdirat(&self.handle, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => self.enter(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Creates a file for writing. The file must not exist.
    pub(crate) fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(rustix::fs::openat(&self.handle, name, flags, Mode::from_raw_mode(0o666))?))
    }

    /// Renames a file in this directory, replacing an existing one.
    pub(crate) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.handle, from, &self.handle, to)?)
    }

    /// Removes a file.
    pub(crate) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.handle, name, AtFlags::empty())?)
    }

    /// Sets this directory's modification time.
    pub(crate) fn set_modified(&self, time: Timestamp) -> io::Result<()> {
        Ok(rustix::fs::futimens(&self.handle, &times(time))?)
    }

    /// Flushes this directory's whole file system to stable storage.
    pub(crate) fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(&self.handle)?)
    }
}

/// Sets a file's modification time.
pub(crate) fn set_modified(file: &File, time: Timestamp) -> io::Result<()> {
    Ok(rustix::fs::futimens(file, &times(time))?)
}

fn times(modified: Timestamp) -> Timestamps {
    Timestamps { last_access: timespec(modified), last_modification: timespec(modified) }
}

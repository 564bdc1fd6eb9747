//! Small wrappers around file operations that turn I/O errors into readable messages.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::{DirBuilderExt, FileExt};
use std::path::Path;

use model::{Error, ErrorKind, Result};
use rustix::fs::{FallocateFlags, FlockOperation};

/// Converts an I/O error into a message with the operation, the file and some advice.
pub fn io_error(doing: &str, path: &Path, error: impl Into<io::Error>) -> Error {
    let error = error.into();
    let (kind, advice) = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            (ErrorKind::Exhausted, "the disk is full: free space there")
        }
        io::ErrorKind::FileTooLarge => (ErrorKind::Exhausted, "the file system does not support files of this size"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            (ErrorKind::Unavailable, "give the server the right to read and write there")
        }
        _ => (ErrorKind::Unavailable, "check the disk"),
    };
    Error::new(kind, format!("cannot {doing} {} ({error}): {advice}", path.display())).with_source(error)
}

/// Returns whether an error means that the disk cannot read bytes it holds: a bad sector, or a checksum mismatch found
/// by the file system.
pub fn is_unreadable(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EIO | libc::EBADMSG | libc::EUCLEAN))
}

/// Returns whether a path certainly does not exist; a failed look-up does not count as absence.
pub fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Converts a read error into a message: `Corrupt` when the disk cannot read bytes it holds, otherwise like
/// [`io_error`].
pub fn read_error(doing: &str, path: &Path, error: io::Error) -> Error {
    match is_unreadable(&error) {
        true => {
            let text = format!("cannot {doing} {} ({error}): the disk is damaged there", path.display());
            Error::corrupt(text).with_source(error)
        }
        false => io_error(doing, path, error),
    }
}

/// Writes a small file atomically and durably.
pub fn write_atomically(path: &Path, parts: &[&[u8]]) -> Result<()> {
    let temporary = path.with_extension(format!("new-{}", std::process::id()));
    let write = || -> io::Result<()> {
        let file = File::create(&temporary)?;
        let mut at = 0;
        for part in parts {
            file.write_all_at(part, at)?;
            at += part.len() as u64;
        }
        file.sync_all()?;
        fs::rename(&temporary, path)
    };
    if let Err(error) = write() {
        // Best-effort cleanup; the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return Err(io_error("write", path, error));
    }
    match path.parent() {
        Some(directory) => sync_directory(directory),
        None => Ok(()),
    }
}

/// Flushes a directory, which makes the names in it durable. Blocks.
///
/// # Errors
/// `Unavailable` or `Exhausted` when it cannot be opened or flushed.
pub fn sync_directory(path: &Path) -> Result<()> {
    File::open(path).and_then(|directory| directory.sync_all()).map_err(|e| io_error("flush the directory", path, e))
}

/// Creates a directory and its missing parents, each of them durably. Blocks.
///
/// # Errors
/// `Unavailable` or `Exhausted` when one cannot be created, or its name cannot be flushed.
pub fn create_directories(path: &Path) -> Result<()> {
    create_with_mode(path, 0o777)
}

/// Creates directories like [`create_directories`], accessible only to the user that runs the program. Blocks.
///
/// # Errors
/// Those of [`create_directories`].
pub fn create_private_directories(path: &Path) -> Result<()> {
    create_with_mode(path, 0o700)
}

fn create_with_mode(path: &Path, mode: u32) -> Result<()> {
    let missing = path.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.is_dir());
    for path in missing.collect::<Vec<_>>().into_iter().rev() {
        match DirBuilder::new().mode(mode).create(path) {
            Ok(()) => {}
            // Another process created it first and may not have flushed its name yet.
            Err(_) if path.is_dir() => {}
            Err(error) => return Err(io_error("create", path, error)),
        }
        match path.parent() {
            Some(parent) if parent.as_os_str().is_empty() => sync_directory(Path::new("."))?,
            Some(parent) => sync_directory(parent)?,
            None => {}
        }
    }
    Ok(())
}

/// Tries to take the exclusive lock of a file, without waiting for it. Returns whether it was free. Blocks.
///
/// # Errors
/// `Unavailable` when the file system refuses the lock.
pub fn try_lock(file: &File, path: &Path) -> Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(io_error("lock", path, error)),
    }
}

/// Waits for the lock of a file. Closing the file releases it. Blocks.
///
/// # Errors
/// Those of [`try_lock`].
pub fn lock(file: &File, path: &Path, operation: FlockOperation) -> Result<()> {
    loop {
        match rustix::fs::flock(file, operation) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io_error("lock", path, error)),
        }
    }
}

/// Reserves disk space; sets only the length where the file system does not support reservation.
pub fn reserve(file: &File, length: u64) -> io::Result<()> {
    loop {
        match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, length) {
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::INTR) => {}
            Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => return file.set_len(length),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Writes all parts consecutively from `offset` on.
pub fn write_parts(file: &File, parts: &[io::IoSlice<'_>], mut offset: u64) -> io::Result<()> {
    // The kernel's limit on parts per call.
    for group in parts.chunks(1024) {
        let total: usize = group.iter().map(|part| part.len()).sum();
        let mut done = retrying(|| rustix::io::pwritev(file.as_fd(), group, offset))?;
        // A short write is rare; the remaining bytes are written part by part.
        let mut begin = 0;
        for part in group {
            let skip = done.saturating_sub(begin).min(part.len());
            if skip < part.len() {
                file.write_all_at(&part[skip..], offset + (begin + skip) as u64)?;
                done = done.max(begin + part.len());
            }
            begin += part.len();
        }
        offset += total as u64;
    }
    Ok(())
}

fn retrying<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Ok(value) => return Ok(value),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Fills `buffer` from `offset` on, up to the end of the file. Returns the number of bytes read.
pub fn read_up_to(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read_at(&mut buffer[filled..], offset + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Reads `length` bytes from `offset` on if all of them are in the page cache; never waits for a disk.
pub fn read_resident(file: &File, length: usize, offset: u64) -> Option<Vec<u8>> {
    let mut bytes: Vec<u8> = Vec::with_capacity(length);
    let part = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: length };
    // The buffer is not zeroed first: that would cost a fifth of the copy. Safety: the kernel writes at most `length`
    // bytes into capacity that was just reserved, and only the bytes that it reports as written are used.
    unsafe {
        let read = libc::preadv2(file.as_raw_fd(), &raw const part, 1, offset.cast_signed(), libc::RWF_NOWAIT);
        if usize::try_from(read) != Ok(length) {
            return None;
        }
        bytes.set_len(length);
    }
    Some(bytes)
}

/// Fills `buffer` like [`read_up_to`], with zeros in place of bytes that the disk cannot read. Also returns whether
/// there were any.
pub fn read_skipping_bad_sectors(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<(usize, bool)> {
    /// Smallest unit that disks and file systems lose at once.
    const SECTOR: usize = 4096;
    match read_up_to(file, buffer, offset) {
        Err(error) if is_unreadable(&error) => {}
        read => return read.map(|read| (read, false)),
    }
    let (mut filled, mut lost) = (0, false);
    while filled < buffer.len() {
        let end = buffer.len().min(filled + SECTOR - ((offset + filled as u64) % SECTOR as u64) as usize);
        match read_up_to(file, &mut buffer[filled..end], offset + filled as u64) {
            Ok(read) if read < end - filled => return Ok((filled + read, lost)),
            Ok(_) => {}
            Err(error) if is_unreadable(&error) => {
                buffer[filled..end].fill(0);
                lost = true;
            }
            Err(error) => return Err(error),
        }
        filled = end;
    }
    Ok((filled, lost))
}

/// Returns the number of bytes that an unprivileged process can still write to the file system of `path`.
/// Blocks.
///
/// # Errors
/// `Unavailable` when the file system does not answer the query.
pub fn free_bytes(path: &Path) -> Result<u64> {
    let stat = rustix::fs::statvfs(path).map_err(|e| io_error("determine the free space at", path, e))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_are_made_with_all_that_is_missing_above_or_an_error_says_where_it_ends() {
        let place = tempfile::tempdir().unwrap();
        let deep = place.path().join("a/b/c");
        create_directories(&deep).unwrap();
        create_directories(&deep).unwrap();
        assert!(deep.is_dir());
        // `/proc` exists but accepts no new directories, and fails with the error of an absent path.
        for path in ["/proc/no-such-process", "/proc/no-such-process/below"] {
            let error = create_directories(Path::new(path)).unwrap_err();
            assert!(error.message().contains("/proc/no-such-process"), "{error}");
        }
        std::fs::write(deep.join("file"), "").unwrap();
        assert!(create_directories(&deep.join("file/below")).is_err());
    }
}

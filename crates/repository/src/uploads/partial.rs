//! The file that holds the bytes of an unfinished upload.
//!
//! The first 4096 bytes record how many of the bytes after them are durable. The record has two slots that are written
//! alternately, so that a crash that tears one leaves the other. Only the number in a slot counts. Bytes that the file
//! system lost, or invented, in a power failure are therefore never taken for the document's. This module knows files;
//! it must not know databases or people.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use model::{Code, Error, Result, exact_size};

/// Offset at which the bytes begin.
const HEAD: u64 = 4096;
/// Offsets of the two slots, in different sectors.
pub(super) const SLOTS: [u64; 2] = [0, 512];
/// First bytes of a slot.
const MAGIC: &[u8; 8] = b"SRPART1\n";
/// Size of a slot: magic, number of durable bytes, and the first half of the BLAKE3 hash of both.
pub(super) const SLOT: usize = 8 + 8 + 16;

/// An open partial file, locked against writes by other requests.
#[derive(Clone)]
pub struct Partial {
    file: Arc<File>,
    durable: u64,
}

impl Partial {
    /// Creates the file of a new upload of `length` bytes, and makes the file and its directory entry durable.
    ///
    /// # Errors
    /// `Exhausted` when the bytes certainly do not fit on the disk.
    pub fn create(directory: &Path, name: &str, length: u64) -> Result<()> {
        blobs::create_directories(directory)?;
        let free = blobs::free_bytes(directory)?;
        if length > free {
            return Err(Error::exhausted(
                "the server has no space for an upload of this size: contact its administrator",
            )
            .with_code(Code::DiskFull)
            .with_source(format!(
                "{} do not fit into {}, which has {} left",
                exact_size(length),
                directory.display(),
                exact_size(free)
            )));
        }
        let make = || -> io::Result<()> {
            let file = OpenOptions::new().write(true).create_new(true).open(directory.join(name))?;
            file.write_all_at(&slot(0), SLOTS[0])?;
            file.sync_all()?;
            File::open(directory)?.sync_all()
        };
        make().map_err(|error| fault("an upload cannot be begun", error))
    }

    /// Opens a file for one request.
    ///
    /// # Errors
    /// `Locked` with code `upload_busy` while another request has the file open; `NotFound` when there is definitely no
    /// file.
    pub fn open(path: &Path) -> Result<Self> {
        let file = OpenOptions::new().read(true).write(true).open(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Error::not_found("there is no such upload: begin a new one"),
            _ => fault("the upload cannot be opened", error),
        })?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::locked("another request is sending this upload: wait, or end that request")
                    .with_code(Code::UploadBusy));
            }
            Err(TryLockError::Error(error)) => return Err(fault("the upload cannot be opened", error)),
        }
        let durable = read_durable(&file)?;
        Ok(Self { file: Arc::new(file), durable })
    }

    /// Number of bytes on stable storage.
    pub fn durable(&self) -> u64 {
        self.durable
    }

    /// Writes pieces one after the other, from `offset` of the document on.
    pub fn write(&self, pieces: &[Bytes], offset: u64) -> Result<()> {
        let mut at = HEAD + offset;
        for piece in pieces {
            self.file.write_all_at(piece, at).map_err(|error| fault("the upload cannot be stored", error))?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Puts everything up to `end` on stable storage and records that in the file.
    pub fn commit(&mut self, end: u64) -> Result<()> {
        let store = || -> io::Result<()> {
            self.file.sync_data()?;
            // The slot that does not hold the current state.
            let place = SLOTS[usize::from(read_slot(&self.file, SLOTS[0])? == Some(self.durable))];
            self.file.write_all_at(&slot(end), place)?;
            self.file.sync_data()
        };
        store().map_err(|error| fault("the upload cannot be stored", error))?;
        self.durable = end;
        Ok(())
    }

    /// Reads up to `limit` durable bytes from `offset` of the document on.
    pub fn read(&self, offset: u64, limit: usize) -> Result<Bytes> {
        let length = usize::try_from(self.durable.saturating_sub(offset)).unwrap_or(limit).min(limit);
        let mut buffer = vec![0; length];
        self.file.read_exact_at(&mut buffer, HEAD + offset).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::corrupt("the file of an upload is shorter than it says"),
            _ => fault("the upload cannot be read", error),
        })?;
        Ok(buffer.into())
    }
}

pub(super) fn slot(durable: u64) -> [u8; SLOT] {
    let mut bytes = [0; SLOT];
    bytes[..8].copy_from_slice(MAGIC);
    bytes[8..16].copy_from_slice(&durable.to_le_bytes());
    let check = blake3::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&check.as_bytes()[..16]);
    bytes
}

fn read_durable(file: &File) -> Result<u64> {
    let read = |place| read_slot(file, place).map_err(|error| fault("the upload cannot be opened", error));
    let slots = [read(SLOTS[0])?, read(SLOTS[1])?];
    slots
        .into_iter()
        .flatten()
        .max()
        .ok_or_else(|| Error::corrupt("the file of an upload does not say how much of it is stored"))
}

/// Returns the number in a slot; `None` when the slot was never written, is torn, or holds more than a file can have.
fn read_slot(file: &File, place: u64) -> io::Result<Option<u64>> {
    let mut bytes = [0; SLOT];
    match file.read_exact_at(&mut bytes, place) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let durable = u64::from_le_bytes(std::array::from_fn(|i| bytes[8 + i]));
    let possible = durable <= i64::MAX as u64 - HEAD;
    Ok((possible && bytes == slot(durable)).then_some(durable))
}

/// Turns a failed system call into an error for the client.
pub fn fault(what: &str, error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Error::exhausted(format!(
            "{what}: the disk of the server is full; when an administrator has freed space, the upload can continue"
        ))
        .with_code(Code::DiskFull)
        .with_source(error),
        _ => Error::unavailable(format!("{what}: the server's disk reported an error")).with_source(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_committed_counts_and_a_torn_slot_leaves_the_other() {
        let directory = tempfile::tempdir().unwrap();
        Partial::create(directory.path(), "a", 6).unwrap();
        let path = directory.path().join("a");
        let mut partial = Partial::open(&path).unwrap();
        assert_eq!(Partial::open(&path).err().unwrap().code(), "upload_busy");
        let mut sum = 0;
        for round in 1..=5_u64 {
            partial.write(&[Bytes::from(vec![round as u8; 10]), Bytes::from_static(b"x")], sum).unwrap();
            sum += 11;
            partial.commit(sum).unwrap();
        }
        partial.write(&[Bytes::from_static(b"never committed")], sum).unwrap();
        drop(partial);
        let file = OpenOptions::new().read(true).write(true).open(&path).unwrap();
        let slots = SLOTS.map(|place| read_slot(&file, place).unwrap().unwrap());
        assert_eq!((slots[0].max(slots[1]), slots[0].min(slots[1])), (55, 44));
        let newest = SLOTS[usize::from(slots[1] == 55)];
        file.write_all_at(b"torn", newest + 10).unwrap();
        let mut partial = Partial::open(&path).unwrap();
        assert_eq!(partial.durable(), 44);
        assert_eq!(partial.read(33, 100).unwrap(), [&[4; 10][..], b"x"].concat());
        partial.commit(50).unwrap();
        drop(partial);
        assert_eq!(Partial::open(&path).unwrap().durable(), 50);
        file.write_all_at(&[0; 1000], 0).unwrap();
        assert_eq!(Partial::open(&path).err().unwrap().kind(), model::ErrorKind::Corrupt);
    }

    #[test]
    fn the_head_of_a_file_stays_as_it_is() {
        assert_eq!(slot(12_345)[..16], *b"SRPART1\n\x39\x30\0\0\0\0\0\0");
    }
}

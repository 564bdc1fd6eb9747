//! A segment that this process writes, from creation to sealing.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use model::{ErrorKind, Result, Timestamp};
use rustix::fs::FlockOperation;

use super::catalog::Catalog;
use super::files::{io_error, reserve, sync_directory, try_lock};
use super::index::IndexFile;
use super::record::{BLOCK, HEADER, write_checksum};
use super::segment::Segment;

const MAGIC: &[u8; 8] = b"SRsegmt1";

/// A segment that this process owns through the lock of its file.
pub struct GrowingSegment {
    pub segment: Arc<Segment>,
    pub file: File,
    pub capacity: u64,
    /// Offset of the next batch.
    pub end: u64,
}

impl GrowingSegment {
    /// Creates a segment with room for at least `need` bytes of records. Its length is `wish` if the disk has enough
    /// space.
    pub fn create(catalog: &Catalog, wish: u64, need: u64) -> Result<Self> {
        let _guard = catalog.layout.lock(FlockOperation::LockShared)?;
        let (id, path, file) = create_file(catalog)?;
        let least = need.next_multiple_of(BLOCK) + BLOCK;
        let made = reserve_space(&file, &path, wish.max(least), least).and_then(|capacity| {
            let write = file.write_all_at(&head(id), 0).and_then(|()| file.sync_all());
            write.map_err(|e| io_error("write", &path, e))?;
            sync_directory(&catalog.layout.segments())?;
            Ok(capacity)
        });
        match made {
            Ok(capacity) => Ok(Self { segment: catalog.add_own(id), file, capacity, end: BLOCK }),
            Err(error) => {
                // Best-effort cleanup: recovery removes empty segments too.
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    pub fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.end)
    }

    /// Seals a segment: truncates it to the used length, writes its index and releases its lock. An empty segment is
    /// removed.
    pub fn seal(self, catalog: &Catalog) -> Result<()> {
        let path = self.segment.path();
        let Some(mut slots) = self.segment.slots().filter(|slots| !slots.is_empty()) else {
            catalog.forget(self.segment.id);
            fs::remove_file(path).map_err(|e| io_error("remove", path, e))?;
            return Ok(());
        };
        self.file.set_len(self.end).and_then(|()| self.file.sync_all()).map_err(|e| io_error("seal", path, e))?;
        let index = IndexFile::write(&catalog.layout.index(self.segment.id), self.segment.id, self.end, &mut slots)?;
        self.segment.become_sealed(index);
        Ok(())
    }
}

/// Creates a file with an unused identifier and locks it.
fn create_file(catalog: &Catalog) -> Result<(u64, PathBuf, File)> {
    let mut id = Timestamp::now().micros().max(1) as u64;
    loop {
        let path = catalog.layout.segment(id);
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                // Recovery also tries to lock segments, but the store's lock excludes it here.
                try_lock(&file, &path)?;
                return Ok((id, path, file));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => id += 1,
            Err(error) => return Err(io_error("create a segment", &path, error)),
        }
    }
}

/// Reserves `wish` bytes, or fewer on a nearly full disk, but never fewer than `least`. Returns the number reserved.
fn reserve_space(file: &File, path: &std::path::Path, wish: u64, least: u64) -> Result<u64> {
    let mut capacity = wish.next_multiple_of(BLOCK);
    loop {
        let Err(error) = reserve(file, capacity) else { return Ok(capacity) };
        let error = io_error("reserve space for", path, error);
        if error.kind() != ErrorKind::Exhausted || capacity <= least {
            return Err(error);
        }
        // A failed reservation may leave a part reserved.
        file.set_len(0).map_err(|e| io_error("cut", path, e))?;
        capacity = (capacity / 4).max(least).next_multiple_of(BLOCK);
    }
}

/// Returns the first block of a segment. It only identifies the file: records hold everything that reading needs.
pub fn head(id: u64) -> [u8; BLOCK as usize] {
    let mut block = [0; BLOCK as usize];
    let mut head = [0; HEADER];
    head[0..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&1u32.to_le_bytes());
    head[16..24].copy_from_slice(&id.to_le_bytes());
    write_checksum(&mut head);
    block[..HEADER].copy_from_slice(&head);
    block
}

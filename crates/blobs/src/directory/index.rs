//! The sorted index file of a sealed segment. It exists only for segments that are never written to again. It is read
//! with positioned reads and never mapped, so that it takes up no memory and a failing disk cannot crash the process.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use model::{Digest, Error, Result, Timestamp};

use super::files::{read_error, write_atomically};
use super::record::{Extent, HEADER, digest_at, has_valid_checksum, u32_at, u64_at, write_checksum};

const MAGIC: &[u8; 8] = b"SRindex1";
/// Length of one entry in bytes.
const ENTRY: usize = 56;
/// Number of entries read at once around the estimated position.
const WINDOW: u64 = 128;

/// The location of a BLOB in its segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    pub offset: u64,
    pub extent: Extent,
    pub stored_at: Timestamp,
}

/// An index file. Only the number of its entries is in memory.
#[derive(Clone, Debug)]
pub struct IndexFile {
    path: PathBuf,
    count: u64,
}

impl IndexFile {
    /// Writes the index of a segment; sorts the entries by digest.
    pub fn write(path: &Path, segment: u64, used: u64, entries: &mut [(Digest, Slot)]) -> Result<Self> {
        entries.sort_unstable_by_key(|(digest, slot)| (*digest, slot.offset));
        let mut body = Vec::with_capacity(entries.len() * ENTRY);
        for (digest, slot) in entries.iter() {
            body.extend_from_slice(digest.as_bytes());
            body.extend_from_slice(&slot.offset.to_le_bytes());
            body.extend_from_slice(&slot.extent.packed().to_le_bytes());
            body.extend_from_slice(&slot.stored_at.micros().to_le_bytes());
        }
        let count = entries.len() as u64;
        let mut header = [0; HEADER];
        header[0..8].copy_from_slice(MAGIC);
        header[16..24].copy_from_slice(&segment.to_le_bytes());
        header[24..32].copy_from_slice(&count.to_le_bytes());
        header[32..40].copy_from_slice(&used.to_le_bytes());
        header[40..44].copy_from_slice(&crc32fast::hash(&body).to_le_bytes());
        write_checksum(&mut header);
        write_atomically(path, &[&header, &body])?;
        Ok(Self { path: path.to_path_buf(), count })
    }

    /// Reads and checks a whole index and passes each entry to `each`. Also returns the length of the segment. Fails
    /// with `Corrupt` when the index must be rebuilt from its segment; `None` when it is absent.
    pub fn load(path: &Path, segment: u64, mut each: impl FnMut(Digest, Slot)) -> Result<Option<(Self, u64)>> {
        let bytes = match std::fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(read_error("read", path, error)),
        };
        let corrupt = || Error::corrupt(format!("the index {} is damaged", path.display()));
        let header: &[u8; HEADER] = bytes.get(..HEADER).and_then(|h| h.try_into().ok()).ok_or_else(corrupt)?;
        let (count, used) = (u64_at(header, 24), u64_at(header, 32));
        let body = &bytes[HEADER..];
        let fits = &header[0..8] == MAGIC && has_valid_checksum(header) && u64_at(header, 16) == segment;
        let whole = count.checked_mul(ENTRY as u64) == Some(body.len() as u64);
        if !fits || !whole || crc32fast::hash(body) != u32_at(header, 40) {
            return Err(corrupt());
        }
        for entry in body.chunks_exact(ENTRY) {
            let (digest, slot) = decode(entry).ok_or_else(corrupt)?;
            each(digest, slot);
        }
        Ok(Some((Self { path: path.to_path_buf(), count }, used)))
    }

    /// Returns all slots of a digest; more than one only if the BLOB was deleted and stored again.
    pub fn find(&self, digest: &Digest) -> Result<Vec<Slot>> {
        let mut found = Vec::new();
        let mut from = Some(self.lower_bound(digest)?);
        while let Some(at) = from {
            let entries = self.read(at, 4)?;
            let same = entries.iter().take_while(|(other, _)| other == digest).count();
            found.extend(entries[..same].iter().map(|(_, slot)| *slot));
            from = (same == 4).then_some(at + 4);
        }
        Ok(found)
    }

    /// Returns up to `limit` entries with digests above `after`.
    pub fn following(&self, after: Option<&Digest>, limit: u64) -> Result<Vec<(Digest, Slot)>> {
        let Some(after) = after else { return self.read(0, limit) };
        let mut at = self.lower_bound(after)?;
        while self.read(at, 1)?.first().is_some_and(|(digest, _)| digest == after) {
            at += 1;
        }
        self.read(at, limit)
    }

    /// Passes all entries to `show`, in pages.
    pub fn each_page(&self, mut show: impl FnMut(&[(Digest, Slot)]) -> Result<()>) -> Result<()> {
        let mut at = 0;
        while at < self.count {
            let entries = self.read(at, 4096)?;
            show(&entries)?;
            at += entries.len() as u64;
        }
        Ok(())
    }

    /// Returns the position of the first entry that is not below `digest`.
    fn lower_bound(&self, digest: &Digest) -> Result<u64> {
        let (mut low, mut high) = (0, self.count);
        let mut prefix = [0; 8];
        prefix.copy_from_slice(&digest.as_bytes()[..8]);
        // Digests are evenly distributed, so their first bytes predict the position to within a few entries.
        let guess = ((u128::from(u64::from_be_bytes(prefix)) * u128::from(self.count)) >> 64) as u64;
        let mut from = guess.saturating_sub(WINDOW / 2);
        while low < high {
            let start = from.clamp(low, high - 1);
            let entries = self.read(start, WINDOW)?;
            let below = entries.partition_point(|(other, _)| other < digest) as u64;
            if below == 0 {
                high = start;
            } else if below < entries.len() as u64 {
                return Ok(start + below);
            } else {
                low = start + below;
            }
            from = low + (high - low) / 2;
        }
        Ok(low)
    }

    fn read(&self, at: u64, limit: u64) -> Result<Vec<(Digest, Slot)>> {
        let count = limit.min(self.count.saturating_sub(at));
        let mut bytes = vec![0; count as usize * ENTRY];
        let read =
            File::open(&self.path).and_then(|file| file.read_exact_at(&mut bytes, HEADER as u64 + at * ENTRY as u64));
        read.map_err(|error| match error.kind() {
            // The index is truncated or gone and must be rebuilt from its segment.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::NotFound => {
                Error::corrupt(format!("{} is damaged ({error})", self.path.display())).with_source(error)
            }
            _ => read_error("read", &self.path, error),
        })?;
        let entries = bytes.chunks_exact(ENTRY).map(decode);
        entries.collect::<Option<_>>().ok_or_else(|| Error::corrupt(format!("{} is damaged", self.path.display())))
    }
}

fn decode(entry: &[u8]) -> Option<(Digest, Slot)> {
    let stored_at = Timestamp::from_micros(u64_at(entry, 48) as i64);
    Some((
        digest_at(entry, 0)?,
        Slot { offset: u64_at(entry, 32), extent: Extent::unpack(u64_at(entry, 40)), stored_at },
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_found_whatever_the_distribution() {
        let dir = tempfile::tempdir().unwrap();
        for (name, make) in [
            ("even", (|i: u32| crate::digest_of(&i.to_le_bytes())) as fn(u32) -> Digest),
            ("crowded", |i| {
                let mut bytes = [9; 32];
                bytes[28..].copy_from_slice(&(i * 3).to_be_bytes());
                Digest::new(bytes)
            }),
        ] {
            let path = dir.path().join(name);
            let slot = |i: u32| Slot {
                offset: u64::from(i) * 64,
                extent: Extent::encoded(5, 192 + u64::from(i)),
                stored_at: Timestamp::from_micros(1),
            };
            let mut entries: Vec<_> = (0..2000).map(|i| (make(i), slot(i))).collect();
            IndexFile::write(&path, 8, 4096, &mut entries).unwrap();
            let (index, used) = IndexFile::load(&path, 8, |_, _| {}).unwrap().unwrap();
            assert_eq!(used, 4096);
            for i in 0..2000 {
                assert_eq!(index.find(&make(i)).unwrap(), vec![slot(i)]);
            }
            assert!(index.find(&Digest::new([9; 32])).unwrap().is_empty());
            assert!(index.find(&Digest::new([255; 32])).unwrap().is_empty());
            assert!(index.find(&Digest::new([0; 32])).unwrap().is_empty());
            let mut walked = Vec::new();
            while let page = index.following(walked.last().map(|(d, _)| d), 300).unwrap()
                && !page.is_empty()
            {
                walked.extend(page);
            }
            assert_eq!(walked, entries);
            assert!(IndexFile::load(&path, 9, |_, _| {}).is_err(), "another segment's index");
        }
    }

    #[test]
    fn a_count_that_no_file_can_have_is_damage() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index");
        let mut header = [0; HEADER];
        header[0..8].copy_from_slice(MAGIC);
        header[16..24].copy_from_slice(&8_u64.to_le_bytes());
        for count in [1, u64::MAX, 1 << 61, u64::MAX / ENTRY as u64 + 1] {
            header[24..32].copy_from_slice(&count.to_le_bytes());
            write_checksum(&mut header);
            std::fs::write(&path, header).unwrap();
            assert_eq!(IndexFile::load(&path, 8, |_, _| {}).unwrap_err().kind(), model::ErrorKind::Corrupt, "{count}");
        }
    }
}

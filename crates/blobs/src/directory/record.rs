//! The layout of a record and its checksums. Pure: performs no I/O.
//!
//! `docs/formats/blob-store.md` describes the layout; golden files in the tests guard it against changes.

use bytes::Bytes;
use model::{Digest, Timestamp};

/// Alignment of records in bytes.
pub const ALIGN: u64 = 64;
/// Alignment of batches in bytes, so that a block with acknowledged records is never written again.
pub const BLOCK: u64 = 4096;
/// Length of a record's header in bytes.
pub const HEADER: usize = 128;
/// Length of a chunk in bytes; each chunk has its own checksum.
pub const CHUNK: usize = 64 * 1024;

const MAGIC: &[u8; 8] = b"SRrecord";
/// Version of a record that holds the BLOB's own bytes.
const PLAIN: u32 = 1;
/// Version of a record that holds an encoded form of the BLOB: an envelope and frames.
const ENCODED: u32 = 2;

/// The length of a BLOB and of its stored form. Compact, because it is kept in memory for each record of a growing
/// segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    length: u32,
    /// Length of the encoded form; 0 when the record holds the BLOB's own bytes. An encoded form is never empty.
    encoded: u32,
}

impl Extent {
    /// Creates the extent of a record with the BLOB's own bytes. Records hold at most about 16 MiB.
    pub fn plain(length: u64) -> Self {
        debug_assert!(length <= u64::from(u32::MAX));
        Self { length: length as u32, encoded: 0 }
    }

    /// Creates the extent of a record with an encoded form of `stored` bytes.
    pub fn encoded(length: u64, stored: u64) -> Self {
        debug_assert!(stored > 0 && stored <= u64::from(u32::MAX));
        Self { encoded: stored as u32, ..Self::plain(length) }
    }

    /// Number of bytes of the BLOB.
    pub fn length(self) -> u64 {
        u64::from(self.length)
    }

    /// Number of bytes between the header and the table.
    pub fn stored(self) -> u64 {
        u64::from(if self.encoded == 0 { self.length } else { self.encoded })
    }

    pub fn is_encoded(self) -> bool {
        self.encoded != 0
    }

    /// Packs the extent into one number. For a plain record this is the length of the BLOB.
    pub fn packed(self) -> u64 {
        u64::from(self.encoded) << 32 | u64::from(self.length)
    }

    pub fn unpack(packed: u64) -> Self {
        Self { length: packed as u32, encoded: (packed >> 32) as u32 }
    }
}

/// The header that precedes the bytes of a BLOB in a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordHeader {
    /// The segment of this record. Together with `offset` it prevents bytes that merely look like a record (a segment
    /// that was uploaded as a document) from passing for one.
    pub segment: u64,
    pub offset: u64,
    /// Offset of the batch with which this record was written.
    pub batch: u64,
    pub extent: Extent,
    pub stored_at: Timestamp,
    pub digest: Digest,
}

impl RecordHeader {
    pub fn encode(&self) -> [u8; HEADER] {
        let mut out = [0; HEADER];
        out[0..8].copy_from_slice(MAGIC);
        let version = if self.extent.is_encoded() { ENCODED } else { PLAIN };
        out[8..12].copy_from_slice(&version.to_le_bytes());
        out[12..16].copy_from_slice(&(CHUNK as u32).to_le_bytes());
        out[16..24].copy_from_slice(&self.segment.to_le_bytes());
        out[24..32].copy_from_slice(&self.offset.to_le_bytes());
        out[32..40].copy_from_slice(&self.batch.to_le_bytes());
        out[40..48].copy_from_slice(&self.extent.length().to_le_bytes());
        out[48..56].copy_from_slice(&self.stored_at.micros().to_le_bytes());
        out[56..88].copy_from_slice(self.digest.as_bytes());
        if self.extent.is_encoded() {
            out[88..96].copy_from_slice(&self.extent.stored().to_le_bytes());
        }
        write_checksum(&mut out);
        out
    }

    /// Decodes a header; `None` unless it is valid and was written for this segment and offset.
    pub fn decode(bytes: &[u8], segment: u64, offset: u64) -> Option<Self> {
        let bytes: &[u8; HEADER] = bytes.get(..HEADER)?.try_into().ok()?;
        if &bytes[0..8] != MAGIC || u32_at(bytes, 12) != CHUNK as u32 || !has_valid_checksum(bytes) {
            return None;
        }
        let (length, stored) = (u64_at(bytes, 40), u64_at(bytes, 88));
        let possible = |length: u64| length <= u64::from(u32::MAX);
        let extent = match u32_at(bytes, 8) {
            PLAIN if possible(length) => Extent::plain(length),
            ENCODED if possible(length) && possible(stored) && stored > 0 => Extent::encoded(length, stored),
            _ => return None,
        };
        let header = Self {
            segment: u64_at(bytes, 16),
            offset: u64_at(bytes, 24),
            batch: u64_at(bytes, 32),
            extent,
            stored_at: Timestamp::from_micros(u64_at(bytes, 48) as i64),
            digest: digest_at(bytes, 56)?,
        };
        (header.segment == segment && header.offset == offset).then_some(header)
    }

    /// Returns whether these bytes may be a header: a cheap test for searches.
    pub fn has_magic(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }
}

/// Length of the table of chunk checksums that follows `length` stored bytes.
pub fn table_length(length: u64) -> u64 {
    length.div_ceil(CHUNK as u64) * 4
}

/// Length of a record with `length` stored bytes, from the beginning of its header to the end of its table.
pub fn span(length: u64) -> u64 {
    HEADER as u64 + length + table_length(length)
}

/// Like [`span`], with the padding up to where the next record may begin.
pub fn footprint(length: u64) -> u64 {
    span(length).next_multiple_of(ALIGN)
}

/// Writes the checksum over the first 124 bytes of a 128-byte header or footer into its last four.
pub fn write_checksum(block: &mut [u8; HEADER]) {
    let sum = crc32fast::hash(&block[..HEADER - 4]);
    block[HEADER - 4..].copy_from_slice(&sum.to_le_bytes());
}

/// Returns whether the checksum that [`write_checksum`] writes matches.
pub fn has_valid_checksum(block: &[u8; HEADER]) -> bool {
    u32_at(block, HEADER - 4) == crc32fast::hash(&block[..HEADER - 4])
}

pub fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut out = [0; 4];
    out.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(out)
}

pub fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut out = [0; 8];
    out.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(out)
}

pub fn digest_at(bytes: &[u8], at: usize) -> Option<Digest> {
    Digest::from_slice(bytes.get(at..at + 32)?).ok()
}

/// Returns the value that ties checksums to their BLOB, so that bytes of another BLOB are detected even if they come
/// with that BLOB's checksums.
pub fn checksum_mask(digest: &Digest) -> u32 {
    u32_at(digest.as_bytes(), 0)
}

/// Computes the checksums of chunks incrementally.
#[derive(Default)]
pub struct ChunkChecksums {
    current: crc32fast::Hasher,
    filled: usize,
    sums: Vec<u32>,
}

impl ChunkChecksums {
    pub fn of(pieces: &[Bytes]) -> Self {
        let mut sums = Self::default();
        pieces.iter().for_each(|piece| sums.update(piece));
        sums
    }

    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (now, rest) = bytes.split_at(bytes.len().min(CHUNK - self.filled));
            self.current.update(now);
            self.filled += now.len();
            bytes = rest;
            if self.filled == CHUNK {
                self.next_chunk();
            }
        }
    }

    fn next_chunk(&mut self) {
        self.sums.push(std::mem::take(&mut self.current).finalize());
        self.filled = 0;
    }

    /// Returns the table in its stored form.
    pub fn into_table(mut self, digest: &Digest) -> Vec<u8> {
        if self.filled > 0 {
            self.next_chunk();
        }
        let mask = checksum_mask(digest);
        self.sums.iter().flat_map(|sum| (sum ^ mask).to_le_bytes()).collect()
    }
}

/// Returns whether `data`, which starts at a chunk boundary, matches the checksums at the beginning of `table`.
pub fn chunks_are_intact(digest: &Digest, data: &[u8], table: &[u8]) -> bool {
    let mask = checksum_mask(digest);
    table.len() as u64 >= table_length(data.len() as u64)
        && data
            .chunks(CHUNK)
            .zip(table.chunks_exact(4))
            .all(|(chunk, sum)| crc32fast::hash(chunk) ^ mask == u32_at(sum, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_only_read_where_it_was_written() {
        let digest = Digest::new([7; 32]);
        let stored_at = Timestamp::from_micros(-5);
        for extent in [Extent::plain(70_000), Extent::encoded(70_000, 900)] {
            let header = RecordHeader { segment: 3, offset: 4096, batch: 4096, extent, stored_at, digest };
            let bytes = header.encode();
            assert_eq!(RecordHeader::decode(&bytes, 3, 4096), Some(header));
            assert_eq!(RecordHeader::decode(&bytes, 4, 4096), None);
            assert_eq!(RecordHeader::decode(&bytes, 3, 4160), None);
            for bit in 0..HEADER * 8 {
                let mut bad = bytes;
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(RecordHeader::decode(&bad, 3, 4096), None, "bit {bit}");
            }
            assert_eq!(Extent::unpack(extent.packed()), extent);
        }
        assert_eq!(Extent::plain(70_000).packed(), 70_000, "as the first version has it");
    }

    #[test]
    fn checksums_do_not_depend_on_how_the_bytes_arrive() {
        let data: Vec<u8> = (0..200_000u32).map(|i| ((i * 7919) >> 3) as u8).collect();
        let digest = crate::digest_of(&data);
        let table = ChunkChecksums::of(&[Bytes::copy_from_slice(&data)]).into_table(&digest);
        let pieces: Vec<Bytes> = data.chunks(999).map(Bytes::copy_from_slice).collect();
        assert_eq!(ChunkChecksums::of(&pieces).into_table(&digest), table);
        assert_eq!(table.len() as u64, table_length(data.len() as u64));
        assert!(chunks_are_intact(&digest, &data, &table));
        assert!(chunks_are_intact(&digest, &data[CHUNK..], &table[4..]));
        assert!(!chunks_are_intact(&digest, &data[CHUNK..], &table));
        assert!(!chunks_are_intact(&Digest::new([1; 32]), &data, &table));
        assert!(!chunks_are_intact(&digest, &data, &table[..12]));
    }
}

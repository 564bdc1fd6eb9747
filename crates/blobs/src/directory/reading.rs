//! Opening records in segments.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use model::{Digest, Error, Result};

use super::coded::{Coding, Framed};
use super::files::{read_error, read_resident, read_up_to};
use super::large::corrupt;
use super::record::{CHUNK, HEADER, RecordHeader, chunks_are_intact, span, table_length};
use super::segment::Segment;
use crate::provider::{BoxFuture, Source};

/// Length of the longest BLOB that a reader holds in memory as a whole. Of longer ones it holds only the range just
/// read.
const MAX_BUFFERED_BLOB: u64 = 1 << 20;
/// Number of bytes of a longer BLOB that are verified at a time.
const VERIFY_STEP: u64 = 4 * CHUNK as u64;

/// A BLOB in a segment. Such BLOBs are small, so all stored bytes are verified before the first one is delivered.
pub enum RecordSource {
    /// The verified content.
    Whole(Bytes),
    /// Verified once when opened; each piece is verified again when it is read.
    Pieces(Arc<Pieces>),
    /// Encoded in several frames, which are decoded when they are read.
    Framed(Arc<Framed>),
}

impl RecordSource {
    /// Opens the record at this offset if it is short, entirely in the page cache, and intact; `None` for anything that
    /// needs a closer look. The bytes are copied and never mapped: where the disk cannot read a page of a mapping, a
    /// signal (SIGBUS) kills the process.
    pub fn resident(segment: &Segment, offset: u64, digest: Digest, size: u64) -> Option<Self> {
        if segment.is_dead(offset) || size > MAX_BUFFERED_BLOB {
            return None;
        }
        let (begin, end) = (HEADER, HEADER + size as usize);
        let length = end + table_length(size) as usize;
        let bytes = match segment.kept_open() {
            Some(file) => read_resident(&file, length, offset)?,
            None => read_resident(&File::open(segment.path()).ok()?, length, offset)?,
        };
        let header = RecordHeader::decode(&bytes, segment.id, offset)?;
        let fits = header.digest == digest && header.extent.length() == size && !header.extent.is_encoded();
        let intact = fits && chunks_are_intact(&digest, &bytes[begin..end], &bytes[end..]);
        intact.then(|| Self::Whole(Bytes::from(bytes).slice(begin..end)))
    }

    /// Reads and verifies the record at this offset. `None` when the segment is gone or holds another BLOB there.
    /// Blocks.
    pub fn load(segment: &Segment, offset: u64, digest: &Digest, size: u64, coding: &Coding) -> Result<Option<Self>> {
        let path = segment.path();
        let io = |e: io::Error| read_error(&format!("read BLOB {digest} in"), path, e);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let mut head = [0; HEADER];
        let read = read_up_to(&file, &mut head, offset).map_err(io)?;
        if read == 0 {
            // The offset is past the end: the write was never acknowledged, or the locator is garbled.
            return Ok(None);
        }
        let Some(header) = RecordHeader::decode(&head[..read], segment.id, offset) else {
            return Err(corrupt(digest, path, &format!("the header at {offset} is damaged")));
        };
        if header.digest != *digest {
            return Ok(None);
        }
        if header.extent.length() != size {
            return Err(wrong_size(digest, header.extent.length(), size));
        }
        let stored = header.extent.stored();
        let end = file.metadata().map_err(io)?.len();
        let length = (stored + table_length(stored)) as usize;
        if offset + span(stored) > end {
            return Err(corrupt(digest, path, &format!("the segment ends before the record at {offset} does")));
        }
        if !header.extent.is_encoded() && size > MAX_BUFFERED_BLOB {
            return Pieces::verified(file, path, offset, digest, size)
                .map(|pieces| Some(Self::Pieces(Arc::new(pieces))));
        }
        let mut bytes = vec![0; length];
        let read = read_up_to(&file, &mut bytes, offset + HEADER as u64).map_err(io)?;
        let (data, table) = bytes.split_at(stored as usize);
        if read < length || !chunks_are_intact(digest, data, table) {
            return Err(damaged(path, offset, digest));
        }
        bytes.truncate(stored as usize);
        let bytes = Bytes::from(bytes);
        if !header.extent.is_encoded() {
            return Ok(Some(Self::Whole(bytes)));
        }
        let framed = coding.open_record(&bytes, digest, size)?;
        Ok(Some(match size <= CHUNK as u64 {
            true => Self::Whole(framed.whole()?),
            false => Self::Framed(Arc::new(framed)),
        }))
    }
}

/// A record with a BLOB's own bytes. The file stays open while it is read, because another process may compact its
/// segment away.
pub struct Pieces {
    file: File,
    path: PathBuf,
    offset: u64,
    digest: Digest,
    size: u64,
    table: Vec<u8>,
}

impl Pieces {
    /// Reads and verifies the whole record once. Blocks.
    fn verified(file: File, path: &Path, offset: u64, digest: &Digest, size: u64) -> Result<Self> {
        let mut table = vec![0; table_length(size) as usize];
        let read = read_up_to(&file, &mut table, offset + HEADER as u64 + size);
        let read = read.map_err(|error| read_error(&format!("read BLOB {digest} in"), path, error))?;
        if read < table.len() {
            return Err(damaged(path, offset, digest));
        }
        let pieces = Self { file, path: path.to_path_buf(), offset, digest: *digest, size, table };
        for at in (0..size).step_by(VERIFY_STEP as usize) {
            pieces.content(at..at + VERIFY_STEP)?;
        }
        Ok(pieces)
    }

    /// Reads a range, cut off at the end of the BLOB. Blocks.
    fn content(&self, range: Range<u64>) -> Result<Bytes> {
        let (range, chunks) = self.places(range);
        let mut buffer = vec![0; (chunks.end - chunks.start) as usize];
        let read = read_up_to(&self.file, &mut buffer, self.offset + HEADER as u64 + chunks.start);
        let read = read.map_err(|error| read_error(&format!("read BLOB {} in", self.digest), &self.path, error))?;
        buffer.truncate(read);
        self.checked(&range, &chunks, buffer)
    }

    /// Returns a range if it is in the page cache and intact.
    fn resident(&self, range: Range<u64>) -> Option<Bytes> {
        let (range, chunks) = self.places(range);
        let length = (chunks.end - chunks.start) as usize;
        let buffer = read_resident(&self.file, length, self.offset + HEADER as u64 + chunks.start)?;
        self.checked(&range, &chunks, buffer).ok()
    }

    fn checked(&self, range: &Range<u64>, chunks: &Range<u64>, buffer: Vec<u8>) -> Result<Bytes> {
        let sums = &self.table[(chunks.start / CHUNK as u64 * 4) as usize..];
        if buffer.len() as u64 != chunks.end - chunks.start || !chunks_are_intact(&self.digest, &buffer, sums) {
            return Err(damaged(&self.path, self.offset, &self.digest));
        }
        let (from, to) = (range.start - chunks.start, range.end - chunks.start);
        Ok(Bytes::from(buffer).slice(from as usize..to as usize))
    }

    /// Returns the range clamped to the BLOB, and the range of the chunks around it.
    fn places(&self, range: Range<u64>) -> (Range<u64>, Range<u64>) {
        let range = range.start.min(self.size)..range.end.clamp(range.start.min(self.size), self.size);
        let chunk = CHUNK as u64;
        let chunks = range.start / chunk * chunk..range.end.next_multiple_of(chunk).min(self.size);
        (range, chunks)
    }
}

impl Source for RecordSource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        match self {
            Self::Whole(bytes) => {
                let start = (offset as usize).min(bytes.len());
                Some(Ok(bytes.slice(start..(start + limit).min(bytes.len()))))
            }
            Self::Pieces(pieces) => pieces.resident(offset..offset.saturating_add(limit as u64)).map(Ok),
            Self::Framed(_) => None,
        }
    }

    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes> {
        let range = offset..offset.saturating_add(limit as u64);
        match self {
            Self::Framed(framed) => {
                let framed = framed.clone();
                Box::pin(super::cold::cold(move || framed.content(range)))
            }
            Self::Pieces(pieces) => {
                let pieces = pieces.clone();
                Box::pin(super::cold::cold(move || pieces.content(range)))
            }
            Self::Whole(_) => {
                let answer = self.try_read(offset, limit);
                Box::pin(async move { answer.unwrap_or_else(|| Ok(Bytes::new())) })
            }
        }
    }
}

fn damaged(path: &Path, offset: u64, digest: &Digest) -> Error {
    corrupt(digest, path, &format!("the record at {offset} does not match its checksums"))
}

/// The error for a BLOB whose size differs from the one that the caller expects.
pub fn wrong_size(digest: &Digest, found: u64, believed: u64) -> Error {
    Error::corrupt(format!("BLOB {digest} has {found} bytes in its store, but should have {believed}"))
}

/// Returns whether the record at this offset holds exactly these bytes. Blocks.
pub fn holds(segment: &Segment, offset: u64, digest: &Digest, pieces: &[Bytes], coding: &Coding) -> Result<bool> {
    let size = pieces.iter().map(|piece| piece.len() as u64).sum();
    let loaded = RecordSource::load(segment, offset, digest, size, coding).and_then(|source| match source {
        Some(RecordSource::Whole(found)) => Ok(Some(found)),
        Some(RecordSource::Framed(framed)) => framed.whole().map(Some),
        Some(RecordSource::Pieces(pieces)) => pieces.content(0..size).map(Some),
        None => Ok(None),
    });
    let found = match loaded {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(false),
        Err(error) if error.kind() == model::ErrorKind::Corrupt => return Ok(false),
        Err(error) => return Err(error),
    };
    let mut rest = &found[..];
    Ok(pieces.iter().all(|piece| {
        let (now, later) = rest.split_at(piece.len().min(rest.len()));
        rest = later;
        now == &piece[..]
    }))
}

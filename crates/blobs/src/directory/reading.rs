//! Opening records in segments.

use std::fs::File;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use model::{Digest, Error, Result};

use super::coded::{Coding, Framed};
use super::files::{read_now, read_up_to, unread};
use super::large::corrupt;
use super::provider::SEGMENT_LIMIT;
use super::record::{CHUNK, HEADER, RecordHeader, chunks_are_intact, span, table_length};
use super::segment::Segment;
use crate::provider::{Pending, Source};

/// A BLOB in a segment. It is small, so that all that is stored of it is verified before its first byte is delivered.
pub enum RecordSource {
    /// Verified.
    Whole(Bytes),
    /// Encoded, in several frames; decoded as they are asked for.
    Framed(Arc<Framed>),
}

impl RecordSource {
    /// The record at this place if all of it is in memory and is what it must be; `None` for anything that needs a closer
    /// look. Memory is copied and never mapped: where the disk cannot read a page of a mapping, a signal (SIGBUS) kills
    /// the process.
    pub fn resident(segment: &Segment, offset: u64, digest: Digest, size: u64) -> Option<Self> {
        if segment.is_dead(offset) || size > SEGMENT_LIMIT {
            return None;
        }
        let (begin, end) = (HEADER, HEADER + size as usize);
        let mut bytes = vec![0; end + table_length(size) as usize];
        if !read_now(&File::open(segment.path()).ok()?, &mut bytes, offset) {
            return None;
        }
        let header = RecordHeader::decode(&bytes, segment.id, offset)?;
        let fits = header.digest == digest && header.extent.length() == size && !header.extent.is_encoded();
        let intact = fits && chunks_are_intact(&digest, &bytes[begin..end], &bytes[end..]);
        intact.then(|| Self::Whole(Bytes::from(bytes).slice(begin..end)))
    }

    /// Reads and verifies the record at this place. `None` when the segment is gone or another BLOB lies there. Blocks.
    pub fn load(segment: &Segment, offset: u64, digest: &Digest, size: u64, coding: &Coding) -> Result<Option<Self>> {
        let path = segment.path();
        let io = |e: io::Error| unread(&format!("read BLOB {digest} in"), path, e);
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(io(error)),
        };
        let mut head = [0; HEADER];
        let read = read_up_to(&file, &mut head, offset).map_err(io)?;
        if read == 0 {
            // A place that was never acknowledged, or a garbled hint.
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
        let mut bytes = vec![0; length];
        let read = read_up_to(&file, &mut bytes, offset + HEADER as u64).map_err(io)?;
        let (data, table) = bytes.split_at(stored as usize);
        if read < length || !chunks_are_intact(digest, data, table) {
            return Err(damaged(segment, offset, digest));
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

impl Source for RecordSource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        let Self::Whole(bytes) = self else { return None };
        let start = (offset as usize).min(bytes.len());
        Some(Ok(bytes.slice(start..(start + limit).min(bytes.len()))))
    }

    fn read(&mut self, offset: u64, limit: usize) -> Pending<'_, Bytes> {
        if let Self::Framed(framed) = self {
            let framed = framed.clone();
            return Box::pin(super::cold::cold(move || framed.content(offset..offset.saturating_add(limit as u64))));
        }
        let answer = self.try_read(offset, limit);
        Box::pin(async move { answer.unwrap_or_else(|| Ok(Bytes::new())) })
    }
}

fn damaged(segment: &Segment, offset: u64, digest: &Digest) -> Error {
    corrupt(digest, segment.path(), &format!("the record at {offset} does not have its checksums"))
}

/// The error for a BLOB whose size is not the one that the caller believes.
pub fn wrong_size(digest: &Digest, found: u64, believed: u64) -> Error {
    Error::corrupt(format!("BLOB {digest} has {found} bytes in its store, but is known as one of {believed}"))
}

/// Whether the record at this place holds exactly these bytes. Blocks.
pub fn holds(segment: &Segment, offset: u64, digest: &Digest, pieces: &[Bytes], coding: &Coding) -> Result<bool> {
    let size = pieces.iter().map(|piece| piece.len() as u64).sum();
    let loaded = RecordSource::load(segment, offset, digest, size, coding).and_then(|source| match source {
        Some(RecordSource::Whole(found)) => Ok(Some(found)),
        Some(RecordSource::Framed(framed)) => framed.whole().map(Some),
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

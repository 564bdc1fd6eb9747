//! Reading a BLOB or a range of it, chunk by chunk.

use std::ops::Range;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Digest, Error, Result};

use crate::provider::Source;

/// Limit on the bytes that one call of [`BlobReader::next_chunk`] delivers.
const CHUNK: u64 = 256 * 1024;
/// Length of the longest range that [`BlobReader::try_whole`] delivers, in bytes.
const MAX_WHOLE: u64 = 512 * 1024;

/// An open BLOB. All bytes that it delivers are verified; at damage it ends with `ErrorKind::Corrupt`.
pub struct BlobReader {
    digest: Digest,
    size: u64,
    range: Range<u64>,
    source: Box<dyn Source>,
}

impl BlobReader {
    /// Length in bytes up to which a BLOB is delivered at once: all of it is verified before any of it is delivered.
    pub const AT_ONCE: u64 = CHUNK;

    pub(crate) fn new(digest: Digest, size: u64, source: Box<dyn Source>) -> Self {
        Self { digest, size, range: 0..size, source }
    }

    /// Digest of this BLOB.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Length of the whole BLOB in bytes, regardless of the range.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Restricts delivery to this range from now on, cut off at the end of the BLOB.
    pub fn set_range(&mut self, range: Range<u64>) {
        let end = range.end.min(self.size);
        self.range = range.start.min(end)..end;
    }

    /// The part of the range that is still to be delivered.
    pub fn remaining(&self) -> Range<u64> {
        self.range.clone()
    }

    /// Reads the next bytes of the range, at most 256 KiB; `None` at its end.
    #[boxed]
    pub async fn next_chunk(&mut self) -> Result<Option<Bytes>> {
        if self.range.is_empty() {
            return Ok(None);
        }
        // Later chunks begin at multiples of the chunk length, in which stores verify.
        let aligned = (self.range.start / CHUNK + 1) * CHUNK;
        let limit = (aligned.min(self.range.end) - self.range.start) as usize;
        let bytes = match self.source.try_read(self.range.start, limit) {
            Some(answer) => answer?,
            None => self.source.read(self.range.start, limit).await?,
        };
        self.range.start += self.accept(&bytes, limit)?;
        Ok(Some(bytes))
    }

    /// Returns the whole range at once if it is small and in memory, without waiting or copying. After `None` the
    /// caller uses [`next_chunk`](Self::next_chunk). After `Some(Ok(_))` the reader is at its end.
    pub fn try_whole(&mut self) -> Option<Result<Bytes>> {
        let length = self.range.end - self.range.start;
        if length == 0 {
            return Some(Ok(Bytes::new()));
        }
        if length > MAX_WHOLE {
            return None;
        }
        match self.source.try_read(self.range.start, length as usize)? {
            Ok(bytes) if bytes.len() as u64 == length => {
                self.range.start = self.range.end;
                Some(Ok(bytes))
            }
            Ok(_) => None,
            Err(error) => Some(Err(error)),
        }
    }

    fn accept(&self, bytes: &Bytes, limit: usize) -> Result<u64> {
        if bytes.is_empty() || bytes.len() > limit {
            return Err(Error::corrupt(format!("the store returned a wrong number of bytes of BLOB {}", self.digest)));
        }
        Ok(bytes.len() as u64)
    }
}

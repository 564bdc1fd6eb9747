//! The encoded form of BLOBs in a directory store: encoding and decoding. `crate::coding` defines the form itself.
//!
//! A record holds the envelope, then the frames. In a file of its own, the frames come first, because they are written
//! before the digest is known; the envelope's table and finally its header follow.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use model::{Code, Digest, Error, ErrorKind, Result};

use crate::BlobHasher;
use crate::coding::{CHUNK, Encoded, Encoder, Envelope, HEADER_LENGTH, StoreKey, chunk_for, encode};

use super::files::{read_error, read_up_to};
use super::options::DirectoryOptions;
use super::record::u64_at;

/// Limit on the length of chunks. Each read decodes whole frames, so longer ones would be decoded repeatedly.
const MAX_CHUNK: u64 = 256 << 10;

/// The encoding settings of a store: how new BLOBs are stored, and the keys that decrypt existing ones.
pub struct Coding {
    level: Option<i32>,
    keys: Vec<StoreKey>,
    /// Path of the store, for messages.
    place: String,
}

impl Coding {
    pub fn new(root: &Path, options: &DirectoryOptions) -> Self {
        let (level, keys) = (options.compression, options.encryption_keys.clone());
        Self { level, keys, place: root.display().to_string() }
    }

    /// Settings for files that are never encoded.
    pub fn none() -> Self {
        Self { level: None, keys: Vec::new(), place: String::new() }
    }

    /// Returns whether new BLOBs may be encoded.
    pub fn is_on(&self) -> bool {
        self.level.is_some() || !self.keys.is_empty()
    }

    /// Creates an encoder for a BLOB of about this length.
    pub fn encoder(&self, announced: u64) -> Result<Encoder> {
        Encoder::new(chunk_for(announced).min(MAX_CHUNK), self.level, self.keys.first())
    }

    /// Encodes the content of a BLOB's record. `None` when the BLOB is stored unchanged: it shrinks too little and no
    /// encryption is required.
    pub fn encode(&self, digest: &Digest, size: u64, pieces: &[Bytes]) -> Result<Option<Vec<Bytes>>> {
        let mut encoder = self.encoder(0)?;
        let mut out = vec![Bytes::new()];
        pieces.iter().try_for_each(|piece| encoder.push(piece, &mut out))?;
        let encoded = encoder.finish(&mut out)?;
        let envelope = encode(&encoded, digest, size, None, &self.keys)?;
        let total = envelope.len() as u64 + encoded.stored;
        if self.keys.is_empty() && total + total / 15 >= size {
            return Ok(None);
        }
        out[0] = Bytes::from(envelope);
        Ok(Some(out))
    }

    /// Returns the part of a file that follows the frames: table and header.
    pub fn trailer(&self, encoded: &Encoded, digest: &Digest, size: u64) -> Result<[Bytes; 2]> {
        let envelope = Bytes::from(encode(encoded, digest, size, None, &self.keys)?);
        Ok([envelope.slice(HEADER_LENGTH..), envelope.slice(..HEADER_LENGTH)])
    }

    /// Reads the output of [`Self::encode`].
    ///
    /// # Errors
    /// `Corrupt` when it is damaged; `Unavailable` when its key is missing.
    pub fn open_record(&self, payload: &Bytes, digest: &Digest, size: u64) -> Result<Framed> {
        let (envelope, frames) = self.decode(payload, digest, size)?;
        if frames.len() as u64 != envelope.stored_length {
            return Err(damaged(digest, "its length does not match its frames"));
        }
        Ok(Framed { envelope, frames })
    }

    /// Reads the envelope at the end of a file's encoded form, which is `stored` bytes long.
    ///
    /// # Errors
    /// Those of [`Self::open_record`].
    pub fn open_trailer(&self, file: &File, path: &Path, stored: u64, digest: &Digest, size: u64) -> Result<Envelope> {
        let io = |e: io::Error| read_error("read", path, e);
        let mut bytes = vec![0; HEADER_LENGTH];
        let head = stored.checked_sub(HEADER_LENGTH as u64).ok_or_else(|| damaged(digest, "it is too short"))?;
        if read_up_to(file, &mut bytes, head).map_err(io)? < HEADER_LENGTH {
            return Err(damaged(digest, "it ends too early"));
        }
        let frames = u64_at(&bytes, 120);
        let table = head.checked_sub(frames).filter(|table| *table <= size.div_ceil(CHUNK) * 8);
        let table = table.ok_or_else(|| damaged(digest, "its lengths are inconsistent"))?;
        bytes.resize(HEADER_LENGTH + table as usize, 0);
        if read_up_to(file, &mut bytes[HEADER_LENGTH..], frames).map_err(io)? < table as usize {
            return Err(damaged(digest, "it ends too early"));
        }
        let (envelope, rest) = self.decode(&Bytes::from(bytes), digest, size)?;
        rest.is_empty().then_some(envelope).ok_or_else(|| damaged(digest, "its lengths are inconsistent"))
    }

    fn decode(&self, bytes: &Bytes, digest: &Digest, size: u64) -> Result<(Envelope, Bytes)> {
        let (envelope, rest) =
            Envelope::decode(bytes, digest, size, &self.keys).map_err(|error| match error.code() {
                Code::StoreKeyMissing => {
                    let text = format!("the BLOB store {} cannot read BLOB {digest}: {}", self.place, error.message());
                    Error::unavailable(text).with_code(Code::StoreKeyMissing)
                }
                _ => error,
            })?;
        match envelope.data {
            None => Ok((envelope, rest)),
            Some(_) => Err(damaged(digest, "its header says that its frames are in another object")),
        }
    }
}

/// The encoded form of a BLOB in memory.
pub struct Framed {
    envelope: Envelope,
    frames: Bytes,
}

impl Framed {
    /// Returns a range of the BLOB; decodes only the frames that hold it.
    pub fn content(&self, range: Range<u64>) -> Result<Bytes> {
        content(&self.envelope, range, |span| Ok(self.frames.slice(span.start as usize..span.end as usize)))
    }

    /// Returns the whole BLOB.
    pub fn whole(&self) -> Result<Bytes> {
        self.content(0..self.envelope.content)
    }
}

/// Returns a range of a BLOB; `stored` reads a range of its frames.
pub fn content(
    envelope: &Envelope,
    range: Range<u64>,
    stored: impl FnOnce(Range<u64>) -> Result<Bytes>,
) -> Result<Bytes> {
    let range = range.start.min(envelope.content)..range.end.min(envelope.content);
    if range.is_empty() {
        return Ok(Bytes::new());
    }
    let frames = envelope.frames_around(&range);
    let plain = envelope.decode_frames(&frames, &stored(envelope.span(&frames))?)?;
    let skip = (range.start - frames.start * envelope.chunk_length) as usize;
    Ok(plain.slice(skip..skip + (range.end - range.start) as usize))
}

/// Returns whether the bytes that `read` delivers have this digest. A `Corrupt` error of `read` counts as a mismatch.
pub fn has_digest(length: u64, digest: &Digest, mut read: impl FnMut(Range<u64>) -> Result<Bytes>) -> Result<bool> {
    let mut hasher = BlobHasher::new();
    let mut at = 0;
    while at < length {
        let to = (at + (1 << 20)).min(length);
        match read(at..to) {
            Ok(bytes) => hasher.update(&bytes),
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(false),
            Err(error) => return Err(error),
        }
        at = to;
    }
    Ok(hasher.finish() == *digest)
}

fn damaged(digest: &Digest, what: &str) -> Error {
    Error::corrupt(format!("the stored form of BLOB {digest} is damaged ({what}): restore it from a backup"))
}

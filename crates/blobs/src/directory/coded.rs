//! The encoded form of BLOBs in a directory: when it is made, and how it is read again. The form itself is that of `crate::coding`.
//!
//! In a record it is the envelope and then the frames. In a file of its own the frames come first, as they are made before anybody knows
//! the digest, then the envelope's table and at the end its header.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;
use model::{Code, Digest, Error, ErrorKind, Result};

use crate::BlobHasher;
use crate::coding::{CHUNK, Encoded, Encoder, Envelope, HEAD, StoreKey, chunk_for, encode};

use super::files::{read_up_to, unread};
use super::options::DirectoryOptions;
use super::record::u64_at;

/// Longer frames would be decoded again for each piece that a reader takes.
const LONGEST_CHUNK: u64 = 256 << 10;

/// How a store keeps BLOBs that come, and with which keys it reads those that are there.
pub struct Coding {
    level: Option<i32>,
    keys: Vec<StoreKey>,
    /// Where the store is, for messages.
    place: String,
}

impl Coding {
    pub fn new(root: &Path, options: &DirectoryOptions) -> Self {
        let (level, keys) = (options.compression, options.encryption_keys.clone());
        Self { level, keys, place: root.display().to_string() }
    }

    /// For files that are never encoded.
    pub fn none() -> Self {
        Self { level: None, keys: Vec::new(), place: String::new() }
    }

    /// Whether new BLOBs may be encoded.
    pub fn is_on(&self) -> bool {
        self.level.is_some() || !self.keys.is_empty()
    }

    /// Makes the frames of a BLOB of about this length.
    pub fn encoder(&self, announced: u64) -> Result<Encoder> {
        Encoder::new(chunk_for(announced).min(LONGEST_CHUNK), self.level, self.keys.first())
    }

    /// What the record of a BLOB holds; `None` when that is the BLOB itself: it shrinks too little and need not be hidden.
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

    /// What follows the frames in a file.
    pub fn trailer(&self, encoded: &Encoded, digest: &Digest, size: u64) -> Result<[Bytes; 2]> {
        let envelope = Bytes::from(encode(encoded, digest, size, None, &self.keys)?);
        Ok([envelope.slice(HEAD..), envelope.slice(..HEAD)])
    }

    /// Reads what [`Self::encode`] made.
    ///
    /// Errors: `Corrupt` when it is damaged; `Unavailable` when its key is missing.
    pub fn open_record(&self, payload: &Bytes, digest: &Digest, size: u64) -> Result<Framed> {
        let (envelope, frames) = self.decode(payload, digest, size)?;
        if frames.len() as u64 != envelope.stored {
            return Err(damaged(digest, "it does not have the length of its frames"));
        }
        Ok(Framed { envelope, frames })
    }

    /// Reads the envelope behind the frames of a file, which end at `stored`.
    ///
    /// Errors: those of [`Self::open_record`].
    pub fn open_trailer(&self, file: &File, path: &Path, stored: u64, digest: &Digest, size: u64) -> Result<Envelope> {
        let io = |e: io::Error| unread("read", path, e);
        let mut bytes = vec![0; HEAD];
        let head = stored.checked_sub(HEAD as u64).ok_or_else(|| damaged(digest, "it is too short"))?;
        if read_up_to(file, &mut bytes, head).map_err(io)? < HEAD {
            return Err(damaged(digest, "it ends too early"));
        }
        let frames = u64_at(&bytes, 120);
        let table = head.checked_sub(frames).filter(|table| *table <= size.div_ceil(CHUNK) * 8);
        let table = table.ok_or_else(|| damaged(digest, "its lengths"))?;
        bytes.resize(HEAD + table as usize, 0);
        if read_up_to(file, &mut bytes[HEAD..], frames).map_err(io)? < table as usize {
            return Err(damaged(digest, "it ends too early"));
        }
        let (envelope, rest) = self.decode(&Bytes::from(bytes), digest, size)?;
        rest.is_empty().then_some(envelope).ok_or_else(|| damaged(digest, "its lengths"))
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
            Some(_) => Err(damaged(digest, "its frames are said to lie elsewhere")),
        }
    }
}

/// The encoded form of a BLOB in memory.
pub struct Framed {
    envelope: Envelope,
    frames: Bytes,
}

impl Framed {
    /// Bytes of the BLOB; only the frames that hold them are decoded.
    pub fn content(&self, range: Range<u64>) -> Result<Bytes> {
        content(&self.envelope, range, |span| Ok(self.frames.slice(span.start as usize..span.end as usize)))
    }

    /// All bytes of the BLOB.
    pub fn whole(&self) -> Result<Bytes> {
        self.content(0..self.envelope.content)
    }
}

/// Bytes of a BLOB; `stored` gets a range of its frames.
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
    let skip = (range.start - frames.start * envelope.chunk) as usize;
    Ok(plain.slice(skip..skip + (range.end - range.start) as usize))
}

/// Whether the bytes that `read` gives have this digest. `Corrupt` of `read` is a no.
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

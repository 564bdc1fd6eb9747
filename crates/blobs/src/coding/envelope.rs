//! The envelope that describes how a BLOB's bytes are stored: a header, and a table with a checksum for each chunk.
//! Pure: performs no I/O.
//!
//! `docs/formats/object-store.md` describes the layout; golden files in the tests guard it against changes.

use std::ops::Range;

use bytes::Bytes;
use model::{Code, Digest, Error, Result, Timestamp};

use super::frames::{Cipher, Encoded, EncryptionParameters, Frame, decode_frame};
use super::keys::{KEY_ID, SALT, StoreKey};
use crate::directory::{u32_at, u64_at};

/// Length of the header in bytes.
pub const HEADER_LENGTH: usize = 192;
/// Smallest chunk length. Very large BLOBs have longer chunks, always powers of two, to keep their tables small.
pub const CHUNK: u64 = 64 << 10;
const LARGEST_CHUNK: u64 = 16 << 20;
/// Approximate limit on the entries of a table.
const ENTRIES: u64 = 1 << 20;
/// Length of the identifier of a data object in bytes.
const DATA_ID: usize = 16;
/// The identifier of a data object, which holds the bytes of a large BLOB.
pub type DataId = [u8; DATA_ID];
/// Number of bytes that encryption adds to a frame.
const TAG_LENGTH: usize = 16;

const MAGIC: &[u8; 8] = b"SRobject";
const VERSION: u32 = 1;
const FRAMED: u32 = 1;
const ENCRYPTED: u32 = 2;
const IN_DATA_OBJECT: u32 = 4;
/// Flag in the length of a frame: the frame is compressed.
const COMPRESSED: u32 = 1 << 31;

/// Returns whether these are the first bytes of an object with an envelope. A BLOB whose own bytes begin like this is
/// never stored without one.
pub fn is_enveloped(bytes: &[u8]) -> bool {
    bytes.starts_with(MAGIC)
}

/// Returns the chunk length for a BLOB of this length.
pub fn chunk_for(length: u64) -> u64 {
    length.div_ceil(ENTRIES).next_power_of_two().clamp(CHUNK, LARGEST_CHUNK)
}

/// Upper bound on the length of the object under a BLOB's own key.
pub fn longest_object(size: u64, inline: u64) -> u64 {
    let inline = if size <= inline { size } else { 0 };
    inline + size.div_ceil(CHUNK) * 32 + 4096
}

/// The description of how a BLOB's bytes are stored.
#[derive(Debug)]
pub struct Envelope {
    pub digest: Digest,
    /// Length of the BLOB in bytes.
    pub content: u64,
    /// Total length of all frames in bytes.
    pub stored_length: u64,
    pub chunk_length: u64,
    /// The data object that holds the frames; `None` when they follow the table.
    pub data: Option<DataId>,
    /// Set when frames have lengths of their own, which may differ from those of their chunks.
    framed: bool,
    table: Bytes,
    /// Start of each frame, then the end of the last one; empty when not framed.
    starts: Vec<u64>,
    cipher: Option<Cipher>,
}

/// Encodes the header and the table, the first bytes of an object.
pub fn encode(
    encoded: &Encoded,
    digest: &Digest,
    content: u64,
    data: Option<&DataId>,
    keys: &[StoreKey],
) -> Result<Vec<u8>> {
    let mask = u32_at(digest.as_bytes(), 0);
    let mut out = vec![0; HEADER_LENGTH];
    for frame in &encoded.frames {
        out.extend((frame.checksum ^ mask).to_le_bytes());
        if encoded.framed {
            out.extend((frame.length | if frame.compressed { COMPRESSED } else { 0 }).to_le_bytes());
        }
    }
    let flag = |set: bool, flag: u32| if set { flag } else { 0 };
    let flags = flag(encoded.framed, FRAMED)
        | flag(encoded.sealing.is_some(), ENCRYPTED)
        | flag(data.is_some(), IN_DATA_OBJECT);
    let sum = crc32fast::hash(&out[HEADER_LENGTH..]);
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, MAGIC);
    put(8, &VERSION.to_le_bytes());
    put(12, &(encoded.chunk as u32).to_le_bytes());
    put(16, &flags.to_le_bytes());
    put(20, &sum.to_le_bytes());
    put(24, &content.to_le_bytes());
    put(32, &Timestamp::now().micros().to_le_bytes());
    put(40, digest.as_bytes());
    put(72, data.unwrap_or(&[0; DATA_ID]));
    put(120, &encoded.stored.to_le_bytes());
    if let Some(sealing) = &encoded.sealing {
        put(88, &sealing.salt);
        put(128, &sealing.key);
        let key = key_of(sealing, keys)?;
        let mac = authenticate(key, sealing, &out);
        out[136..168].copy_from_slice(&mac);
    }
    let sum = crc32fast::hash(&out[..HEADER_LENGTH - 4]);
    out[HEADER_LENGTH - 4..HEADER_LENGTH].copy_from_slice(&sum.to_le_bytes());
    Ok(out)
}

/// Computes the authentication tag over the part of the header before the tag, and over the table.
pub(super) fn authenticate(key: &StoreKey, sealing: &EncryptionParameters, bytes: &[u8]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_keyed(&key.header_key(&sealing.salt));
    hasher.update(&bytes[..136]);
    hasher.update(&bytes[HEADER_LENGTH..]);
    *hasher.finalize().as_bytes()
}

fn key_of<'a>(sealing: &EncryptionParameters, keys: &'a [StoreKey]) -> Result<&'a StoreKey> {
    keys.iter().find(|key| key.id() == sealing.key).ok_or_else(|| {
        let id = super::keys::hex(&sealing.key);
        let text = format!("a BLOB is encrypted with the key {id}, which its store does not have: add that key");
        Error::unavailable(text).with_code(Code::StoreKeyMissing)
    })
}

/// Reads digest, length and data object from a header, which suffices to find the data object. `None` when the header
/// is damaged.
pub fn peek(bytes: &[u8]) -> Option<(Digest, u64, Option<DataId>)> {
    let head = bytes.get(..HEADER_LENGTH)?;
    let sealed = u32_at(head, HEADER_LENGTH - 4) == crc32fast::hash(&head[..HEADER_LENGTH - 4]);
    if !sealed || !is_enveloped(head) || u32_at(head, 8) != VERSION {
        return None;
    }
    let mut id = [0; DATA_ID];
    id.copy_from_slice(&head[72..72 + DATA_ID]);
    let data = (u32_at(head, 16) & IN_DATA_OBJECT != 0).then_some(id);
    Some((Digest::from_slice(&head[40..72]).ok()?, u64_at(head, 24), data))
}

impl Envelope {
    /// Reads the header and table of a BLOB's object; also returns the bytes that follow them. Fails with `Corrupt`
    /// when they are damaged or belong to another BLOB.
    pub fn decode(bytes: &Bytes, digest: &Digest, size: u64, keys: &[StoreKey]) -> Result<(Self, Bytes)> {
        let wrong = |what: &str| Error::corrupt(format!("BLOB {digest} is damaged in its store ({what}): restore it"));
        let Some((found, content, data)) = peek(bytes) else { return Err(wrong("its header is invalid")) };
        let flags = u32_at(bytes, 16);
        if flags & !(FRAMED | ENCRYPTED | IN_DATA_OBJECT) != 0 {
            let text = format!("BLOB {digest} is stored in a newer format than this program reads: use a newer one");
            return Err(Error::unavailable(text).with_code(Code::NewerBlobStore));
        }
        if found != *digest || content != size || content >= 1 << 48 {
            return Err(wrong("it belongs to another BLOB"));
        }
        let (chunk, framed) = (u64::from(u32_at(bytes, 12)), flags & FRAMED != 0);
        if !chunk.is_power_of_two() || !(CHUNK..=LARGEST_CHUNK).contains(&chunk) {
            return Err(wrong("its chunk length is invalid"));
        }
        let entry = if framed { 8 } else { 4 };
        let end = HEADER_LENGTH as u64 + content.div_ceil(chunk) * entry;
        if end > bytes.len() as u64 {
            return Err(wrong("it ends too early"));
        }
        let (table, rest) = (bytes.slice(HEADER_LENGTH..end as usize), bytes.slice(end as usize..));
        if crc32fast::hash(&table) != u32_at(bytes, 20) {
            return Err(wrong("its table is damaged"));
        }
        let stored = u64_at(bytes, 120);
        let cipher = match flags & ENCRYPTED != 0 {
            true => {
                let sealing = sealing_at(bytes);
                let key = key_of(&sealing, keys)?;
                let told =
                    blake3::Hash::from_bytes(bytes[136..168].try_into().map_err(|_| wrong("its header is invalid"))?);
                // `blake3::Hash` compares in constant time.
                if blake3::Hash::from_bytes(authenticate(key, &sealing, &bytes[..end as usize])) != told {
                    return Err(wrong("its header is not authentic"));
                }
                Some(Cipher::new(key, &sealing.salt)?)
            }
            false => None,
        };
        let mut envelope = Self {
            digest: *digest,
            content,
            stored_length: stored,
            chunk_length: chunk,
            data,
            framed,
            table,
            starts: Vec::new(),
            cipher,
        };
        envelope.compute_frame_starts().ok_or_else(|| wrong("its lengths are inconsistent"))?;
        Ok((envelope, rest))
    }

    /// Computes the start of each frame; `None` when the lengths are impossible.
    fn compute_frame_starts(&mut self) -> Option<()> {
        if !self.framed {
            return (self.stored_length == self.content && self.cipher.is_none()).then_some(());
        }
        let mut at = 0;
        self.starts = Vec::with_capacity(self.frames() as usize + 1);
        for number in 0..self.frames() {
            let frame = self.frame(number);
            if u64::from(frame.length) > self.chunk_length + TAG_LENGTH as u64 {
                return None;
            }
            self.starts.push(at);
            at += u64::from(frame.length);
        }
        self.starts.push(at);
        (at == self.stored_length).then_some(())
    }

    /// Number of frames.
    pub fn frames(&self) -> u64 {
        self.content.div_ceil(self.chunk_length)
    }

    fn frame(&self, number: u64) -> Frame {
        let mask = u32_at(self.digest.as_bytes(), 0);
        if self.framed {
            let at = number as usize * 8;
            let length = u32_at(&self.table, at + 4);
            let sum = u32_at(&self.table, at) ^ mask;
            return Frame { checksum: sum, length: length & !COMPRESSED, compressed: length & COMPRESSED != 0 };
        }
        let sum = u32_at(&self.table, number as usize * 4) ^ mask;
        Frame { checksum: sum, length: self.content_length(number) as u32, compressed: false }
    }

    /// Number of bytes of the BLOB in this frame.
    fn content_length(&self, number: u64) -> u64 {
        self.chunk_length.min(self.content - number * self.chunk_length)
    }

    /// Returns the frames that hold this range of the BLOB.
    pub fn frames_around(&self, range: &Range<u64>) -> Range<u64> {
        range.start / self.chunk_length..range.end.div_ceil(self.chunk_length).min(self.frames())
    }

    /// Returns the byte range that these frames occupy among all frames.
    pub fn span(&self, frames: &Range<u64>) -> Range<u64> {
        if self.framed {
            return self.starts[frames.start as usize]..self.starts[frames.end as usize];
        }
        frames.start * self.chunk_length..(frames.end * self.chunk_length).min(self.content)
    }

    /// Decodes the bytes of the BLOB in these frames from their stored form `stored`. A `Corrupt` error names the first
    /// damaged range.
    pub fn decode_frames(&self, frames: &Range<u64>, stored: &Bytes) -> Result<Bytes> {
        let damaged = |number: u64| {
            let (from, to) = (number * self.chunk_length, number * self.chunk_length + self.content_length(number));
            Error::corrupt(format!("bytes {from} to {to} of BLOB {} are damaged in its store: restore it", self.digest))
        };
        let mut plain = Vec::new();
        let mut at = 0;
        if self.framed {
            plain.reserve_exact(
                ((frames.end * self.chunk_length).min(self.content) - frames.start * self.chunk_length) as usize,
            );
        }
        for number in frames.clone() {
            let frame = self.frame(number);
            let bytes = stored.get(at..at + frame.length as usize).ok_or_else(|| damaged(number))?;
            at += frame.length as usize;
            if crc32fast::hash(bytes) != frame.checksum {
                return Err(damaged(number));
            }
            if self.framed {
                let length = self.content_length(number) as usize;
                decode_frame(self.cipher.as_ref(), number, frame.compressed, bytes, length, &mut plain)
                    .ok_or_else(|| damaged(number))?;
            }
        }
        if at != stored.len() {
            return Err(damaged(frames.end.saturating_sub(1)));
        }
        Ok(if self.framed { Bytes::from(plain) } else { stored.clone() })
    }
}

fn sealing_at(bytes: &[u8]) -> EncryptionParameters {
    let mut sealing = EncryptionParameters { key: [0; KEY_ID], salt: [0; SALT] };
    sealing.salt.copy_from_slice(&bytes[88..88 + SALT]);
    sealing.key.copy_from_slice(&bytes[128..128 + KEY_ID]);
    sealing
}

//! Frames: chunks of a BLOB, compressed where worthwhile, then encrypted. Pure: performs no I/O.

use bytes::Bytes;
use model::{Error, Result};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};

use super::keys::{KEY_ID, SALT, StoreKey, fill_random};

/// Number of chunks that are not tried after one that did not shrink.
const INCOMPRESSIBLE_SKIP: u32 = 15;

/// The key identifier and salt with which an object is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EncryptionParameters {
    pub key: [u8; KEY_ID],
    pub salt: [u8; SALT],
}

/// One entry of a table: the description of a chunk's stored form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// CRC-32 of the stored bytes.
    pub checksum: u32,
    /// Length in bytes.
    pub length: u32,
    pub compressed: bool,
}

/// The result of an encoder after all bytes have passed through it.
pub struct Encoded {
    pub chunk: u64,
    pub stored: u64,
    pub framed: bool,
    pub frames: Vec<Frame>,
    pub sealing: Option<EncryptionParameters>,
}

impl Encoded {
    /// Returns whether the frames, concatenated, are the BLOB itself.
    pub fn is_plain(&self) -> bool {
        self.sealing.is_none() && !self.frames.iter().any(|frame| frame.compressed)
    }
}

/// Encrypts and decrypts the frames of one object. Its key belongs to this object alone, so that a frame's number can
/// serve as the nonce.
pub struct Cipher(LessSafeKey);

impl Cipher {
    pub fn new(key: &StoreKey, salt: &[u8; SALT]) -> Result<Self> {
        let key = UnboundKey::new(&AES_256_GCM, &key.frame_key(salt));
        let key = key.map_err(|_| Error::invalid("a key of a store has 32 bytes"))?;
        Ok(Self(LessSafeKey::new(key)))
    }

    fn nonce(number: u64) -> Nonce {
        let mut nonce = [0; 12];
        nonce[4..].copy_from_slice(&number.to_le_bytes());
        Nonce::assume_unique_for_key(nonce)
    }

    /// Returns the additional authenticated data of a frame: its number and whether it is compressed. The tag in the
    /// header binds the digest to the object's salt, and so to its key.
    fn additional_data(number: u64, compressed: bool) -> Aad<[u8; 9]> {
        let mut bound = [0; 9];
        bound[..8].copy_from_slice(&number.to_le_bytes());
        bound[8] = u8::from(compressed);
        Aad::from(bound)
    }
}

impl std::fmt::Debug for Cipher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Cipher(***)")
    }
}

/// Appends the content of one frame, which must have `length` bytes, to `plain`. `None` when the frame is damaged.
pub fn decode_frame(
    cipher: Option<&Cipher>,
    number: u64,
    compressed: bool,
    stored: &[u8],
    length: usize,
    plain: &mut Vec<u8>,
) -> Option<()> {
    let mut decrypted;
    let mut content = stored;
    if let Some(cipher) = cipher {
        decrypted = stored.to_vec();
        content = cipher
            .0
            .open_in_place(Cipher::nonce(number), Cipher::additional_data(number, compressed), &mut decrypted)
            .ok()?;
    }
    if compressed {
        let content = zstd::bulk::decompress(content, length).ok().filter(|content| content.len() == length)?;
        plain.extend_from_slice(&content);
    } else {
        plain.extend_from_slice(Some(content).filter(|content| content.len() == length)?);
    }
    Some(())
}

/// Encodes the bytes of a BLOB into frames (or passes them through unchanged when nothing is to be encoded) and records
/// the table.
pub struct Encoder {
    chunk: u64,
    level: Option<i32>,
    sealing: Option<(EncryptionParameters, Cipher)>,
    compressor: Option<zstd::bulk::Compressor<'static>>,
    frames: Vec<Frame>,
    stored: u64,
    /// Number of coming chunks that are stored without trying to compress them.
    chunks_to_skip: u32,
    /// The current, incomplete chunk. Unused when bytes are stored unchanged: then only the checksum is kept.
    pending: Vec<u8>,
    sum: crc32fast::Hasher,
    filled: u64,
}

impl Encoder {
    /// Creates an encoder. `key` encrypts, `level` compresses; without both, bytes are stored unchanged.
    pub fn new(chunk: u64, level: Option<i32>, key: Option<&StoreKey>) -> Result<Self> {
        let sealing = match key {
            Some(key) => {
                let mut salt = [0; SALT];
                fill_random(&mut salt)?;
                Some((EncryptionParameters { key: key.id(), salt }, Cipher::new(key, &salt)?))
            }
            None => None,
        };
        let compressor = level.map(zstd::bulk::Compressor::new).transpose();
        let compressor =
            compressor.map_err(|e| Error::invalid("this compression level is not supported").with_source(e))?;
        Ok(Self {
            chunk,
            level,
            sealing,
            compressor,
            frames: Vec::new(),
            stored: 0,
            chunks_to_skip: 0,
            pending: Vec::new(),
            sum: crc32fast::Hasher::new(),
            filled: 0,
        })
    }

    /// Returns whether frames may differ in length from their chunks.
    pub fn is_framed(&self) -> bool {
        self.level.is_some() || self.sealing.is_some()
    }

    /// Takes the next bytes and appends the bytes that are ready to be stored to `out`.
    pub fn push(&mut self, bytes: &Bytes, out: &mut Vec<Bytes>) -> Result<()> {
        let framed = self.is_framed();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min((self.chunk - self.filled) as usize));
            match framed {
                true => self.pending.extend_from_slice(now),
                false => self.sum.update(now),
            }
            self.filled += now.len() as u64;
            rest = later;
            if self.filled == self.chunk {
                out.extend(self.end_chunk()?);
            }
        }
        if !framed {
            self.stored += bytes.len() as u64;
            out.push(bytes.clone());
        }
        Ok(())
    }

    /// Ends the last chunk and returns the table.
    pub fn finish(mut self, out: &mut Vec<Bytes>) -> Result<Encoded> {
        if self.filled > 0 {
            out.extend(self.end_chunk()?);
        }
        let framed = self.is_framed();
        let sealing = self.sealing.map(|(sealing, _)| sealing);
        Ok(Encoded { chunk: self.chunk, stored: self.stored, framed, frames: self.frames, sealing })
    }

    fn end_chunk(&mut self) -> Result<Option<Bytes>> {
        let filled = std::mem::take(&mut self.filled);
        if !self.is_framed() {
            let sum = std::mem::take(&mut self.sum).finalize();
            self.frames.push(Frame { checksum: sum, length: filled as u32, compressed: false });
            return Ok(None);
        }
        let plain = std::mem::take(&mut self.pending);
        let (mut bytes, compressed) = match self.compress(&plain)? {
            Some(smaller) => (smaller, true),
            None => (plain, false),
        };
        if let Some((_, cipher)) = &self.sealing {
            let number = self.frames.len() as u64;
            let sealed = cipher.0.seal_in_place_append_tag(
                Cipher::nonce(number),
                Cipher::additional_data(number, compressed),
                &mut bytes,
            );
            sealed.map_err(|_| Error::invalid("a frame is too long to be encrypted"))?;
        }
        self.frames.push(Frame { checksum: crc32fast::hash(&bytes), length: bytes.len() as u32, compressed });
        self.stored += bytes.len() as u64;
        self.pending.reserve_exact(self.chunk as usize);
        Ok(Some(Bytes::from(bytes)))
    }

    /// Compresses a chunk; `None` when it does not shrink enough or compression is not tried.
    fn compress(&mut self, plain: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(compressor) = &mut self.compressor else { return Ok(None) };
        if self.chunks_to_skip > 0 {
            self.chunks_to_skip -= 1;
            return Ok(None);
        }
        let smaller = compressor.compress(plain);
        let smaller = smaller.map_err(|e| Error::unavailable("a chunk cannot be compressed").with_source(e))?;
        if smaller.len() + smaller.len() / 15 < plain.len() {
            return Ok(Some(smaller));
        }
        self.chunks_to_skip = INCOMPRESSIBLE_SKIP;
        Ok(None)
    }
}

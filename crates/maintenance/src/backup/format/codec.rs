//! Encoding of plain bytes for storage, and decoding: unchanged, compressed where that saves enough, or encrypted.
//! Memory use is bounded.
//!
//! Compressed bytes are a sequence of zstd frames, which `zstd -d` can read. Encrypted ("sealed") bytes are a header
//! followed by AES-256-GCM frames. `docs/formats/backup.md` specifies both byte by byte.

use std::cell::RefCell;

use bytes::{Buf, Bytes, BytesMut};
use model::{Code, Error, Result};
use ring::aead::{Aad, LessSafeKey, Nonce};
use zstd::stream::raw::{InBuffer, Operation, OutBuffer};

use super::key::{Key, random};

/// Plain bytes per frame.
pub(crate) const FRAME: usize = 1 << 20;
const LEVEL: i32 = 1;
/// Size of the sample that is compressed as a trial, and the fraction that compression must save.
const SAMPLE: usize = 8 << 10;
const MINIMUM_SAVING: f64 = 0.1;
const MAGIC: &[u8; 8] = b"SRsealed";
const HEADER: usize = 48;
/// Flag bits of a sealed frame.
const COMPRESSED: u8 = 1;
const LAST: u8 = 2;
const TAG: usize = 16;

/// Encoding of stored bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Codec {
    Plain,
    Zstd,
    Sealed,
}

impl Codec {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Zstd => "zstd",
            Self::Sealed => "sealed",
        }
    }

    pub fn from_str(text: &str) -> Option<Self> {
        [Self::Plain, Self::Zstd, Self::Sealed].into_iter().find(|codec| codec.as_str() == text)
    }

    pub const fn number(self) -> u8 {
        self as u8
    }

    pub fn from_number(number: u8) -> Option<Self> {
        [Self::Plain, Self::Zstd, Self::Sealed].into_iter().find(|codec| codec.number() == number)
    }
}

thread_local! {
    /// One compressor per thread, reused: creating one takes longer than compressing a sample.
    static COMPRESSOR: RefCell<Option<zstd::bulk::Compressor<'static>>> = const { RefCell::new(None) };
}

fn compress(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let mut compressor = match kept.take() {
            Some(compressor) => compressor,
            None => zstd::bulk::Compressor::new(LEVEL)?,
        };
        let packed = compressor.compress(bytes);
        *kept = Some(compressor);
        packed
    })
}

/// Returns whether the bytes are worth compressing. The sample is taken from the middle, because the beginning is often
/// a header that is unlike the rest.
pub(crate) fn is_worth_compressing(bytes: &[u8]) -> bool {
    let middle = bytes.len().saturating_sub(SAMPLE) / 2;
    let sample = &bytes[middle..bytes.len().min(middle + SAMPLE)];
    let limit = (sample.len() as f64 * (1.0 - MINIMUM_SAVING)) as usize;
    sample.len() >= 256 && compress(sample).is_ok_and(|packed| packed.len() < limit)
}

/// Encodes plain bytes for storage, frame by frame.
pub(crate) struct Encoder {
    compresses: bool,
    seal: Option<Seal>,
}

struct Seal {
    key: LessSafeKey,
    header: Option<[u8; HEADER]>,
    frames: u64,
}

impl Encoder {
    /// Creates an encoder for bytes that begin with `sample`. With a key the bytes are encrypted; `context` names the
    /// encrypted content and is part of the key derivation.
    pub fn new(sample: &[u8], key: Option<&Key>, context: &[u8]) -> Result<Self> {
        let seal = match key {
            Some(key) => {
                let salt = random::<32>()?;
                let mut header = [0; HEADER];
                header[..8].copy_from_slice(MAGIC);
                header[8..12].copy_from_slice(&1_u32.to_le_bytes());
                header[12..16].copy_from_slice(&(FRAME as u32).to_le_bytes());
                header[16..].copy_from_slice(&salt);
                Some(Seal { key: key.for_context(&salt, context)?, header: Some(header), frames: 0 })
            }
            None => None,
        };
        Ok(Self { compresses: is_worth_compressing(sample), seal })
    }

    pub fn codec(&self) -> Codec {
        match (&self.seal, self.compresses) {
            (Some(_), _) => Codec::Sealed,
            (None, true) => Codec::Zstd,
            (None, false) => Codec::Plain,
        }
    }

    /// Encodes the next frame. A frame has exactly [`FRAME`] plain bytes; only the last one may be shorter. There is
    /// always a last frame, even an empty one, and the caller must flag it.
    pub fn frame(&mut self, plain: Bytes, is_last: bool) -> Result<Bytes> {
        let packed = if self.compresses {
            Bytes::from(compress(&plain).map_err(|e| Error::unavailable(format!("compressing failed: {e}")))?)
        } else {
            plain
        };
        let Some(seal) = &mut self.seal else { return Ok(packed) };
        let flags = if self.compresses { COMPRESSED } else { 0 } | if is_last { LAST } else { 0 };
        let header = seal.header.take();
        let mut out = Vec::with_capacity(HEADER + 5 + packed.len() + TAG);
        out.extend_from_slice(header.as_ref().map_or(&[][..], |header| &header[..]));
        out.push(flags);
        out.extend_from_slice(&((packed.len() + TAG) as u32).to_le_bytes());
        let start = out.len();
        out.extend_from_slice(&packed);
        let sealed = seal.key.seal_in_place_separate_tag(nonce(seal.frames), Aad::from([flags]), &mut out[start..]);
        out.extend_from_slice(sealed.map_err(|_| Error::unavailable("encrypting failed"))?.as_ref());
        seal.frames += 1;
        Ok(Bytes::from(out))
    }
}

/// The nonce is the frame number. Each key encrypts one stream only, so no nonce is ever reused.
fn nonce(frame: u64) -> Nonce {
    let mut bytes = [0; 12];
    bytes[4..].copy_from_slice(&frame.to_be_bytes());
    Nonce::assume_unique_for_key(bytes)
}

/// Decodes stored bytes. The caller feeds bytes, then takes plain pieces until there are none, then feeds again.
pub(crate) enum Decoder {
    Plain(Bytes),
    Zstd { raw: zstd::stream::raw::Decoder<'static>, input: Bytes, open: bool },
    Sealed { key: Key, context: Vec<u8>, opener: Option<Box<LessSafeKey>>, input: BytesMut, frames: u64, ended: bool },
}

impl Decoder {
    /// # Errors
    /// `Invalid` when the bytes are encrypted and there is no key.
    pub fn new(codec: Codec, key: Option<&Key>, context: &[u8]) -> Result<Self> {
        Ok(match codec {
            Codec::Plain => Self::Plain(Bytes::new()),
            Codec::Zstd => {
                let raw = zstd::stream::raw::Decoder::new().map_err(|e| Error::unavailable(e.to_string()))?;
                Self::Zstd { raw, input: Bytes::new(), open: false }
            }
            Codec::Sealed => {
                let key = key.ok_or_else(needs_key)?.clone();
                let (context, input) = (context.to_vec(), BytesMut::new());
                Self::Sealed { key, context, opener: None, input, frames: 0, ended: false }
            }
        })
    }

    /// Feeds the next stored bytes. All output of the previous ones must have been taken.
    pub fn feed(&mut self, bytes: Bytes) {
        match self {
            Self::Plain(input) | Self::Zstd { input, .. } => *input = bytes,
            Self::Sealed { input, .. } => input.extend_from_slice(&bytes),
        }
    }

    /// Returns the next plain bytes, at most [`FRAME`], or none when the decoder needs more input.
    pub fn next(&mut self) -> Result<Option<Bytes>> {
        match self {
            Self::Plain(input) => Ok(Some(std::mem::take(input)).filter(|bytes| !bytes.is_empty())),
            Self::Zstd { raw, input, open } => unpack(raw, input, open),
            Self::Sealed { key, context, opener, input, frames, ended } => {
                if opener.is_none() {
                    let Some(header) = input.get(..HEADER) else { return Ok(None) };
                    *opener = Some(Box::new(open(key, header, context)?));
                    input.advance(HEADER);
                }
                let Some(opener) = opener else { return Ok(None) };
                unseal(opener, input, frames, ended)
            }
        }
    }

    /// Returns whether the input may end after the bytes fed so far.
    pub fn is_complete(&self) -> bool {
        match self {
            Self::Plain(input) => input.is_empty(),
            Self::Zstd { input, open, .. } => input.is_empty() && !open,
            Self::Sealed { input, ended, .. } => *ended && input.is_empty(),
        }
    }
}

fn unpack(raw: &mut zstd::stream::raw::Decoder<'static>, input: &mut Bytes, open: &mut bool) -> Result<Option<Bytes>> {
    let mut piece = vec![0; FRAME];
    let mut filled = 0;
    while filled < piece.len() && (*open || !input.is_empty()) {
        let mut from = InBuffer::around(input);
        let mut to = OutBuffer::around(&mut piece[filled..]);
        let hint =
            raw.run(&mut from, &mut to).map_err(|e| Error::corrupt(format!("compressed bytes are damaged: {e}")))?;
        let (read, written) = (from.pos(), to.pos());
        input.advance(read);
        filled += written;
        *open = hint != 0;
        if !*open {
            raw.reinit().map_err(|e| Error::unavailable(e.to_string()))?;
        }
        if read == 0 && written == 0 {
            break;
        }
    }
    piece.truncate(filled);
    Ok((filled > 0).then(|| Bytes::from(piece)))
}

fn open(key: &Key, header: &[u8], context: &[u8]) -> Result<LessSafeKey> {
    let salt: Option<[u8; 32]> = header.get(16..).and_then(|salt| salt.try_into().ok());
    let known = header.starts_with(MAGIC) && header.get(8..12) == Some(&1_u32.to_le_bytes()[..]);
    let salt = salt.filter(|_| known).ok_or_else(damaged)?;
    key.for_context(&salt, context)
}

fn unseal(opener: &LessSafeKey, input: &mut BytesMut, frames: &mut u64, ended: &mut bool) -> Result<Option<Bytes>> {
    let Some(head) = input.get(..5) else { return Ok(None) };
    let flags = head[0];
    let length = u32::from_le_bytes([head[1], head[2], head[3], head[4]]) as usize;
    if *ended || !(TAG..=FRAME + FRAME / 8 + TAG).contains(&length) {
        return Err(damaged());
    }
    if input.len() < 5 + length {
        return Ok(None);
    }
    input.advance(5);
    let mut frame = input.split_to(length);
    let plain = opener.open_in_place(nonce(*frames), Aad::from([flags]), &mut frame).map_err(|_| damaged())?.len();
    frame.truncate(plain);
    *frames += 1;
    *ended = flags & LAST != 0;
    if flags & COMPRESSED == 0 {
        // The caller would take an empty piece for more output to come.
        return if frame.is_empty() { Ok(None) } else { Ok(Some(frame.freeze())) };
    }
    let unpacked = zstd::bulk::decompress(&frame, FRAME).map_err(|_| damaged())?;
    Ok(Some(Bytes::from(unpacked)))
}

fn damaged() -> Error {
    Error::corrupt("encrypted bytes are damaged, or belong to another object")
}

pub(crate) fn needs_key() -> Error {
    Error::invalid(
        "this backup is encrypted: name the file with its key or passphrase with --encrypt-with, or in the environment \
         variable STRONGROOM_BACKUP_KEY_FILE",
    )
    .with_code(Code::KeyNeeded)
}

/// Encodes bytes held in memory.
pub(crate) fn encode(bytes: &Bytes, key: Option<&Key>, context: &[u8]) -> Result<(Codec, Bytes)> {
    let mut encoder = Encoder::new(bytes, key, context)?;
    if encoder.codec() == Codec::Plain {
        return Ok((Codec::Plain, bytes.clone()));
    }
    if bytes.len() <= FRAME {
        return Ok((encoder.codec(), encoder.frame(bytes.clone(), true)?));
    }
    let mut out = BytesMut::with_capacity(bytes.len());
    let frames = bytes.len().div_ceil(FRAME);
    for number in 0..frames {
        let end = bytes.len().min((number + 1) * FRAME);
        out.extend_from_slice(&encoder.frame(bytes.slice(number * FRAME..end), number + 1 == frames)?);
    }
    Ok((encoder.codec(), out.freeze()))
}

/// Decodes bytes held in memory. Output beyond `limit` bytes is refused.
pub(crate) fn decode(codec: Codec, stored: Bytes, key: Option<&Key>, context: &[u8], limit: usize) -> Result<Bytes> {
    let mut decoder = Decoder::new(codec, key, context)?;
    decoder.feed(stored);
    let mut out = BytesMut::new();
    while let Some(piece) = decoder.next()? {
        out.extend_from_slice(&piece);
        if out.len() > limit {
            return Err(Error::corrupt("an object in the backup decodes to more bytes than its limit"));
        }
    }
    if !decoder.is_complete() {
        return Err(Error::corrupt("an object in the backup is truncated"));
    }
    Ok(out.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(word: &str) -> Key {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), word).unwrap();
        Key::create(file.path()).unwrap().0
    }

    fn text(length: usize) -> Bytes {
        (0..length).map(|i| b"strongroom"[i % 10]).collect::<Vec<u8>>().into()
    }

    fn noise(length: usize) -> Bytes {
        let mut state = 1_u64;
        let next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        std::iter::repeat_with(next).take(length).collect::<Vec<u8>>().into()
    }

    #[test]
    fn what_is_encoded_comes_back_whatever_its_size_and_pieces() {
        let key = key("a key for tests");
        for size in [0, 1, 1000, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME + 17] {
            for plain in [text(size), noise(size)] {
                for key in [None, Some(&key)] {
                    let (codec, stored) = encode(&plain, key, b"here").unwrap();
                    let mut decoder = Decoder::new(codec, key, b"here").unwrap();
                    let mut out = Vec::new();
                    for piece in stored.chunks(70_001) {
                        decoder.feed(Bytes::copy_from_slice(piece));
                        while let Some(piece) = decoder.next().unwrap() {
                            out.extend_from_slice(&piece);
                        }
                    }
                    assert!(decoder.is_complete(), "{size}");
                    assert_eq!(out, plain, "{size}");
                }
            }
        }
    }

    #[test]
    fn only_what_shrinks_is_compressed() {
        assert_eq!(encode(&text(100_000), None, b"").unwrap().0, Codec::Zstd);
        assert_eq!(encode(&noise(100_000), None, b"").unwrap().0, Codec::Plain);
        assert!(encode(&text(3 << 20), None, b"").unwrap().1.len() < 10_000);
    }

    #[test]
    fn sealed_bytes_open_only_with_their_key_and_in_their_place_and_as_a_whole() {
        let (ours, other) = (key("a key for tests"), key("another key"));
        let plain = noise(2 * FRAME + 5);
        let (codec, stored) = encode(&plain, Some(&ours), b"here").unwrap();
        let open = |bytes: Bytes, key, context: &[u8]| decode(codec, bytes, Some(key), context, 3 * FRAME);
        assert_eq!(open(stored.clone(), &ours, b"here").unwrap(), plain);
        assert!(open(stored.clone(), &other, b"here").is_err());
        assert!(open(stored.clone(), &ours, b"there").is_err());
        let frame = HEADER + 5 + FRAME + TAG;
        for end in [0, HEADER, frame, stored.len() - 1] {
            assert!(open(stored.slice(..end), &ours, b"here").is_err(), "cut at {end}");
        }
        let mut swapped = stored[..HEADER].to_vec();
        swapped.extend_from_slice(&stored[frame..frame + 5 + FRAME + TAG]);
        swapped.extend_from_slice(&stored[HEADER..frame]);
        swapped.extend_from_slice(&stored[frame + 5 + FRAME + TAG..]);
        assert!(open(swapped.into(), &ours, b"here").is_err());
        for at in (0..stored.len()).step_by(99_991).chain([HEADER, HEADER + 1]) {
            let mut flipped = stored.to_vec();
            flipped[at] ^= 4;
            assert!(open(flipped.into(), &ours, b"here").is_err(), "flipped at {at}");
        }
    }

    #[test]
    fn the_same_bytes_are_sealed_differently_each_time() {
        let key = key("a key for tests");
        let seal = || encode(&text(100), Some(&key), b"here").unwrap().1;
        assert_ne!(seal(), seal());
    }
}

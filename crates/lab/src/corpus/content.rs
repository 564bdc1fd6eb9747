//! The bytes of documents: generated from number and version when sent, and compared when received. No document is
//! stored. All documents share two pools of bytes. Each block begins with a unique stamp, so that no two documents have
//! a block in common.

use std::sync::LazyLock;

use bytes::{Bytes, BytesMut};

use super::document::ContentKind;
use super::hash::mix;

/// Bytes of a block: a stamp, followed by bytes from a pool.
const BLOCK: usize = 64 * 1024;
/// Bytes of a stamp.
const STAMP: usize = 32;
/// Bytes of the head, which identifies the document and version.
const HEAD: usize = 64;
/// Offset of the head in an Office-like document: after the local header of the first zip entry.
const HEAD_IN_ZIP: usize = 30 + "docProps/lab.txt".len();

const MEDIA_POOL: usize = 4 << 20;
const TEXT_POOL: usize = 2 << 20;

static MEDIA: LazyLock<Bytes> = LazyLock::new(|| {
    let mut random = fastrand::Rng::with_seed(0x5eed);
    let mut pool = vec![0; MEDIA_POOL];
    random.fill(&mut pool);
    Bytes::from(pool)
});

static TEXT: LazyLock<Bytes> = LazyLock::new(|| {
    const SYLLABLES: &[&str] = &[
        "con", "tract", "de", "li", "ver", "y", "pro", "ject", "sur", "face", "re", "port", "in", "voice", "mar",
        "gin", "sta", "tion", "al", "ter", "na", "tive", "per", "mit", "and", "the", "of",
    ];
    let mut random = fastrand::Rng::with_seed(0x7e47);
    let words: Vec<String> = (0..3000)
        .map(|_| (0..random.usize(1..4)).map(|_| SYLLABLES[random.usize(0..SYLLABLES.len())]).collect())
        .collect();
    let mut pool = String::with_capacity(TEXT_POOL + 16);
    while pool.len() < TEXT_POOL {
        // Word frequencies are skewed, as in any natural language.
        let at = (random.f64().powi(3) * words.len() as f64) as usize;
        pool.push_str(&words[at.min(words.len() - 1)]);
        pool.push(if random.u8(0..14) == 0 { '\n' } else { ' ' });
    }
    pool.truncate(TEXT_POOL);
    Bytes::from(pool)
});

/// The bytes of one version of a document, as an iterator of chunks that are generated on demand.
#[derive(Clone, Debug)]
pub struct Content {
    before: Bytes,
    blocks: Blocks,
    after: Bytes,
    length: u64,
}

#[derive(Clone, Debug)]
struct Blocks {
    identity: u64,
    kind: ContentKind,
    block: u64,
    /// Bytes still to be generated.
    left: u64,
    stamp_next: bool,
}

impl Content {
    /// Creates the content of a version of a document.
    pub fn new(seed: u64, number: u64, version: u32, length: u64, kind: ContentKind) -> Self {
        let identity = mix(mix(seed, number), u64::from(version));
        let head = head(seed, number, version);
        let blocks = |left| Blocks { identity, kind, block: 0, left, stamp_next: true };
        if kind != ContentKind::Office {
            let before = Bytes::from(head.into_bytes());
            let left = length.saturating_sub(before.len() as u64);
            return Self { before, blocks: blocks(left), after: Bytes::new(), length };
        }
        let frame = zip::Frame::new(&head);
        let inside = length.saturating_sub(frame.overhead());
        let mut sum = crc32fast::Hasher::new();
        blocks(inside).for_each(|piece| sum.update(&piece));
        let (before, after) = frame.close(inside, sum.finalize());
        Self { before, blocks: blocks(inside), after, length }
    }

    /// Returns the whole words of the first block of a text, in order.
    pub(super) fn words(mut self) -> Vec<String> {
        // A head and a stamp come first.
        let piece = self.nth(2).unwrap_or_default();
        let text = String::from_utf8_lossy(&piece);
        let words: Vec<&str> = text.split_whitespace().collect();
        // The first and the last one may be cut.
        words.get(1..words.len().saturating_sub(1)).unwrap_or_default().iter().map(|word| (*word).to_owned()).collect()
    }

    /// Total number of bytes.
    pub fn length(&self) -> u64 {
        self.length
    }
}

impl Iterator for Content {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if !self.before.is_empty() {
            return Some(std::mem::take(&mut self.before));
        }
        if let Some(piece) = self.blocks.next() {
            return Some(piece);
        }
        if self.after.is_empty() { None } else { Some(std::mem::take(&mut self.after)) }
    }
}

impl Iterator for Blocks {
    type Item = Bytes;

    fn next(&mut self) -> Option<Bytes> {
        if self.left == 0 {
            return None;
        }
        let piece = if self.stamp_next {
            Bytes::from(format!("\n{:016x} {:012x}\n ", self.identity, self.block & 0xffff_ffff_ffff))
        } else {
            let pool: &Bytes = if self.kind == ContentKind::Text { &TEXT } else { &MEDIA };
            let most = BLOCK - STAMP;
            let at = (mix(self.identity, self.block) % (pool.len() - most) as u64) as usize;
            self.block += 1;
            pool.slice(at..at + most)
        };
        self.stamp_next = !self.stamp_next;
        let length = (piece.len() as u64).min(self.left);
        self.left -= length;
        // `length` does not exceed the length of the piece.
        Some(piece.slice(..length as usize))
    }
}

fn head(seed: u64, number: u64, version: u32) -> String {
    let identity = identity(seed, number);
    format!("lab1 {identity} {version:08x}{:>width$}\n", "", width = HEAD - 4 - 17 - 17 - 9 - 1)
}

/// Returns the words in the head of a document that name it, whatever its version.
pub(super) fn identity(seed: u64, number: u64) -> String {
    format!("{seed:016x} {number:016x}")
}

/// Compares a response body with the expected content of whichever version its head names.
pub struct Verifier {
    seed: u64,
    number: u64,
    length: u64,
    kind: ContentKind,
    begun: BytesMut,
    expected: Option<Content>,
    piece: Bytes,
    seen: u64,
}

impl Verifier {
    pub(super) fn new(seed: u64, number: u64, length: u64, kind: ContentKind) -> Self {
        let (begun, piece) = (BytesMut::new(), Bytes::new());
        Self { seed, number, length, kind, begun, expected: None, piece, seen: 0 }
    }

    /// Checks the next bytes of the response body.
    ///
    /// # Errors
    /// The first difference from the expected content.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), String> {
        if self.expected.is_some() {
            return self.compare(bytes);
        }
        let begins = if self.kind == ContentKind::Office { HEAD_IN_ZIP } else { 0 };
        // The head is nearly always complete in the first chunk.
        if self.begun.is_empty() && bytes.len() >= begins + HEAD {
            self.expect(bytes, begins)?;
            return self.compare(bytes);
        }
        self.begun.extend_from_slice(bytes);
        if self.begun.len() < begins + HEAD {
            return Ok(());
        }
        let begun = std::mem::take(&mut self.begun);
        self.expect(&begun, begins)?;
        self.compare(&begun)
    }

    /// Reads the version from the head, which starts at offset `begins`, and sets the expected content.
    fn expect(&mut self, came: &[u8], begins: usize) -> Result<(), String> {
        let head = &came[begins..begins + HEAD];
        let version = std::str::from_utf8(head).ok().filter(|head| head.starts_with("lab1 ")).and_then(|head| {
            let mut words = head.split_whitespace().skip(2);
            let number = u64::from_str_radix(words.next()?, 16).ok()?;
            let version = u32::from_str_radix(words.next()?, 16).ok()?;
            (number == self.number).then_some(version)
        });
        let Some(version) = version else {
            let shown: String = String::from_utf8_lossy(came).chars().take(60).collect();
            return Err(format!("the response is not the requested document; it begins with {shown:?}"));
        };
        self.expected = Some(Content::new(self.seed, self.number, version, self.length, self.kind));
        Ok(())
    }

    /// Checks that the whole document has been received.
    ///
    /// # Errors
    /// The number of bytes received and the number expected.
    pub fn end(&self) -> Result<(), String> {
        let seen = self.seen + self.begun.len() as u64;
        if seen == self.length {
            return Ok(());
        }
        Err(format!("{seen} of {} bytes arrived", self.length))
    }

    fn compare(&mut self, mut bytes: &[u8]) -> Result<(), String> {
        while !bytes.is_empty() {
            if self.piece.is_empty() {
                let next = self.expected.as_mut().and_then(Iterator::next);
                self.piece = next.ok_or_else(|| format!("more than {} bytes arrived", self.length))?;
            }
            let length = bytes.len().min(self.piece.len());
            let expected = self.piece.split_to(length);
            if bytes[..length] != expected[..] {
                return Err(format!(
                    "bytes {} to {} differ from those of the document",
                    self.seen,
                    self.seen + length as u64
                ));
            }
            self.seen += length as u64;
            bytes = &bytes[length..];
        }
        Ok(())
    }
}

/// Minimal zip container that office programs accept. It has two stored entries: a note that identifies the document,
/// and the body.
mod zip {
    use bytes::Bytes;

    const NOTE: &str = "docProps/lab.txt";
    const BODY: &str = "word/media/body1.bin";
    /// Sizes of the fixed parts of a zip file: local header, central directory entry, end of central directory.
    const LOCAL: usize = 30;
    const ENTRY: usize = 46;
    const END: usize = 22;

    pub struct Frame<'a> {
        note: &'a str,
    }

    impl<'a> Frame<'a> {
        pub fn new(note: &'a str) -> Self {
            Self { note }
        }

        /// Bytes of the container without the body.
        pub fn overhead(&self) -> u64 {
            (self.note.len() + 2 * (LOCAL + ENTRY) + 2 * (NOTE.len() + BODY.len()) + END) as u64
        }

        /// Returns the bytes before and after a body of the given length and checksum.
        pub fn close(&self, length: u64, sum: u32) -> (Bytes, Bytes) {
            // Bodies are far smaller than 4 GB.
            let length = length as u32;
            let note = (self.note.len() as u32, crc32fast::hash(self.note.as_bytes()));
            let mut before = Vec::with_capacity(256);
            local(&mut before, NOTE, note);
            before.extend_from_slice(self.note.as_bytes());
            let second = before.len() as u32;
            local(&mut before, BODY, (length, sum));
            let directory = before.len() as u32 + length;
            let mut after = Vec::with_capacity(256);
            entry(&mut after, NOTE, note, 0);
            entry(&mut after, BODY, (length, sum), second);
            let size = after.len() as u32;
            after.extend_from_slice(b"PK\x05\x06\0\0\0\0\x02\0\x02\0");
            after.extend_from_slice(&size.to_le_bytes());
            after.extend_from_slice(&directory.to_le_bytes());
            after.extend_from_slice(&[0, 0]);
            (before.into(), after.into())
        }
    }

    fn fields(out: &mut Vec<u8>, name: &str, (length, sum): (u32, u32)) {
        // Version 1.0 needed, stored, dated 1 January 2020.
        out.extend_from_slice(&[10, 0, 0, 0, 0, 0, 0, 0, 0x21, 0x50]);
        for number in [sum, length, length] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        out.extend_from_slice(&(name.len() as u16).to_le_bytes());
        out.extend_from_slice(&[0, 0]);
    }

    fn local(out: &mut Vec<u8>, name: &str, of: (u32, u32)) {
        out.extend_from_slice(b"PK\x03\x04");
        fields(out, name, of);
        out.extend_from_slice(name.as_bytes());
    }

    fn entry(out: &mut Vec<u8>, name: &str, of: (u32, u32), at: u32) {
        out.extend_from_slice(b"PK\x01\x02\x14\0");
        fields(out, name, of);
        out.extend_from_slice(&[0; 10]);
        out.extend_from_slice(&at.to_le_bytes());
        out.extend_from_slice(name.as_bytes());
    }
}

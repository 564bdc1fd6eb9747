//! The beginning of a text that the index keeps as it is, for passages: compressed in parts, so that the search for a
//! passage reads only as far as it has to.
//!
//! Stored form: for each part its compressed length in 4 bytes, little-endian, then a Zstandard frame.

use std::ops::Range;

use model::{Error, Result};
use zstd::bulk::{Compressor, Decompressor};

use crate::language::words::next_word;

/// Limit on the bytes of a text that are kept.
const KEPT: usize = 256 << 10;
/// Limit on the bytes of a part.
const PART: usize = 32 << 10;
/// Compression level.
const LEVEL: i32 = 3;

/// Compresses texts.
pub(super) struct TextPacker(Compressor<'static>);

impl TextPacker {
    pub(super) fn new() -> Result<Self> {
        let packer = Compressor::new(LEVEL);
        Ok(Self(packer.map_err(|error| Error::unavailable("texts cannot be compressed").with_source(error))?))
    }

    /// Returns the stored form of the beginning of a text.
    ///
    /// # Errors
    /// `Unavailable` if there is no memory for it.
    pub(super) fn pack(&mut self, text: &str) -> Result<Vec<u8>> {
        let mut left = &text[..text.floor_char_boundary(KEPT)];
        let mut packed = Vec::with_capacity(left.len() / 2);
        while !left.is_empty() {
            let (part, rest) = left.split_at(left.floor_char_boundary(PART));
            let frame = self.0.compress(part.as_bytes());
            let frame = frame.map_err(|error| Error::unavailable("a text cannot be compressed").with_source(error))?;
            packed.extend((frame.len() as u32).to_le_bytes());
            packed.extend(frame);
            left = rest;
        }
        Ok(packed)
    }
}

/// Reads kept texts, one after the other, with memory that they share.
pub(super) struct TextReader {
    decompressor: Decompressor<'static>,
    text: String,
    part: Vec<u8>,
}

impl TextReader {
    pub(super) fn new() -> Result<Self> {
        let decompressor = Decompressor::new();
        let decompressor =
            decompressor.map_err(|error| Error::unavailable("texts cannot be decompressed").with_source(error))?;
        Ok(Self { decompressor, text: String::new(), part: Vec::with_capacity(PART) })
    }

    /// Begins to read a text in its stored form.
    pub(super) fn open<'a>(&'a mut self, packed: &'a [u8]) -> KeptText<'a> {
        self.text.clear();
        KeptText { reader: self, left: packed, at: 0 }
    }
}

/// A kept text, of which the first parts have been read.
pub(super) struct KeptText<'a> {
    reader: &'a mut TextReader,
    /// The parts that have not been read.
    left: &'a [u8],
    /// Position after the last word.
    at: usize,
}

impl KeptText<'_> {
    /// The text as far as it has been read.
    pub(super) fn text(&self) -> &str {
        &self.reader.text
    }

    /// Returns whether the whole kept text has been read.
    pub(super) fn is_complete(&self) -> bool {
        self.left.is_empty()
    }

    /// Returns where the next word is; `None` after the last one. Reads further parts as needed.
    ///
    /// # Errors
    /// `Corrupt` if a part is damaged.
    pub(super) fn next_span(&mut self) -> Result<Option<Range<usize>>> {
        loop {
            let found = next_word(&self.reader.text, self.at);
            match found {
                // A word at the end may go on in the next part.
                Some(word) if word.end < self.reader.text.len() || self.is_complete() => {
                    self.at = word.end;
                    return Ok(Some(word));
                }
                None if self.is_complete() => return Ok(None),
                None => {
                    // What separates words is passed over once.
                    self.at = self.reader.text.len();
                    self.read_part()?;
                }
                Some(word) => {
                    self.at = word.start;
                    self.read_part()?;
                }
            }
        }
    }

    /// Reads parts until at least `end` bytes of text are available, or the text ends.
    ///
    /// # Errors
    /// `Corrupt` if a part is damaged.
    pub(super) fn read_until(&mut self, end: usize) -> Result<()> {
        while self.reader.text.len() < end && !self.is_complete() {
            self.read_part()?;
        }
        Ok(())
    }

    fn read_part(&mut self) -> Result<()> {
        let damaged = || Error::corrupt("a text in the search index is damaged");
        let (length, left) = self.left.split_first_chunk().ok_or_else(damaged)?;
        let length = u32::from_le_bytes(*length) as usize;
        let (frame, left) = left.split_at_checked(length).ok_or_else(damaged)?;
        self.left = left;
        let TextReader { decompressor, text, part } = &mut *self.reader;
        part.clear();
        decompressor.decompress_to_buffer(frame, part).map_err(|error| damaged().with_source(error))?;
        // Only the last part is shorter, by a part of a character at most. So there are few parts.
        let is_usual = if left.is_empty() { !part.is_empty() } else { part.len() + 3 >= PART };
        if !is_usual || text.len() + part.len() > KEPT {
            return Err(damaged());
        }
        text.push_str(std::str::from_utf8(part).map_err(|error| damaged().with_source(error))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::ErrorKind;

    use super::*;
    use crate::language::words::Words;

    fn pack(text: &str) -> Vec<u8> {
        TextPacker::new().unwrap().pack(text).unwrap()
    }

    fn spans(packed: &[u8]) -> Result<Vec<Range<usize>>> {
        let mut reader = TextReader::new().unwrap();
        let mut kept = reader.open(packed);
        let mut spans = Vec::new();
        while let Some(span) = kept.next_span()? {
            spans.push(span);
        }
        Ok(spans)
    }

    #[test]
    fn words_are_those_of_the_whole_text() {
        let umlauts = format!("a{}", "ä".repeat(PART));
        let mixed: String = (0..PART).map(|number| format!("wörter{number} 東京 ")).collect();
        for text in ["", "one", "one, two ", &umlauts, &mixed, &" ".repeat(3 * PART), &"x".repeat(3 * PART)] {
            let packed = pack(text);
            let kept = &text[..text.floor_char_boundary(KEPT)];
            let words: Vec<Range<usize>> = Words::of(kept).map(|word| word.start..word.end).collect();
            assert_eq!(spans(&packed).unwrap(), words, "{:.20}", text);
            let mut reader = TextReader::new().unwrap();
            let mut opened = reader.open(&packed);
            opened.read_until(usize::MAX).unwrap();
            assert_eq!((opened.text() == kept, opened.is_complete()), (true, true), "{text:.20}");
        }
    }

    #[test]
    fn only_the_parts_that_are_needed_are_read() {
        let packed = pack(&"word ".repeat(PART));
        let mut reader = TextReader::new().unwrap();
        let mut kept = reader.open(&packed);
        assert_eq!((kept.next_span().unwrap(), kept.text().len(), kept.is_complete()), (Some(0..4), PART, false));
        kept.read_until(PART + 1).unwrap();
        assert_eq!((kept.text().len(), kept.is_complete()), (2 * PART, false));
    }

    #[test]
    fn a_damaged_text_is_an_error() {
        let packed = pack(&"word ".repeat(PART));
        for damaged in [&packed[..3], &packed[..packed.len() - 1], &[&packed[..8], &[0; 20]].concat(), &[255; 9]] {
            assert_eq!(spans(damaged).unwrap_err().kind(), ErrorKind::Corrupt);
        }
    }

    #[test]
    fn no_more_is_read_than_is_kept() {
        let part = |text: &[u8]| {
            let frame = zstd::bulk::compress(text, LEVEL).unwrap();
            [&(frame.len() as u32).to_le_bytes()[..], &frame].concat()
        };
        let full = part(&vec![b'x'; PART]);
        let read = |packed: &[u8]| {
            let mut reader = TextReader::new().unwrap();
            let mut kept = reader.open(packed);
            let read = kept.read_until(usize::MAX).map_err(|error| error.kind());
            (read, kept.text().len())
        };
        assert_eq!(read(&full.repeat(KEPT / PART)), (Ok(()), KEPT));
        assert_eq!(read(&full.repeat(1_000)), (Err(ErrorKind::Corrupt), KEPT));
        assert_eq!(spans(&full.repeat(1_000)).unwrap_err().kind(), ErrorKind::Corrupt);
        // A part that is larger than a part, many small ones, and empty ones.
        assert_eq!(read(&part(&vec![b'x'; 100 << 20])), (Err(ErrorKind::Corrupt), 0));
        assert_eq!(read(&part(b"x").repeat(100_000)), (Err(ErrorKind::Corrupt), 0));
        assert_eq!(read(&part(b"").repeat(100_000)), (Err(ErrorKind::Corrupt), 0));
    }

    #[test]
    fn the_stored_form_stays_as_it_is() {
        let stored = [15, 0, 0, 0, 0x28, 0xb5, 0x2f, 0xfd, 0x20, 6, 0x31, 0, 0, b'h', b'e', b'r', b'o', b'n', b's'];
        assert_eq!(pack("herons"), stored, "a new form needs a new number of the format");
    }
}

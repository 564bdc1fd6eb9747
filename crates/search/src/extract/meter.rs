//! Limits on the cost of unpacking one part of a document. No format is known here.

use std::io::{self, BufRead, BufReader, Read};

/// Limit on the bytes of one tag, text or comment, which is held in memory as a whole.
const MAX_PIECE_BYTES: usize = 8 << 20;

/// The bytes of a part, unpacked while they are read, within the document's allowance.
pub struct Meter<'a> {
    unpacked: BufReader<Box<dyn Read + 'a>>,
    left: &'a mut u64,
    cut: &'a mut bool,
    piece: usize,
}

impl<'a> Meter<'a> {
    /// Begins a part. At most `left` bytes are unpacked.
    pub fn new(unpacked: BufReader<Box<dyn Read + 'a>>, left: &'a mut u64, cut: &'a mut bool) -> Self {
        Self { unpacked, left, cut, piece: 0 }
    }

    /// Begins a new tag, text or comment.
    pub fn begin_piece(&mut self) {
        self.piece = 0;
    }

    /// Returns whether reading was cut off at the limit before the end of a part.
    pub fn is_cut(&self) -> bool {
        *self.cut
    }
}

impl Read for Meter<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(buffer)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Meter<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.piece > MAX_PIECE_BYTES {
            return Err(io::Error::other("a tag or text in it is longer than 8 MiB"));
        }
        let ready = self.unpacked.fill_buf()?;
        let allowed = usize::try_from(*self.left).unwrap_or(usize::MAX).min(ready.len());
        *self.cut |= allowed == 0 && !ready.is_empty();
        Ok(&ready[..allowed])
    }

    fn consume(&mut self, count: usize) {
        self.unpacked.consume(count);
        *self.left = self.left.saturating_sub(count as u64);
        self.piece += count;
    }
}

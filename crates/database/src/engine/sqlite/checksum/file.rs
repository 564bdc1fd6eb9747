//! Compares all pages of a file that nobody writes with their checksums, and writes the checksums anew, without SQLite.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{HEADER, MAGIC, RESERVED_AT, SMALLEST, SUM, is_intact, sum_of};

/// Offset of the lock-byte page, which SQLite never reads or writes ("The Lock-Byte Page" in its file format).
const LOCKS_AT: u64 = 1 << 30;
/// Bytes that are read at once.
const PIECE: usize = 1 << 20;

/// Pages of a file that are not what their checksums say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrongPages {
    /// How many.
    pub count: u64,
    /// The number of the first one, from 1 on.
    pub first: Option<u64>,
    /// Set when the file ends within a page, which counts as wrong.
    pub is_cut: bool,
    /// Set when the header says that pages have checksums.
    pub has_checksums: bool,
}

/// Compares the pages of a database file with their checksums, as its bytes come. A file without checksums has no wrong
/// page. A header that says so of a file in which any page has a fitting one is damaged, and so is a file that does not
/// begin like one of SQLite: the first page is wrong.
#[derive(Debug, Default)]
pub struct PageSums {
    /// Bytes of the page that is not complete yet; at first, of the header.
    begun: Vec<u8>,
    /// Bytes of a page, and whether pages have checksums, as the header says.
    header: Option<(usize, bool)>,
    pages: u64,
    wrong: WrongPages,
    is_header_wrong: bool,
}

impl PageSums {
    /// Begins with the first byte of a file.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let wanted = self.header.map_or(HEADER, |(size, _)| size) - self.begun.len();
            let (now, later) = bytes.split_at(wanted.min(bytes.len()));
            bytes = later;
            self.begun.extend_from_slice(now);
            if now.len() < wanted {
                return;
            }
            match self.header {
                None => {
                    let header = read_header(&self.begun);
                    self.is_header_wrong = !self.begun.starts_with(MAGIC);
                    self.wrong.has_checksums = header.1;
                    self.header = Some(header);
                    // The first page is compared as if it had a checksum.
                    self.begun[RESERVED_AT] = SUM as u8;
                }
                Some((size, has_sums)) => {
                    match (has_sums, is_intact(&self.begun)) {
                        (true, false) if self.pages * size as u64 != LOCKS_AT => self.note_wrong(),
                        (false, true) => self.is_header_wrong = true,
                        _ => {}
                    }
                    self.pages += 1;
                    self.begun.clear();
                }
            }
        }
    }

    fn note_wrong(&mut self) {
        self.wrong.count += 1;
        self.wrong.first.get_or_insert(self.pages + 1);
    }

    /// Returns what was wrong, after the last byte.
    pub fn finish(mut self) -> WrongPages {
        if self.header.is_none_or(|(_, has_sums)| has_sums && !self.begun.is_empty()) {
            self.wrong.is_cut = true;
            self.note_wrong();
        }
        if self.is_header_wrong && self.wrong.first != Some(1) {
            self.wrong.count += 1;
            self.wrong.first = Some(1);
        }
        self.wrong
    }
}

/// Bytes of a page, and whether pages have checksums.
fn read_header(header: &[u8]) -> (usize, bool) {
    let size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => usize::from(size).max(SMALLEST),
    };
    (size, header.starts_with(MAGIC) && usize::from(header[RESERVED_AT]) == SUM)
}

/// Looks for pages of a file that are not what their checksums say. Blocks.
pub(in crate::engine::sqlite) fn wrong_pages(path: &Path) -> io::Result<WrongPages> {
    let mut file = File::open(path)?;
    let (mut sums, mut piece) = (PageSums::new(), vec![0; PIECE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(sums.finish()),
            count => sums.update(&piece[..count]),
        }
    }
}

/// Writes the checksum of each page anew that is not what its checksum says, durably. The header must be right. Blocks.
pub(in crate::engine::sqlite) fn write_sums(path: &Path) -> io::Result<u64> {
    let file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut header = [0; HEADER];
    file.read_exact_at(&mut header, 0)?;
    let (size, has_sums) = read_header(&header);
    if !has_sums {
        return Ok(0);
    }
    let (mut page, mut written) = (vec![0; size], 0);
    for offset in (0..file.metadata()?.len()).step_by(size).filter(|offset| *offset != LOCKS_AT) {
        file.read_exact_at(&mut page, offset)?;
        if !is_intact(&page) {
            let sum = sum_of(&page[..size - SUM]);
            file.write_all_at(&sum, offset + (size - SUM) as u64)?;
            written += 1;
        }
    }
    file.sync_all()?;
    Ok(written)
}

//! Verifies the checksums of all pages of a file that no process is writing, and rewrites the checksums, without
//! SQLite.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{HEADER, MAGIC, RESERVED_AT, SMALLEST, SUM, is_intact, sum_of};

/// Offset of the lock-byte page, which SQLite never reads or writes ("The Lock-Byte Page" in its file format).
const LOCKS_AT: u64 = 1 << 30;
/// Number of bytes per read.
const READ_SIZE: usize = 1 << 20;

/// The pages of a file that do not match their checksums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrongPages {
    /// Number of stored bytes.
    pub count: u64,
    /// Number of the first wrong page, counted from 1.
    pub first: Option<u64>,
    /// Set if the file ends within a page, which counts as wrong.
    pub is_cut: bool,
    /// Set if the header says that pages have checksums.
    pub has_checksums: bool,
}

/// Verifies the pages of a database file against their checksums, as the bytes arrive. A file without checksums has no
/// wrong page. But if the header denies checksums and any page has a valid one, the header is damaged. So is a file
/// that does not begin like a SQLite file. In both cases the first page counts as wrong.
#[derive(Debug, Default)]
pub struct PageSums {
    /// Bytes of the incomplete page; initially of the header.
    begun: Vec<u8>,
    /// Page size, and whether pages have checksums, according to the header.
    header: Option<(usize, bool)>,
    pages: u64,
    wrong: WrongPages,
    is_header_wrong: bool,
}

impl PageSums {
    /// Creates a verifier. It expects the first byte of a file next.
    pub fn new() -> Self {
        Self::default()
    }

    /// Consumes the next bytes.
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
                    // The first page is verified as if it had a checksum.
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

    /// Returns the wrong pages, after the last byte.
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

/// Page size, and whether pages have checksums.
fn read_header(header: &[u8]) -> (usize, bool) {
    let size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => usize::from(size).max(SMALLEST),
    };
    (size, header.starts_with(MAGIC) && usize::from(header[RESERVED_AT]) == SUM)
}

/// Finds the pages of a file that do not match their checksums. Blocks.
pub(in crate::engine::sqlite) fn wrong_pages(path: &Path) -> io::Result<WrongPages> {
    let mut file = File::open(path)?;
    let (mut sums, mut piece) = (PageSums::new(), vec![0; READ_SIZE]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(sums.finish()),
            count => sums.update(&piece[..count]),
        }
    }
}

/// Rewrites the checksum of every page that does not match its checksum, durably, and returns the number of these
/// pages. The header must be correct. Blocks.
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

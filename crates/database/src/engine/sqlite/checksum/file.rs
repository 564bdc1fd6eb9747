//! Compares all pages of a file that nobody writes, without SQLite.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;

use super::{HEADER, MAGIC, RESERVED_AT, SUM, is_intact};

/// Offset of the lock-byte page, which SQLite never reads or writes ("The Lock-Byte Page" in its file format).
const LOCKS_AT: u64 = 1 << 30;

/// Returns the number of the first page that is not what its checksum says, from 1 on; none where all are, and in a file
/// without checksums. A header that says so of a file in which any page has a fitting one is damaged, and so is a file
/// that does not begin like one of SQLite: the first page is named. Blocks.
pub(in crate::engine::sqlite) fn first_wrong_page(path: &Path) -> io::Result<Option<u64>> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut header = [0; HEADER];
    reader.read_exact(&mut header)?;
    if !header.starts_with(MAGIC) {
        return Ok(Some(1));
    }
    let says_so = usize::from(header[RESERVED_AT]) == SUM;
    header[RESERVED_AT] = SUM as u8;
    let size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => usize::from(size).max(super::SMALLEST),
    };
    let mut page = vec![0; size];
    page[..HEADER].copy_from_slice(&header);
    let mut begun = HEADER;
    for number in 0..length.div_ceil(size as u64) {
        match reader.read_exact(&mut page[begun..]) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Some(number + 1)),
            read => read?,
        }
        match (says_so, is_intact(&page)) {
            (true, false) if number * size as u64 != LOCKS_AT => return Ok(Some(number + 1)),
            (false, true) => return Ok(Some(1)),
            _ => {}
        }
        begun = 0;
    }
    Ok(None)
}

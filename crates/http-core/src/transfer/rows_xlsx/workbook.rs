//! A workbook that is compressed while it is written. What is in memory does not depend on the number of rows.

use std::io::Write;

use crc32fast::Hasher;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use model::{Code, Error, Result, Timestamp};

use super::parts;
use crate::protocol::zip::Headers;

/// Limit on the bytes of the cells, unpacked and packed: what an archive holds without extensions that not every
/// spreadsheet reads.
const MAX_BYTES: u64 = u32::MAX as u64 - (64 << 20);
/// Level of compression: the texts of cells become hardly smaller on higher ones.
const LEVEL: u32 = 3;

/// A workbook whose sheet is being written.
pub struct Workbook {
    headers: Headers,
    now: Timestamp,
    sheet: DeflateEncoder<Vec<u8>>,
    crc: Hasher,
    size: u64,
    packed: u64,
}

impl Workbook {
    /// Begins a workbook. Returns it with its first bytes.
    pub fn begin() -> Result<(Self, Vec<u8>)> {
        let (mut headers, now, mut out) = (Headers::default(), Timestamp::now(), Vec::new());
        for (name, text) in parts::fixed() {
            out.extend(part(&mut headers, now, name, &text)?);
        }
        out.extend(headers.deflated("xl/worksheets/sheet1.xml", now));
        let sheet = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
        Ok((Self { headers, now, sheet, crc: Hasher::new(), size: 0, packed: 0 }, out))
    }

    /// Appends a part of the sheet. Returns the bytes that have become ready.
    ///
    /// # Errors
    /// `Exhausted` with code `too_large` when the sheet has too many bytes.
    pub fn write(&mut self, text: &str) -> Result<Vec<u8>> {
        self.crc.update(text.as_bytes());
        self.size += text.len() as u64;
        self.sheet.write_all(text.as_bytes()).map_err(broken)?;
        let ready = std::mem::take(self.sheet.get_mut());
        self.packed += ready.len() as u64;
        if self.size > MAX_BYTES || self.packed > MAX_BYTES {
            return Err(
                Error::exhausted("the list is too large for a workbook: download it as CSV").with_code(Code::TooLarge)
            );
        }
        Ok(ready)
    }

    /// Ends the sheet and the workbook, which has this last part. Returns the last bytes.
    pub fn finish(mut self, workbook: &str) -> Result<Vec<u8>> {
        let mut out = self.sheet.finish().map_err(broken)?;
        self.packed += out.len() as u64;
        out.extend(self.headers.end_deflated(self.crc.finalize(), self.packed, self.size));
        out.extend(part(&mut self.headers, self.now, "xl/workbook.xml", workbook)?);
        out.extend(self.headers.finish());
        Ok(out)
    }
}

/// Returns a whole part, compressed.
fn part(headers: &mut Headers, now: Timestamp, name: &str, text: &str) -> Result<Vec<u8>> {
    let mut out = headers.deflated(name, now);
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::new(LEVEL));
    encoder.write_all(text.as_bytes()).map_err(broken)?;
    let packed = encoder.finish().map_err(broken)?;
    out.extend_from_slice(&packed);
    out.extend(headers.end_deflated(crc32fast::hash(text.as_bytes()), packed.len() as u64, text.len() as u64));
    Ok(out)
}

/// Returns the error for a failed compression. Writing into memory does not fail.
fn broken(error: std::io::Error) -> Error {
    Error::unavailable("the workbook cannot be compressed").with_source(error)
}

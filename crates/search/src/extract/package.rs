//! The archive of a document, with limits on the cost of reading it. Whatever number and sizes its parts declare, only
//! a bounded number of bytes is unpacked for one document. No format is known here.

use std::borrow::Cow;
use std::io::{BufReader, Cursor, Read};

use model::{Code, Error, Result};
use zip::ZipArchive;

use super::content::{Member, unreadable};
use super::meter::Meter;
use super::xml::Part;

/// Limit on the number of parts. An archive with more is refused before its table is read.
const MAX_PARTS: u16 = 20_000;
/// Limit on the unpacked bytes of all parts of a document together.
const MAX_UNPACKED: u64 = 64 << 20;
/// The parts of a document.
pub struct Package<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
    left: u64,
    cut: bool,
}

impl<'a> Package<'a> {
    /// Reads the table of parts.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        if parts(bytes).is_none_or(|count| count > MAX_PARTS) {
            return Err(unreadable("it is not an archive, or it has too many parts"));
        }
        let archive = ZipArchive::new(Cursor::new(bytes)).map_err(unreadable)?;
        if archive.len() > usize::from(MAX_PARTS) {
            return Err(unreadable("it has too many parts"));
        }
        Ok(Self { archive, left: MAX_UNPACKED, cut: false })
    }

    /// The names of all parts, except names that cannot be decoded.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.archive.file_names().filter_map(std::result::Result::ok)
    }

    /// Returns the members of the archive that have readable headers.
    pub fn members(&self) -> impl Iterator<Item = Member> {
        (0..self.archive.len()).filter_map(|at| {
            let part = self.archive.by_index_data(at).ok()?;
            Some(Member::new(&part.name().ok()?, part.size()))
        })
    }

    /// Reads the member at this position among [`Self::members`]; `None` if there is none.
    pub fn member<T>(&mut self, at: usize, read: impl FnOnce(&mut dyn Read) -> Result<T>) -> Result<Option<T>> {
        let is_listed = |index: &usize| self.archive.by_index_data(*index).is_ok_and(|part| part.name().is_ok());
        let Some(index) = (0..self.archive.len()).filter(is_listed).nth(at) else { return Ok(None) };
        let mut file = self.archive.by_index(index).map_err(unreadable)?;
        read(&mut file).map(Some)
    }

    /// Returns whether any part was cut off at the limit on unpacked bytes.
    pub fn is_cut(&self) -> bool {
        self.cut
    }

    /// Refuses a document in which nothing was found, in as much of it as may be unpacked.
    pub fn refuse_if_cut_and(&self, is_empty: bool) -> Result<()> {
        if self.cut && is_empty {
            return Err(Error::invalid("there is no text in the first 64 MiB of it").with_code(Code::TooLarge));
        }
        Ok(())
    }

    /// Opens a part; `None` if the document has no such part.
    pub fn part(&mut self, name: &str) -> Result<Option<Part<'_>>> {
        Ok(self.bytes(name)?.map(Part::new))
    }

    /// Opens the bytes of a part; `None` if the document has no such part.
    pub fn bytes(&mut self, name: &str) -> Result<Option<Meter<'_>>> {
        match self.archive.by_name(name) {
            Ok(file) => {
                let unpacked = BufReader::new(Box::new(file) as Box<dyn Read + '_>);
                Ok(Some(Meter::new(unpacked, &mut self.left, &mut self.cut)))
            }
            Err(zip::result::ZipError::FileNotFound) => Ok(None),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// Opens a part that every document must have.
    pub fn required(&mut self, name: &str) -> Result<Part<'_>> {
        self.part(name)?.ok_or_else(|| unreadable(format!("its part {name} is missing")))
    }
}

/// Number of parts declared in the end record of an archive (APPNOTE.TXT 4.3.16); `None` if there is no such record. An
/// archive with too many parts for that field declares 65,535.
fn parts(bytes: &[u8]) -> Option<u16> {
    const END: &[u8] = b"PK\x05\x06";
    let from = bytes.len().saturating_sub(22 + usize::from(u16::MAX));
    let tail = &bytes[from..];
    let at = tail.windows(END.len()).rposition(|window| window == END)?;
    let count = tail.get(at + 10..at + 12)?;
    Some(u16::from_le_bytes([count[0], count[1]]))
}

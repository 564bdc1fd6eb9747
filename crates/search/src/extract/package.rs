//! The archive that a document is.

use std::borrow::Cow;
use std::io::{BufReader, Cursor, Read};

use model::Result;
use quick_xml::Reader;
use zip::ZipArchive;

use super::unreadable;

/// Most parts of a document. An archive is refused for more before its table is read.
const MOST_PARTS: u16 = 20_000;
/// Most bytes of a part that are unpacked, and so the most memory that a part takes which is one single piece of text.
const MOST_UNPACKED: u64 = 64 << 20;

/// An XML part that is unpacked while it is read.
pub type Part<'a> = Reader<BufReader<Box<dyn Read + 'a>>>;

/// The parts of a document.
pub struct Package<'a>(ZipArchive<Cursor<&'a [u8]>>);

impl<'a> Package<'a> {
    /// Reads the table of parts.
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        if parts(bytes).is_none_or(|count| count > MOST_PARTS) {
            return Err(unreadable("it is no archive, or one with too many parts"));
        }
        ZipArchive::new(Cursor::new(bytes)).map(Self).map_err(unreadable)
    }

    /// The names of all parts that have a readable one.
    pub fn names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.0.file_names().filter_map(std::result::Result::ok)
    }

    /// A part; none when the document has no such part.
    pub fn part(&mut self, name: &str) -> Result<Option<Part<'_>>> {
        match self.0.by_name(name) {
            Ok(file) => {
                let limited: Box<dyn Read + '_> = Box::new(file.take(MOST_UNPACKED));
                let mut reader = Reader::from_reader(BufReader::new(limited));
                reader.config_mut().check_end_names = false;
                Ok(Some(reader))
            }
            Err(zip::result::ZipError::FileNotFound) => Ok(None),
            Err(error) => Err(unreadable(error)),
        }
    }

    /// A part without which there is no document.
    pub fn required(&mut self, name: &str) -> Result<Part<'_>> {
        self.part(name)?.ok_or_else(|| unreadable(format!("its part {name} is missing")))
    }
}

/// The number of parts that the end of an archive tells (APPNOTE.TXT 4.3.16); none where there is no such end. An archive with so many
/// that the number has no room there tells 65,535.
fn parts(bytes: &[u8]) -> Option<u16> {
    const END: &[u8] = b"PK\x05\x06";
    let from = bytes.len().saturating_sub(22 + usize::from(u16::MAX));
    let tail = &bytes[from..];
    let at = tail.windows(END.len()).rposition(|window| window == END)?;
    let count = tail.get(at + 10..at + 12)?;
    Some(u16::from_le_bytes([count[0], count[1]]))
}

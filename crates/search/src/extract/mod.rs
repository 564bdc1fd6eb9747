//! Text of documents of offices: Word, Excel, PowerPoint since 2007 (ECMA-376) and OpenDocument (ISO/IEC 26300). All of them are
//! ZIP archives with parts in XML.
//!
//! What it costs does not depend on what a file says of itself: parts are unpacked and read bit by bit, and reading ends when there
//! is enough text or when the parts turn out to be too long. It runs in a child process all the same ([`crate::sandbox`]).

use model::Code;
mod content;
mod meter;
mod package;
mod sheet;
mod text;
mod workbook;
mod xml;

use model::{Error, Result};

pub use content::{Content, Extract, Format};
use package::Package;

/// Longest document that is looked into.
pub const MOST_BYTES: u64 = 32 << 20;

/// Reads the text of a document.
///
/// # Errors
/// Invalid with code `not_readable` when the bytes are no document of this format, encrypted ones included; with `too_large` when no
/// text is in the beginning that is unpacked.
pub fn extract(format: Format, bytes: &[u8]) -> Result<Extract> {
    let mut package = Package::open(bytes)?;
    let mut found = match format {
        Format::Docx => text::docx(&mut package),
        Format::Pptx => text::pptx(&mut package),
        Format::Odt => text::odf(&mut package),
        Format::Xlsx => workbook::xlsx(&mut package),
        Format::Ods => sheet::ods(&mut package),
    }?;
    found.more |= package.is_cut();
    if package.is_cut() && found.is_empty() {
        return Err(Error::invalid("there is no text in the first 64 MB of it").with_code(Code::TooLarge));
    }
    Ok(found)
}

//! Text extraction from office documents: Word, Excel and PowerPoint since 2007 (ECMA-376), and OpenDocument (ISO/IEC
//! 26300). All of them are ZIP archives of XML parts.
//!
//! The cost does not depend on sizes that a file declares: parts are unpacked and read incrementally, and reading ends
//! when there is enough text or when the parts turn out to be too long. Extraction runs in a child process all the same
//! ([`crate::sandbox`]).

mod content;
mod meter;
mod package;
pub mod plain;
mod sheet;
mod text;
mod workbook;
mod xml;

use model::{Code, Error, Result};

pub use content::{Content, Extract, Format};
use package::Package;

/// Maximum size in bytes of a document that is read.
pub const MAX_BYTES: u64 = 32 << 20;

/// Extracts the text of a document.
///
/// # Errors
/// `Invalid` with code `not_readable` if the bytes are not a document of this format, or an encrypted one; with
/// `too_large` if the part that is unpacked contains no text.
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
        return Err(Error::invalid("there is no text in the first 64 MiB of it").with_code(Code::TooLarge));
    }
    Ok(found)
}

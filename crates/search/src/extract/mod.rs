//! Text extraction from office documents: Word, Excel and PowerPoint since 2007 (ECMA-376), and OpenDocument (ISO/IEC
//! 26300). All of them are ZIP archives of XML parts. Of an archive, the names and sizes of its members are read, or
//! one of them.
//!
//! The cost does not depend on sizes that a file declares: parts are unpacked and read incrementally, and reading ends
//! when there is enough text or when the parts turn out to be too long. Extraction runs in a child process all the same
//! ([`crate::sandbox`]).

mod archive;
mod content;
mod meter;
pub(crate) mod package;
pub(crate) mod paragraphs;
mod sheet;
mod text;
pub(crate) mod workbook;
pub(crate) mod xml;

use model::Result;

pub(crate) use content::unreadable;
pub use content::{Content, Extract, Format, MAX_MEMBER, Member, MemberContent, Message};
use package::Package;

/// Maximum size in bytes of a document that is read.
pub const MAX_BYTES: u64 = 32 << 20;

/// Extracts the text of a document, or lists the members of an archive.
///
/// # Errors
/// `Invalid` with code `not_readable` if the bytes are not a document of this format, or an encrypted one; with
/// `too_large` if the part that is unpacked contains no text. Mail messages are `not_readable` here:
/// [`crate::readers::message`] reads them.
pub fn extract(format: Format, bytes: &[u8]) -> Result<Extract> {
    let read = match format {
        Format::Docx => text::docx,
        Format::Pptx => text::pptx,
        Format::Odt => text::odf,
        Format::Xlsx => workbook::xlsx,
        Format::Ods => sheet::ods,
        Format::Zip => return Ok(archive::zip(&Package::open(bytes)?)),
        Format::Tar => return archive::tar(bytes),
        Format::TarGz => return archive::tar_gz(bytes),
        Format::Email => return Err(unreadable("it is a mail message")),
    };
    let mut package = Package::open(bytes)?;
    let mut found = read(&mut package)?;
    found.more |= package.is_cut();
    package.refuse_if_cut_and(found.is_empty())?;
    Ok(found)
}

/// Takes a file out of an archive: the member at this position of the list that [`extract`] returns.
///
/// # Errors
/// `Invalid` with code `not_readable` if there is no such member, or it is encrypted or damaged; with code `too_large`
/// if it is longer than [`MAX_MEMBER`].
pub fn member(format: Format, bytes: &[u8], at: usize) -> Result<MemberContent> {
    match format {
        Format::Zip => archive::zip_member(&mut Package::open(bytes)?, at),
        Format::Tar => archive::tar_member(bytes, at),
        Format::TarGz => archive::tar_gz_member(bytes, at),
        _ => Err(unreadable("it is not an archive")),
    }
}

//! Readers: they turn the bytes of a document into text for the search index, with its title and author. One file for
//! each family of formats.
//!
//! Everything here runs in a sandboxed child process only ([`crate::sandbox`]), because the bytes come from anybody.
//! Within it, the cost is bounded where a format allows it: compressed parts are unpacked while they are read, and
//! reading ends when there is enough text.

mod archive;
mod charset;
mod document_text;
mod email;
mod epub;
mod format;
mod html;
mod markdown;
mod office;
mod open_document;
mod outlook;
mod pdf;
mod picture;
mod properties;
mod rtf;
mod spreadsheet;

use std::panic::{AssertUnwindSafe, catch_unwind};

use model::Result;

use crate::extract::{Extract, MemberContent, unreadable};

use document_text::MAX_DEPTH;
pub(crate) use document_text::TextBuilder;
pub use document_text::{DocumentText, MAX_TEXT_BYTES};
pub use format::{MAX_DOCUMENT_BYTES, ReadableFormat};

/// Reads the text of a document.
///
/// # Errors
/// `Invalid` with code `not_readable` if the bytes are not a document of this format, or an encrypted one; with
/// `too_large` if the part that is unpacked contains no text.
pub fn read(format: ReadableFormat, bytes: &[u8]) -> Result<DocumentText> {
    let mut text = TextBuilder::default();
    read_into(format, bytes, &mut text, 0)?;
    Ok(text.finish())
}

/// Takes an attachment out of a mail message: the one at this position of the list that [`message`] returns.
///
/// # Errors
/// `Invalid` with code `not_readable` if there is none; with code `too_large` if it is longer than
/// [`crate::extract::MAX_MEMBER`].
pub fn attachment(bytes: &[u8], at: usize) -> Result<MemberContent> {
    email::attachment(bytes, at)
}

/// Reads a mail message as people see it.
///
/// # Errors
/// `Invalid` with code `not_readable` if the bytes are not a message.
pub fn message(bytes: &[u8]) -> Result<Extract> {
    email::show(bytes)
}

/// Appends the text of a document that lies this deep in others.
fn read_into(format: ReadableFormat, bytes: &[u8], text: &mut TextBuilder, depth: usize) -> Result<()> {
    match format {
        ReadableFormat::Plain => {
            text.add(&charset::decode(bytes, None));
            Ok(())
        }
        ReadableFormat::Markdown => {
            markdown::read(&charset::decode(bytes, None), text);
            Ok(())
        }
        ReadableFormat::Html => {
            html::read(bytes, text);
            Ok(())
        }
        ReadableFormat::Docx => office::document(bytes, text),
        ReadableFormat::Pptx => office::slides(bytes, text),
        ReadableFormat::Xlsx => spreadsheet::read(bytes, text),
        ReadableFormat::OpenDocument => open_document::read(bytes, text),
        ReadableFormat::Pdf => pdf::read(bytes, text),
        ReadableFormat::Rtf => rtf::read(bytes, text),
        ReadableFormat::Email => email::read(bytes, text, depth, read_attachment),
        ReadableFormat::Outlook => outlook::read(bytes, text, depth, read_attachment),
        ReadableFormat::Epub => epub::read(bytes, text),
        ReadableFormat::Zip => archive::zip_names(bytes, text),
        ReadableFormat::Tar => archive::tar_names(bytes, text),
        ReadableFormat::TarGz => archive::tar_gz_names(bytes, text),
        ReadableFormat::Picture | ReadableFormat::Tiff => picture::read(bytes, text),
        ReadableFormat::Doc | ReadableFormat::Xls | ReadableFormat::Ppt => {
            Err(unreadable("another program has to convert it first"))
        }
    }
}

/// Appends the name of a document in a document, and its text if it can be read.
fn read_attachment(name: &str, media_type: &str, bytes: &[u8], text: &mut TextBuilder, depth: usize) {
    text.end_line();
    text.add_words(name);
    text.end_line();
    let format = ReadableFormat::of(media_type, name).filter(|format| !format.needs_program());
    let Some(format) = format else { return };
    if depth < MAX_DEPTH && !text.is_over() {
        let read = AssertUnwindSafe(|| text.inside(|text| read_into(format, bytes, text, depth + 1)));
        // A message is found by its own text even if an attachment cannot be read, or a library panics on it.
        if !matches!(catch_unwind(read), Ok(Ok(()))) {
            text.note_cut();
        }
    }
}

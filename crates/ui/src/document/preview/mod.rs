//! Previews on web pages. Images, audio, video and PDF are embedded by URL; texts and tables are read here.
//!
//! Stored content never becomes our HTML: texts are escaped, and Markdown is rendered from its parsed form. Only the
//! first part of a text is read, so the cost does not depend on its size.

pub mod decode;
#[cfg(fuzzing)]
pub mod fuzzing;
mod kind;
mod language;
pub(super) mod member;
pub(super) mod pages;
pub(super) mod picture;
mod table;

use model::{Code, Error, ErrorKind, NodeKind, Result, Timestamp};
use repository::{
    ArchiveMember, Item, MailMessage, ReadRange, Session, Target, TextContent, TextExtract, TextFormat, VersionChoice,
};

use super::preview::kind::PreviewKind;
pub use super::preview::table::Sheet;
use crate::frame::escape;
use crate::frame::visit::Visit;
use crate::pages::markdown;
use http_core::converter::{self, Converter};
use http_core::server::request_body;
pub use repository::MAX_MEMBER;

/// Limit on bytes read from a text.
const MAX_BYTES: u64 = 256 << 10;
/// Limit on the bytes of a picture of which smaller ones are made.
const MAX_PICTURE: u64 = 32 << 20;
/// Limit on displayed lines.
const MAX_LINES: usize = 2_000;

/// Preview of a document.
pub enum Preview {
    /// No preview area: the item is no document, or a note above says why its content cannot be read.
    Nothing,
    /// This kind of document has no preview.
    Unsupported,
    /// None, although this kind of document has previews. Holds the text key of the reason.
    Unavailable(&'static str),
    /// The document is empty.
    Empty,
    /// URL of an image.
    Image(String),
    /// URL of an audio file.
    Audio(String),
    /// URL of a video.
    Video(String),
    /// URL of a PDF document.
    Pdf(String),
    /// Lines of text.
    Text {
        /// The lines as safe HTML.
        lines: Vec<String>,
        /// Language in which the browser colours the text.
        language: Option<&'static str>,
        /// True if the text was cut.
        cut: bool,
    },
    /// Safe HTML rendered from Markdown, and whether the text was cut.
    Markdown(String, bool),
    /// A table, and whether it was cut.
    Table(Sheet, bool),
    /// Paragraphs of an office document, and whether the text was cut.
    Words(Vec<String>, bool),
    /// Members of an archive, and whether there are more.
    Members(Vec<ArchiveMember>, bool),
    /// A mail message with its date, and whether it was cut.
    Message(Box<MailMessage>, Option<Timestamp>, bool),
}

impl Preview {
    /// Returns whether there is a preview.
    pub fn is_shown(&self) -> bool {
        !matches!(self, Self::Nothing | Self::Unsupported | Self::Unavailable(_))
    }
}

/// Returns the URL of an office document as PDF, or `None` when this server cannot convert it.
pub fn pages(visit: &Visit, item: &Item) -> Option<String> {
    let fits = (1..=converter::MAX_BYTES).contains(&item.size);
    let taken = visit.converts && fits && Converter::takes(&converter::extension(&item.name));
    taken.then(|| format!("/items/{}/pages", item.id))
}

/// Returns the preview of a document. Unreadable content has no preview; the page reports the fault elsewhere.
pub async fn of(session: &Session, item: &Item) -> Preview {
    let address = format!("/download/{}/document?show=yes", item.id);
    let kind = kind::of(&item.media_type, &item.name);
    if item.size == 0 {
        return Preview::Empty;
    }
    match kind {
        PreviewKind::Other => Preview::Unsupported,
        PreviewKind::Image => Preview::Image(address),
        PreviewKind::Converted if item.size > MAX_PICTURE => Preview::Unavailable("preview.too-large"),
        PreviewKind::Converted => Preview::Image(format!("/items/{}/picture?size=large", item.id)),
        PreviewKind::Audio => Preview::Audio(address),
        PreviewKind::Video => Preview::Video(address),
        PreviewKind::Pdf => Preview::Pdf(address),
        PreviewKind::Extracted(format) => {
            match session.text(&Target::Id(item.id), format, VersionChoice::Visible).await {
                Ok(found) => words(found),
                Err(error) => unavailable_reason(&error),
            }
        }
        PreviewKind::Markdown | PreviewKind::Table | PreviewKind::Text(_) | PreviewKind::Unknown => {
            match read(session, item).await {
                Ok((bytes, cut)) => {
                    let drawn =
                        request_body::parse_off_thread(bytes.into(), move |bytes| Ok(text(kind, bytes, cut))).await;
                    drawn.unwrap_or_else(|error| no_preview(&error))
                }
                Err(error) => no_preview(&error),
            }
        }
    }
}

/// Returns the reason why an office document, an archive or a message has no preview.
fn unavailable_reason(error: &Error) -> Preview {
    tracing::debug!(target: "http", code = error.code().as_str(), "no preview: {}", error.report());
    Preview::Unavailable(match error.code() {
        Code::NotReadable => "preview.not-readable",
        Code::TooLarge => "preview.too-large",
        Code::TookTooLong => "preview.too-long",
        Code::ReaderFailed => "preview.reader-failed",
        Code::Busy => "preview.busy",
        _ if error.kind() == ErrorKind::Unavailable => "preview.not-now",
        // A fault of the content itself is already reported above the preview.
        _ => return Preview::Nothing,
    })
}

fn no_preview(error: &Error) -> Preview {
    tracing::debug!(target: "http", code = error.code().as_str(), "no preview: {}", error.report());
    Preview::Nothing
}

fn words(found: TextExtract) -> Preview {
    match found.content {
        TextContent::Rows(mut rows) if !rows.is_empty() => {
            let head = rows.remove(0);
            Preview::Table(Sheet { head, rows }, found.more)
        }
        TextContent::Lines(lines) if !lines.is_empty() => Preview::Words(lines, found.more),
        TextContent::Members(members) => Preview::Members(members, found.more),
        TextContent::Message(message) => {
            let at = message.sent_at.map(|seconds| Timestamp::from_micros(seconds.saturating_mul(1_000_000)));
            Preview::Message(message, at, found.more)
        }
        _ => Preview::Unavailable("preview.no-words"),
    }
}

/// Reads the beginning of a document. Also returns whether there is more.
async fn read(session: &Session, item: &Item) -> Result<(Vec<u8>, bool)> {
    let mut opened = session.open(&Target::Id(item.id), VersionChoice::Visible).await?;
    let size = opened.size();
    let wanted = size.min(MAX_BYTES);
    opened.set_range(ReadRange { start: 0, end: wanted });
    let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or_default());
    while let Some(chunk) = opened.next_chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    if (bytes.len() as u64) < wanted {
        return Err(Error::corrupt("the content of a document ended too early"));
    }
    Ok((bytes, size > wanted))
}

fn text(kind: PreviewKind, bytes: &[u8], cut: bool) -> Preview {
    if kind == PreviewKind::Unknown && !decode::is_plain(bytes, cut) {
        return Preview::Unsupported;
    }
    let Some(text) = decode::decode(bytes, cut) else { return Preview::Unsupported };
    match kind {
        PreviewKind::Markdown => Preview::Markdown(markdown::excerpt(&text), cut),
        PreviewKind::Table => match table::read(&text) {
            Some((sheet, more)) => Preview::Table(sheet, cut || more),
            None => lines(&text, None, cut),
        },
        PreviewKind::Text(language) => lines(&text, language, cut),
        PreviewKind::Unknown => lines(&text, None, cut),
        _ => Preview::Unsupported,
    }
}

fn lines(text: &str, language: Option<&'static str>, cut: bool) -> Preview {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let shown = text.match_indices('\n').nth(MAX_LINES - 1).map(|(end, _)| &text[..end]);
    Preview::Text { lines: escape::lines(shown.unwrap_or(text)), language, cut: cut || shown.is_some() }
}

/// Returns the address of a small picture of an item; `None` if none can be made of it.
pub fn thumbnail(item: &Item) -> Option<String> {
    let is_picture = item.kind == NodeKind::Document
        && (1..=MAX_PICTURE).contains(&item.size)
        && kind::is_picture(&item.media_type, &item.name);
    is_picture.then(|| format!("/items/{}/picture?size=small&version={}", item.id, item.version))
}

/// Returns the format of an archive or a mail message.
///
/// # Errors
/// `Invalid` with code `not_readable` for another document.
fn container_format(item: &Item) -> Result<TextFormat> {
    match kind::of(&item.media_type, &item.name) {
        PreviewKind::Extracted(format) if format.is_container() => Ok(format),
        _ => Err(Error::invalid("this document is no archive").with_code(Code::NotReadable)),
    }
}

/// Returns the format of a document whose versions are compared by their text; `None` for any other document.
pub fn compared_format(item: &Item) -> Option<TextFormat> {
    match kind::of(&item.media_type, &item.name) {
        PreviewKind::Extracted(format) if !format.is_container() => Some(format),
        _ => None,
    }
}

/// Returns whether the versions of a document can be compared.
pub fn is_comparable(item: &Item) -> bool {
    is_text(item) || compared_format(item).is_some()
}

/// Returns whether a document is text.
pub fn is_text(item: &Item) -> bool {
    matches!(kind::of(&item.media_type, &item.name), PreviewKind::Text(_) | PreviewKind::Markdown | PreviewKind::Table)
}

/// Returns whether a document is Markdown.
pub fn is_markdown(item: &Item) -> bool {
    kind::of(&item.media_type, &item.name) == PreviewKind::Markdown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_by_lines() {
        let long = "a\n".repeat(MAX_LINES + 5);
        let shown = |bytes: &[u8]| match text(PreviewKind::Text(None), bytes, false) {
            Preview::Text { lines, cut, .. } => (lines, cut),
            _ => panic!("no text"),
        };
        let (lines, cut) = shown(long.as_bytes());
        assert_eq!((lines.len(), cut), (MAX_LINES, true));
        assert_eq!(shown(b"a\nb\n"), (vec!["a".to_owned(), "b".to_owned()], false));
        assert!(matches!(text(PreviewKind::Text(None), b"a\0b", false), Preview::Unsupported));
    }
}

//! What of a document a page shows in place: pictures, sound, films and PDF by their address, texts and tables read here.
//!
//! Whatever is stored, nothing of it becomes markup of ours: texts are escaped, Markdown is drawn from its parsed form. Only
//! the first part of a text is read, so that the cost does not depend on its size.

use model::Code;
mod code;
pub(super) mod decode;
mod escape;
#[cfg(fuzzing)]
pub mod fuzzing;
mod kind;
mod markdown;
pub(super) mod pages;
mod table;

use model::{Error, ErrorKind, Result};
use repository::{Item, ReadRange, Session, Target, TextContent, TextExtract, VersionChoice};

use super::preview::kind::Kind;
pub use super::preview::table::Sheet;
use crate::frame::visit::Visit;
use http_core::converter::{self, Converter};
use http_core::server::intake;

/// Most bytes of a text that are read.
const MOST_BYTES: u64 = 256 << 10;
/// Most lines of a text that are shown.
const MOST_LINES: usize = 2_000;

/// What is shown of a document.
pub enum Preview {
    /// Nothing: there is no way to show it.
    Nothing,
    /// Nothing, though documents of this kind are shown; the name of the text that says why.
    Unseen(&'static str),
    /// There is nothing in it.
    Empty,
    /// A picture, by this address.
    Image(String),
    /// Sound, by this address.
    Audio(String),
    /// A film, by this address.
    Video(String),
    /// A PDF document, by this address.
    Pdf(String),
    /// Lines of text, as markup that is safe; and whether there is more than these.
    Text(Vec<String>, bool),
    /// Markup made from Markdown, which is safe; and whether there is more than this.
    Markdown(String, bool),
    /// A table, and whether there is more than this.
    Table(Sheet, bool),
    /// The paragraphs of an office document, and whether there is more than these.
    Words(Vec<String>, bool),
}

impl Preview {
    /// Whether there is anything to see.
    pub fn is_shown(&self) -> bool {
        !matches!(self, Self::Nothing | Self::Unseen(_))
    }
}

/// Where an office document is to be had as PDF; none when this server makes none of it.
pub fn pages(visit: &Visit, item: &Item) -> Option<String> {
    let fits = (1..=converter::MOST_BYTES).contains(&item.size);
    let taken = visit.converts && fits && Converter::takes(&converter::extension(&item.name));
    taken.then(|| format!("/items/{}/pages", item.id))
}

/// What to show of a document. When its content cannot be read, that is nothing: the page says elsewhere what is wrong.
pub async fn of(session: &Session, item: &Item) -> Preview {
    let address = format!("/download/{}/document?show=yes", item.id);
    let kind = kind::of(&item.media_type, &item.name);
    if item.size == 0 {
        return if kind == Kind::Other { Preview::Nothing } else { Preview::Empty };
    }
    match kind {
        Kind::Other => Preview::Nothing,
        Kind::Image => Preview::Image(address),
        Kind::Audio => Preview::Audio(address),
        Kind::Video => Preview::Video(address),
        Kind::Pdf => Preview::Pdf(address),
        Kind::Office(format) => match session.text(&Target::Id(item.id), format).await {
            Ok(found) => words(found),
            Err(error) => unread(&error),
        },
        Kind::Markdown | Kind::Table | Kind::Text(_) | Kind::Unknown => match read(session, item).await {
            Ok((bytes, cut)) => {
                let drawn = intake::apart(bytes.into(), move |bytes| Ok(text(kind, bytes, cut))).await;
                drawn.unwrap_or_else(|error| unseen(&error))
            }
            Err(error) => unseen(&error),
        },
    }
}

/// Why nothing of an office document is shown.
fn unread(error: &Error) -> Preview {
    tracing::debug!(target: "http", code = error.code().as_str(), "no preview: {}", error.report());
    Preview::Unseen(match error.code() {
        Code::NotReadable => "preview.not-readable",
        Code::TooLarge => "preview.too-large",
        Code::TookTooLong => "preview.too-long",
        Code::ReaderFailed => "preview.reader-failed",
        Code::Busy => "preview.busy",
        _ if error.kind() == ErrorKind::Unavailable => "preview.not-now",
        // What is wrong with the content itself is said above it.
        _ => return Preview::Nothing,
    })
}

fn unseen(error: &Error) -> Preview {
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
        _ => Preview::Nothing,
    }
}

/// The beginning of a document, and whether there is more.
async fn read(session: &Session, item: &Item) -> Result<(Vec<u8>, bool)> {
    let mut opened = session.open(&Target::Id(item.id), VersionChoice::Visible).await?;
    let size = opened.size();
    let wanted = size.min(MOST_BYTES);
    opened.set_range(ReadRange { start: 0, end: wanted });
    let mut bytes = Vec::with_capacity(usize::try_from(wanted).unwrap_or_default());
    while let Some(chunk) = opened.next_chunk().await? {
        bytes.extend_from_slice(&chunk);
    }
    if (bytes.len() as u64) < wanted {
        return Err(Error::corrupt("a document ended before its length"));
    }
    Ok((bytes, size > wanted))
}

fn text(kind: Kind, bytes: &[u8], cut: bool) -> Preview {
    if kind == Kind::Unknown && !decode::is_plain(bytes, cut) {
        return Preview::Nothing;
    }
    let Some(text) = decode::decode(bytes, cut) else { return Preview::Nothing };
    match kind {
        Kind::Markdown => Preview::Markdown(markdown::draw(&text), cut),
        Kind::Table => match table::read(&text) {
            Some((sheet, more)) => Preview::Table(sheet, cut || more),
            None => lines(&text, None, cut),
        },
        Kind::Text(language) => lines(&text, language, cut),
        Kind::Unknown => lines(&text, None, cut),
        _ => Preview::Nothing,
    }
}

fn lines(text: &str, language: Option<&'static code::Language>, cut: bool) -> Preview {
    let text = text.strip_suffix('\n').unwrap_or(text);
    let shown = text.match_indices('\n').nth(MOST_LINES - 1).map(|(end, _)| &text[..end]);
    Preview::Text(code::lines(shown.unwrap_or(text), language), cut || shown.is_some())
}

/// Whether a document is text, so that its versions can be compared.
pub fn is_text(item: &Item) -> bool {
    matches!(kind::of(&item.media_type, &item.name), Kind::Text(_) | Kind::Markdown | Kind::Table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_by_lines() {
        let long = "a\n".repeat(MOST_LINES + 5);
        let Preview::Text(lines, cut) = text(Kind::Text(None), long.as_bytes(), false) else { panic!("no text") };
        assert_eq!((lines.len(), cut), (MOST_LINES, true));
        let Preview::Text(lines, cut) = text(Kind::Text(None), b"a\nb\n", false) else { panic!("no text") };
        assert_eq!((lines, cut), (vec!["a".to_owned(), "b".to_owned()], false));
        assert!(matches!(text(Kind::Text(None), b"a\0b", false), Preview::Nothing));
    }
}

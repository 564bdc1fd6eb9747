//! The documents that are pages, and other texts that the editor takes.

use model::{Code, Error, Result};
use repository::{Content, Item, Session, Target, VersionChoice};

use crate::document::preview;

/// Limit on the bytes of a page. A larger Markdown document is shown as other documents are.
pub const MAX_PAGE: u64 = 512 << 10;

/// The byte order mark.
const MARK: &str = "\u{feff}";

/// Returns whether a document is shown as a page.
pub fn is_page(item: &Item) -> bool {
    preview::is_markdown(item) && item.size <= MAX_PAGE
}

/// Returns whether the editor takes a document: a text that is not too long.
pub fn is_text(item: &Item) -> bool {
    preview::is_text(item) && item.size <= MAX_PAGE
}

/// A page or another text as it is stored.
pub struct Source {
    /// The document, opened.
    pub content: Content,
    /// The text, with Unix line ends.
    pub text: String,
    /// How its lines end; `None` if the editor would change more than what is typed, because the text is not in UTF-8
    /// or its lines end in several ways.
    pub line_ends: Option<LineEnds>,
}

/// How all lines of a text end, and whether it begins with a byte order mark. What the editor saves keeps both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineEnds {
    /// True for a carriage return and a line feed, as on Windows.
    with_return: bool,
    /// True for a byte order mark, by which Excel knows UTF-8.
    with_mark: bool,
}

impl LineEnds {
    /// Returns the line ends with which a text is written as it is stored; `None` if there are none.
    fn of(bytes: &[u8], text: &str) -> Option<Self> {
        let first_end = bytes.iter().position(|byte| *byte == b'\n');
        let with_return = first_end.is_some_and(|end| end > 0 && bytes[end - 1] == b'\r');
        let found = Self { with_return, with_mark: bytes.starts_with(MARK.as_bytes()) };
        // A browser sends every line end alike, a lone carriage return too.
        Some(found).filter(|found| !text.contains('\r') && found.write(text).as_bytes() == bytes)
    }

    /// Returns the form in which the editor sends it back.
    pub const fn word(self) -> &'static str {
        match (self.with_return, self.with_mark) {
            (false, false) => "lf",
            (true, false) => "crlf",
            (false, true) => "mark-lf",
            (true, true) => "mark-crlf",
        }
    }

    /// Reads that form; anything else is the usual one.
    pub fn parse(word: &str) -> Self {
        Self { with_return: word.ends_with("crlf"), with_mark: word.starts_with("mark-") }
    }

    /// Returns a text with Unix line ends as it is stored.
    pub fn write(self, text: &str) -> String {
        let text = if self.with_return { text.replace('\n', "\r\n") } else { text.to_owned() };
        if self.with_mark { format!("{MARK}{text}") } else { text }
    }
}

/// Reads a page in the version that the caller sees.
///
/// # Errors
/// `Invalid` with code `too_large`; `Conflict` with code `not_editable` for a document that is no text; those of
/// [`Session::open`].
pub async fn read(session: &Session, item: &Item) -> Result<Source> {
    let mut content = session.open(&Target::Id(item.id), VersionChoice::Visible).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = content.next_chunk().await? {
        if (bytes.len() + chunk.len()) as u64 > MAX_PAGE {
            return Err(too_large());
        }
        bytes.extend_from_slice(&chunk);
    }
    let text = preview::decode::decode(&bytes, false);
    let text = text.ok_or_else(|| Error::conflict("the document is not a text").with_code(Code::NotEditable))?;
    let line_ends = LineEnds::of(&bytes, &text);
    Ok(Source { content, text, line_ends })
}

/// Returns the error for a text that is too long for a page and for the editor.
pub fn too_large() -> Error {
    Error::invalid(format!("a page, or a text edited here, has at most {} KiB", MAX_PAGE >> 10))
        .with_code(Code::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_stay_as_they_are() {
        for text in ["", "a\nb\n", "a\r\nb\r\n", "\u{feff}a;b\r\n", "\u{feff}a\n"] {
            let edited = preview::decode::decode(text.as_bytes(), false).unwrap();
            let ends = LineEnds::of(text.as_bytes(), &edited).unwrap();
            assert_eq!(LineEnds::parse(ends.word()), ends);
            assert_eq!(ends.write(&edited), text, "{text:?}");
        }
        // Such as CSV with line feeds inside of cells, old texts of a Macintosh, and Latin-1.
        for bytes in [&b"a\r\nb\n"[..], b"a\nb\r\n", b"a\rb", b"a\r\r\n", b"\xe4\n"] {
            let edited = preview::decode::decode(bytes, false).unwrap();
            assert_eq!(LineEnds::of(bytes, &edited), None, "{bytes:?}");
        }
        assert_eq!(LineEnds::parse("anything"), LineEnds::default());
    }
}

//! The documents that are pages.

use model::{Code, Error, Result};
use repository::{Content, Item, Session, Target, VersionChoice};

use crate::document::preview;

/// Limit on the bytes of a page. A larger Markdown document is shown as other documents are.
pub const MAX_PAGE: u64 = 512 << 10;

/// Returns whether a document is shown as a page.
pub fn is_page(item: &Item) -> bool {
    preview::is_markdown(item) && item.size <= MAX_PAGE
}

/// A page as it is stored.
pub struct Source {
    /// The document, opened.
    pub content: Content,
    /// The text, with Unix line ends.
    pub text: String,
    /// True if the text is stored in UTF-8, in which the editor saves it.
    pub is_utf8: bool,
}

/// Reads a page in the version that the caller sees.
///
/// # Errors
/// `Invalid` with code `too_large`; `Conflict` with code `no_text` for a document that is no text; those of
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
    let text = text.ok_or_else(|| Error::conflict("the page is not a text").with_code(Code::NoText))?;
    Ok(Source { content, text, is_utf8: std::str::from_utf8(&bytes).is_ok() })
}

/// Returns the error for a text that is too long for a page.
pub fn too_large() -> Error {
    Error::invalid(format!("a page has at most {} KiB", MAX_PAGE >> 10)).with_code(Code::TooLarge)
}

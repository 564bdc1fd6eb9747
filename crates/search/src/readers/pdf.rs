//! PDF (ISO 32000), by the library `pdf-extract`. It panics where a file is not as it expects; each page is therefore
//! read by itself, and a page that cannot be read costs no other.

use std::panic::{AssertUnwindSafe, catch_unwind};

use model::Result;
use pdf_extract::{Dictionary, Document, MediaBox, Object, OutputDev, OutputError, Transform, output_doc_page};

use crate::extract::unreadable;

use super::document_text::TextBuilder;

/// Limits on the pages that are read, and on the unpacked bytes of one. Longer ones are drawings.
const MAX_PAGES: u32 = 10_000;
const MAX_PAGE: usize = 3 << 20;
/// Distances in heights of the text: to the next line, to the next paragraph, and to the next word.
const NEXT_LINE: f64 = 0.5;
const NEXT_PARAGRAPH: f64 = 1.5;
const NEXT_WORD: f64 = 0.1;

/// Appends the text of all pages.
pub fn read(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    let document = unless_it_panics(|| Document::load_mem(bytes)).ok_or_else(|| unreadable("it is damaged"))?;
    let mut document = document.map_err(unreadable)?;
    if document.is_encrypted() {
        // Many documents are encrypted with an empty password, which every program tries.
        let decrypted = unless_it_panics(|| document.decrypt("")).is_some_and(|decrypted| decrypted.is_ok());
        if !decrypted {
            return Err(unreadable("it is encrypted"));
        }
    }
    properties(&document, text);
    let pages = document.get_pages();
    let (mut read, mut failed) = (0_u32, 0_u32);
    for (page, object) in pages.iter().take(MAX_PAGES as usize) {
        if text.is_over() {
            break;
        }
        // The library needs a hundred times the memory of a page for its operators.
        if unless_it_panics(|| document.get_page_content(*object))
            .is_none_or(|content| content.is_ok_and(|it| it.len() > MAX_PAGE))
        {
            failed += 1;
            text.end_page();
            continue;
        }
        let mut lines = Lines { text, begins: true, end: 0.0, line: 0.0, height: 0.0 };
        match unless_it_panics(|| output_doc_page(&document, &mut lines, *page)) {
            Some(Ok(())) => read += 1,
            _ => failed += 1,
        }
        text.end_page();
    }
    if read + failed < u32::try_from(pages.len()).unwrap_or(u32::MAX) || failed > 0 {
        text.note_cut();
    }
    if read == 0 && failed > 0 && text.has_no_words() {
        return Err(unreadable("none of its pages can be read"));
    }
    Ok(())
}

/// Runs code of the library. Returns `None` if it panics.
fn unless_it_panics<T>(work: impl FnOnce() -> T) -> Option<T> {
    // Its panics leave nothing behind that is used again: text that was collected so far is kept.
    catch_unwind(AssertUnwindSafe(work)).ok()
}

fn properties(document: &Document, text: &mut TextBuilder) {
    let Ok(info) = document.trailer.get(b"Info") else { return };
    let Ok((_, Object::Dictionary(info))) = document.dereference(info) else { return };
    if let Some(title) = property(document, info, b"Title") {
        text.set_title(&title);
    }
    if let Some(author) = property(document, info, b"Author") {
        text.set_author(&author);
    }
    for key in [&b"Subject"[..], b"Keywords"] {
        if let Some(about) = property(document, info, key) {
            text.add_words(&about);
            text.end_line();
        }
    }
}

/// A text string: UTF-16 or UTF-8 with a byte-order mark, or else nearly Latin-1 (7.9.2.2).
fn property(document: &Document, info: &Dictionary, key: &[u8]) -> Option<String> {
    let (_, value) = document.dereference(info.get(key).ok()?).ok()?;
    let bytes = value.as_str().ok()?;
    let latin = encoding_rs::WINDOWS_1252;
    Some(encoding_rs::Encoding::for_bom(bytes).map_or(latin, |(encoding, _)| encoding).decode(bytes).0.into_owned())
}

/// Puts characters together to words and lines by their positions.
struct Lines<'t> {
    text: &'t mut TextBuilder,
    /// Set at the first character that is shown by an operator.
    begins: bool,
    /// Where the last character ended, and its line, in units of the page.
    end: f64,
    line: f64,
    /// Height of the page.
    height: f64,
}

impl OutputDev for Lines<'_> {
    fn begin_page(
        &mut self,
        _page: u32,
        media_box: &MediaBox,
        _art_box: Option<(f64, f64, f64, f64)>,
    ) -> std::result::Result<(), OutputError> {
        self.height = media_box.ury - media_box.lly;
        Ok(())
    }

    fn end_page(&mut self) -> std::result::Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        transform: &Transform,
        width: f64,
        _spacing: f64,
        font_size: f64,
        characters: &str,
    ) -> std::result::Result<(), OutputError> {
        // The size of the text on the page, whichever way it is scaled.
        let (wide, high) = (transform.m11 + transform.m21, transform.m12 + transform.m22);
        let size = (font_size * wide * font_size * high).abs().sqrt();
        let (x, y) = (transform.m31, self.height - transform.m32);
        if self.begins {
            let moved = (y - self.line).abs();
            if moved > size * NEXT_PARAGRAPH || x < self.end && moved > size * NEXT_LINE {
                self.text.end_line();
            } else if x > self.end + size * NEXT_WORD {
                self.text.space();
            }
        }
        self.text.add(characters);
        self.begins = false;
        self.line = y;
        self.end = x + width * size;
        if self.text.is_full() {
            return Err(OutputError::FormatError(std::fmt::Error));
        }
        Ok(())
    }

    fn begin_word(&mut self) -> std::result::Result<(), OutputError> {
        self.begins = true;
        Ok(())
    }

    fn end_word(&mut self) -> std::result::Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> std::result::Result<(), OutputError> {
        Ok(())
    }
}

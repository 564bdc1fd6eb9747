//! OpenDocument (ISO/IEC 26300): texts, spreadsheets, presentations and drawings.

use model::Result;

use crate::extract::package::Package;
use crate::extract::paragraphs::{Meaning, read_part};
use crate::extract::xml::Element;

use super::document_text::TextBuilder;
use super::properties;

/// Appends the text of a document: the content with its notes and comments, headers and footers, and the properties.
pub fn read(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    let mut package = Package::open(bytes)?;
    read_part(&mut package.required("content.xml")?, text, false, meaning)?;
    if let Ok(Some(mut part)) = package.part("styles.xml") {
        text.end_line();
        // Only headers and footers: presentations have sample texts in their styles.
        let only_margins = |element: &Element<'_>| match element.name() {
            b"header" | b"footer" | b"header-left" | b"footer-left" | b"header-first" | b"footer-first" => Meaning::Run,
            _ => meaning(element),
        };
        if read_part(&mut part, text, true, only_margins).is_err() {
            text.note_cut();
        }
    }
    properties::read_part(&mut package, "meta.xml", text);
    properties::finish(&package, text)
}

fn meaning(element: &Element<'_>) -> Meaning {
    match element.name() {
        b"p" | b"h" => Meaning::Paragraph,
        b"tab" => Meaning::Stands("\t", 1),
        b"line-break" => Meaning::Stands("\n", 1),
        b"s" => Meaning::Stands(" ", element.number("c").unwrap_or(1)),
        // Text that was deleted, and the code of macros.
        b"tracked-changes" | b"scripts" => Meaning::Aside,
        _ => Meaning::None,
    }
}

//! Properties of office documents: title, author, and words about the content.

use model::Result;

use crate::extract::package::Package;
use crate::extract::xml::{Part, Piece};

use super::document_text::TextBuilder;

/// Limit on the bytes of one property.
const MAX_VALUE: usize = 4_000;

/// Appends the properties in a part: `docProps/core.xml`, `meta.xml`, or the package of a book. What cannot be read is
/// left out.
pub fn read(part: &mut Part<'_>, text: &mut TextBuilder) {
    let mut value: Option<(Property, String)> = None;
    while let Ok(Some(piece)) = part.next() {
        match piece {
            Piece::Start(element) if !element.empty => {
                value = Property::of(element.name()).map(|property| (property, String::new()));
            }
            Piece::Text(more) => {
                if let Some((_, value)) = &mut value
                    && value.len() < MAX_VALUE
                {
                    value.push_str(&more);
                }
            }
            Piece::End(_) => match value.take() {
                Some((Property::Title, value)) => text.set_title(&value),
                Some((Property::Author, value)) => text.set_author(&value),
                Some((Property::About, value)) => {
                    text.add_words(&value);
                    text.end_line();
                }
                None => {}
            },
            Piece::Start(_) | Piece::Entity | Piece::Other => {}
        }
    }
}

/// Appends the properties in the part with this name, if there is one.
pub fn read_part(package: &mut Package<'_>, name: &str, text: &mut TextBuilder) {
    if let Ok(Some(mut part)) = package.part(name) {
        text.end_line();
        read(&mut part, text);
    }
}

/// Ends the reading of a document, and records whether its parts were unpacked in full.
///
/// # Errors
/// `Invalid` with code `too_large` if they were not, and nothing was found.
pub fn finish(package: &Package<'_>, text: &mut TextBuilder) -> Result<()> {
    package.refuse_if_cut_and(text.is_empty())?;
    if package.is_cut() {
        text.note_cut();
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Property {
    Title,
    Author,
    /// Words about the content.
    About,
}

impl Property {
    fn of(name: &[u8]) -> Option<Self> {
        match name {
            b"title" => Some(Self::Title),
            b"creator" | b"initial-creator" => Some(Self::Author),
            b"subject" | b"description" | b"keywords" | b"keyword" | b"category" => Some(Self::About),
            _ => None,
        }
    }
}

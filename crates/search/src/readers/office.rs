//! Word and PowerPoint since 2007 (ECMA-376), with everything that people wrote into them: notes, comments, headers.

use model::Result;

use crate::extract::package::Package;
use crate::extract::paragraphs::{Meaning, meaning_in_office as meaning, read_part};
use crate::extract::xml::Element;

use super::document_text::TextBuilder;
use super::properties;

/// Part with the properties of an office document.
const PROPERTIES: &str = "docProps/core.xml";

/// Appends the text of a Word document.
pub fn document(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    let mut package = Package::open(bytes)?;
    read_part(&mut package.required("word/document.xml")?, text, true, meaning)?;
    for kind in ["word/header", "word/footer", "word/footnotes", "word/endnotes", "word/comments"] {
        further_parts(&mut package, kind, true, meaning, text);
    }
    finish(&mut package, text)
}

/// Appends the slides of a presentation in order of their numbers, then notes and comments.
pub fn slides(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    let mut package = Package::open(bytes)?;
    let slides = numbered(&package, "ppt/slides/slide");
    if slides.is_empty() {
        package.required("ppt/presentation.xml")?;
    }
    for name in slides {
        if text.is_over() {
            break;
        }
        let read = package.required(&name).and_then(|mut part| read_part(&mut part, text, true, meaning));
        if read.is_err() {
            text.note_cut();
        }
        text.end_line();
    }
    for kind in ["ppt/notesSlides/notesSlide", "ppt/comments/", "ppt/diagrams/data"] {
        further_parts(&mut package, kind, true, meaning, text);
    }
    finish(&mut package, text)
}

/// Appends the parts whose names begin like this. A part that cannot be read is left out.
pub(super) fn further_parts(
    package: &mut Package<'_>,
    kind: &str,
    runs: bool,
    meaning: fn(&Element<'_>) -> Meaning,
    text: &mut TextBuilder,
) {
    for name in numbered(package, kind) {
        if let Ok(Some(mut part)) = package.part(&name) {
            text.end_line();
            if read_part(&mut part, text, runs, meaning).is_err() {
                text.note_cut();
            }
        }
    }
}

/// Appends the properties. See [`properties::finish`] about errors.
pub(super) fn finish(package: &mut Package<'_>, text: &mut TextBuilder) -> Result<()> {
    properties::read_part(package, PROPERTIES, text);
    properties::finish(package, text)
}

/// The names of parts that begin like this and end in `.xml`, in order of their numbers.
pub(super) fn numbered(package: &Package<'_>, begin: &str) -> Vec<String> {
    let number = |name: &str| {
        let rest = name.strip_prefix(begin)?.strip_suffix(".xml")?;
        (!rest.contains('/')).then(|| rest.parse::<u32>().unwrap_or(0))
    };
    let mut names: Vec<(u32, String)> =
        package.names().filter_map(|name| Some((number(&name)?, name.into_owned()))).collect();
    names.sort_unstable();
    names.into_iter().map(|(_, name)| name).collect()
}

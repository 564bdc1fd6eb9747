//! Paragraphs of text documents and presentations.

use model::Result;

use super::content::{Content, Extract};
use super::package::Package;
use super::paragraphs::{LineSink, Meaning, meaning_in_office, read_part};

/// Limits on the lines of a text, and on the bytes of all lines.
const MAX_LINES: usize = 2_000;
const MAX_TEXT: usize = 256 << 10;

/// Lines that are being collected.
#[derive(Default)]
struct Lines {
    done: Vec<String>,
    line: String,
    bytes: usize,
}

impl LineSink for Lines {
    fn add(&mut self, text: &str) {
        let room = MAX_TEXT.saturating_sub(self.bytes);
        self.line.push_str(&text[..text.floor_char_boundary(room)]);
        self.bytes += text.len();
    }

    fn end_line(&mut self) {
        self.done.push(std::mem::take(&mut self.line));
    }

    fn is_full(&self) -> bool {
        self.done.len() >= MAX_LINES || self.bytes >= MAX_TEXT
    }
}

impl Lines {
    fn extract(mut self, more: bool) -> Extract {
        if !self.line.is_empty() {
            self.end_line();
        }
        while self.done.last().is_some_and(|line| line.trim().is_empty()) {
            self.done.pop();
        }
        Extract { content: Content::Lines(self.done), more }
    }
}

/// Extracts the main part of a Word document.
pub fn docx(package: &mut Package<'_>) -> Result<Extract> {
    let mut part = package.required("word/document.xml")?;
    let mut lines = Lines::default();
    let whole = read_part(&mut part, &mut lines, true, meaning_in_office)?;
    Ok(lines.extract(!whole))
}

/// Extracts the slides of a presentation in order of their numbers, separated by empty lines.
pub fn pptx(package: &mut Package<'_>) -> Result<Extract> {
    let number = |name: &str| name.strip_prefix("ppt/slides/slide")?.strip_suffix(".xml")?.parse::<u32>().ok();
    let mut slides: Vec<(u32, String)> =
        package.names().filter_map(|name| Some((number(&name)?, name.into_owned()))).collect();
    slides.sort_unstable();
    if slides.is_empty() {
        package.required("ppt/presentation.xml")?;
    }
    let mut lines = Lines::default();
    for (at, (_, name)) in slides.iter().enumerate() {
        if at > 0 {
            lines.end_line();
        }
        let mut part = package.required(name)?;
        let whole = read_part(&mut part, &mut lines, true, |element| match element.name() {
            b"p" => Meaning::Paragraph,
            b"t" => Meaning::Run,
            b"br" => Meaning::Stands("\n", 1),
            b"Fallback" => Meaning::Aside,
            _ => Meaning::None,
        })?;
        if !whole {
            return Ok(lines.extract(true));
        }
    }
    Ok(lines.extract(false))
}

/// Extracts an OpenDocument text or presentation.
pub fn odf(package: &mut Package<'_>) -> Result<Extract> {
    let mut part = package.required("content.xml")?;
    let mut lines = Lines::default();
    let whole = read_part(&mut part, &mut lines, false, |element| match element.name() {
        b"p" | b"h" => Meaning::Paragraph,
        b"tab" => Meaning::Stands("\t", 1),
        b"line-break" => Meaning::Stands("\n", 1),
        b"s" => Meaning::Stands(" ", element.number("c").unwrap_or(1)),
        b"annotation" | b"tracked-changes" | b"automatic-styles" | b"notes" | b"scripts" => Meaning::Aside,
        _ => Meaning::None,
    })?;
    Ok(lines.extract(!whole))
}

//! Paragraphs of text documents and presentations.

use model::Result;

use super::content::{Content, Extract};
use super::package::Package;
use super::xml::{Element, Part, Piece};

/// Limits on the lines of a text, and on the bytes of all lines.
const MAX_LINES: usize = 2_000;
const MAX_TEXT: usize = 256 << 10;
/// Limit on the spaces that one element can represent.
const MAX_SPACES: usize = 100;

/// Lines that are being collected.
#[derive(Default)]
struct Lines {
    done: Vec<String>,
    line: String,
    bytes: usize,
}

impl Lines {
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

/// The meaning of an element for the text.
enum Meaning {
    /// A paragraph, which ends a line.
    Paragraph,
    /// A run: in formats that have runs, only text inside them counts.
    Run,
    /// Represents these characters, repeated.
    Stands(&'static str, usize),
    /// Content that is not text of the document.
    Aside,
    /// No meaning.
    None,
}

/// Reads one part. Returns whether it was read to its end.
fn read(part: &mut Part<'_>, lines: &mut Lines, runs: bool, meaning: impl Fn(&Element<'_>) -> Meaning) -> Result<bool> {
    // Counts of the open elements by meaning, and the stack of the meanings.
    let (mut paragraphs, mut running, mut aside) = (0_usize, 0_usize, 0_usize);
    let mut open: Vec<u8> = Vec::new();
    while let Some(piece) = part.next()? {
        match piece {
            Piece::Start(element) => {
                let mark = match meaning(&element) {
                    Meaning::Paragraph => b'p',
                    Meaning::Run => b'r',
                    Meaning::Aside => b'a',
                    Meaning::Stands(text, times) => {
                        if aside == 0 && paragraphs > 0 {
                            lines.add(&text.repeat(times.min(MAX_SPACES)));
                        }
                        b'-'
                    }
                    Meaning::None => b'-',
                };
                if element.empty {
                    if mark == b'p' && aside == 0 {
                        lines.end_line();
                    }
                    continue;
                }
                paragraphs += usize::from(mark == b'p');
                running += usize::from(mark == b'r');
                aside += usize::from(mark == b'a');
                open.push(mark);
            }
            Piece::End(_) => match open.pop() {
                Some(b'p') => {
                    paragraphs -= 1;
                    if aside == 0 {
                        lines.end_line();
                    }
                }
                Some(b'r') => running -= 1,
                Some(b'a') => aside -= 1,
                _ => {}
            },
            Piece::Text(text) if aside == 0 && paragraphs > 0 && (!runs || running > 0) => lines.add(&text),
            Piece::Text(_) | Piece::Other => {}
        }
        if lines.is_full() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Extracts the main part of a Word document.
pub fn docx(package: &mut Package<'_>) -> Result<Extract> {
    let mut part = package.required("word/document.xml")?;
    let mut lines = Lines::default();
    let whole = read(&mut part, &mut lines, true, |element| match element.name() {
        b"p" => Meaning::Paragraph,
        b"t" => Meaning::Run,
        b"tab" => Meaning::Stands("\t", 1),
        b"br" | b"cr" => Meaning::Stands("\n", 1),
        // `Fallback` repeats a picture or text for readers that do not know its newer form; `pPr` contains tab stops.
        b"Fallback" | b"pPr" => Meaning::Aside,
        _ => Meaning::None,
    })?;
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
        let whole = read(&mut part, &mut lines, true, |element| match element.name() {
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
    let whole = read(&mut part, &mut lines, false, |element| match element.name() {
        b"p" | b"h" => Meaning::Paragraph,
        b"tab" => Meaning::Stands("\t", 1),
        b"line-break" => Meaning::Stands("\n", 1),
        b"s" => Meaning::Stands(" ", element.number("c").unwrap_or(1)),
        b"annotation" | b"tracked-changes" | b"automatic-styles" | b"notes" | b"scripts" => Meaning::Aside,
        _ => Meaning::None,
    })?;
    Ok(lines.extract(!whole))
}

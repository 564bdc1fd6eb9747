//! Paragraphs in XML parts of documents.

use model::Result;

use super::xml::{Element, Part, Piece};

/// Limit on the spaces that one element can represent.
const MAX_SPACES: usize = 100;

/// The meaning of an element for the text.
pub enum Meaning {
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

/// Receives the text of a part.
pub trait LineSink {
    /// Appends to the line.
    fn add(&mut self, text: &str);
    /// Ends the line.
    fn end_line(&mut self);
    /// Returns whether there is enough text.
    fn is_full(&self) -> bool;
}

/// Reads one part. With `runs`, only text within runs counts. Returns whether the part was read to its end.
pub fn read_part(
    part: &mut Part<'_>,
    lines: &mut impl LineSink,
    runs: bool,
    meaning: impl Fn(&Element<'_>) -> Meaning,
) -> Result<bool> {
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
            Piece::Text(_) | Piece::Entity | Piece::Other => {}
        }
        if lines.is_full() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The meaning of an element in Word and in slides (ECMA-376).
pub fn meaning_in_office(element: &Element<'_>) -> Meaning {
    match element.name() {
        b"p" => Meaning::Paragraph,
        b"t" => Meaning::Run,
        b"tab" => Meaning::Stands("\t", 1),
        b"br" | b"cr" => Meaning::Stands("\n", 1),
        // `Fallback` repeats a picture or text for readers that do not know its newer form; `pPr` contains tab stops.
        b"Fallback" | b"pPr" => Meaning::Aside,
        _ => Meaning::None,
    }
}

//! The table of the texts that cells share.

use std::collections::{HashMap, HashSet};

use model::Result;

use super::escapes::unescaped;
use super::table::{MAX_SHEET_TEXT, too_much_text};
use crate::extract::package::Package;
use crate::extract::unreadable;
use crate::extract::xml::Piece;

/// Reads the wanted entries of the table.
pub fn read(package: &mut Package<'_>, wanted: &HashSet<usize>) -> Result<HashMap<usize, String>> {
    let mut texts = HashMap::new();
    if wanted.is_empty() {
        return Ok(texts);
    }
    let mut part = package.required("xl/sharedStrings.xml")?.strict();
    let (mut at, mut text, mut bytes) = (0_usize, String::new(), 0_usize);
    // Phonetic readings of Chinese and Japanese words are not part of the text.
    let (mut in_text, mut in_reading, mut has_ended) = (false, false, false);
    while let Some(piece) = part.next()? {
        match piece {
            Piece::Start(element) => match element.name() {
                b"si" if element.empty => {
                    if wanted.contains(&at) {
                        texts.insert(at, String::new());
                    }
                    at += 1;
                }
                b"si" => text.clear(),
                b"t" => in_text = !element.empty,
                b"rPh" => in_reading = !element.empty,
                _ => {}
            },
            Piece::End(end) => match end.name() {
                b"t" => in_text = false,
                b"rPh" => in_reading = false,
                b"si" => {
                    if wanted.contains(&at) {
                        texts.insert(at, unescaped(&text).into_owned());
                    }
                    text.clear();
                    at += 1;
                }
                b"sst" => has_ended = true,
                _ => {}
            },
            Piece::Text(more) if in_text && !in_reading && wanted.contains(&at) => {
                bytes += more.len();
                if bytes > MAX_SHEET_TEXT {
                    return Err(too_much_text());
                }
                text.push_str(&more);
            }
            Piece::Entity if in_text && wanted.contains(&at) => {
                return Err(unreadable("a text in it has a character that the workbook defines itself"));
            }
            Piece::Text(_) | Piece::Entity | Piece::Other => {}
        }
    }
    if !has_ended && !part.is_cut() {
        return Err(unreadable("its table of texts ends too early"));
    }
    Ok(texts)
}

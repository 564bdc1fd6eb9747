//! Workbooks of Excel since 2007 (ECMA-376 part 1, chapter 18): all sheets, with comments.

use std::borrow::Cow;

use model::Result;

use crate::extract::package::Package;
use crate::extract::paragraphs::Meaning;
use crate::extract::workbook::{CellFormat, displayed, shared_strings, styles};
use crate::extract::xml::{Element, Piece};

use super::document_text::{MAX_TEXT_BYTES, TextBuilder};
use super::office;

/// Limit on the bytes of a cell's own value.
const MAX_VALUE: usize = 64 << 10;

/// Appends names and cells of all sheets, row by row.
pub fn read(bytes: &[u8], text: &mut TextBuilder) -> Result<()> {
    let mut package = Package::open(bytes)?;
    sheet_names(&mut package, text)?;
    let styles = styles(&mut package)?;
    let shared = shared_strings(&mut package, MAX_TEXT_BYTES)?;
    for name in office::numbered(&package, "xl/worksheets/sheet") {
        if text.is_over() {
            break;
        }
        if cells(&mut package, &name, &styles, &shared, text).is_err() {
            text.note_cut();
        }
    }
    for kind in ["xl/comments", "xl/threadedComments/", "xl/drawings/drawing"] {
        office::further_parts(&mut package, kind, false, comment, text);
    }
    office::finish(&mut package, text)
}

/// Comments and text boxes.
fn comment(element: &Element<'_>) -> Meaning {
    match element.name() {
        b"comment" | b"threadedComment" | b"p" => Meaning::Paragraph,
        b"rPh" => Meaning::Aside,
        _ => Meaning::None,
    }
}

fn sheet_names(package: &mut Package<'_>, text: &mut TextBuilder) -> Result<()> {
    let mut workbook = package.required("xl/workbook.xml")?;
    while let Some(piece) = workbook.next()? {
        if let Piece::Start(element) = piece
            && element.name() == b"sheet"
            && let Some(name) = element.attribute("name")
        {
            text.add_words(&name);
            text.end_line();
        }
    }
    Ok(())
}

/// Kind and value of a cell that is being read.
struct Cell {
    is_shared: bool,
    format: CellFormat,
    value: String,
}

fn cells(
    package: &mut Package<'_>,
    name: &str,
    styles: &[CellFormat],
    shared: &[String],
    text: &mut TextBuilder,
) -> Result<()> {
    let mut part = package.required(name)?;
    let mut cell: Option<Cell> = None;
    let mut valued = 0_usize;
    while let Some(piece) = part.next()? {
        match piece {
            Piece::Start(element) => match element.name() {
                b"c" if !element.empty => {
                    let kind = element.attribute("t").unwrap_or(Cow::Borrowed("n"));
                    let style = element.number("s").and_then(|style| styles.get(style)).copied();
                    let format = style.filter(|_| kind == "n").unwrap_or(CellFormat::Number);
                    cell = Some(Cell { is_shared: kind == "s", format, value: String::new() });
                }
                b"v" | b"t" if !element.empty => valued += 1,
                _ => {}
            },
            Piece::End(end) => match end.name() {
                b"v" | b"t" => valued = valued.saturating_sub(1),
                b"c" => {
                    if let Some(cell) = cell.take() {
                        put(&cell, shared, text);
                    }
                }
                b"row" => text.end_line(),
                _ => {}
            },
            Piece::Text(more) if valued > 0 => {
                if let Some(cell) = &mut cell {
                    let room = MAX_VALUE.saturating_sub(cell.value.len());
                    cell.value.push_str(&more[..more.floor_char_boundary(room)]);
                }
            }
            Piece::Text(_) | Piece::Entity | Piece::Other => {}
        }
        if text.is_full() {
            text.note_cut();
            break;
        }
    }
    Ok(())
}

fn put(cell: &Cell, shared: &[String], text: &mut TextBuilder) {
    if cell.is_shared {
        let number = cell.value.parse::<usize>().ok();
        text.add(number.and_then(|number| shared.get(number)).map_or("", String::as_str));
    } else {
        text.add(&displayed(&cell.value, cell.format));
    }
    text.add("\t");
}

//! Rows of tables, and the first sheet of an OpenDocument spreadsheet.

use model::Result;

use super::content::{Content, Extract};
use super::package::Package;
use super::xml::Piece;

/// Limits on the rows and columns of a table, and on the characters of a cell.
pub(super) const MAX_ROWS: usize = 201;
pub(super) const MAX_COLUMNS: usize = 50;
const MAX_CHARS: usize = 300;
/// Limits on the cells of a sheet that are read, and on the bytes of all that are shown.
pub(super) const MAX_CELLS: usize = 500_000;
const MAX_TABLE_BYTES: usize = 1 << 20;

/// A table of rows that is being collected.
#[derive(Default)]
pub struct Rows {
    rows: Vec<Vec<String>>,
    bytes: usize,
    more: bool,
}

impl Rows {
    /// Puts a text into a cell. Row and column are counted from 0. Skipped rows and columns before it are empty.
    pub fn put(&mut self, row: usize, column: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        if row >= MAX_ROWS || column >= MAX_COLUMNS || self.bytes >= MAX_TABLE_BYTES {
            self.more = true;
            return;
        }
        let text = shortened(text);
        self.bytes += text.len();
        if self.rows.len() <= row {
            self.rows.resize(row + 1, Vec::new());
        }
        let cells = &mut self.rows[row];
        if cells.len() <= column {
            cells.resize(column + 1, String::new());
        }
        cells[column] = text;
    }

    /// Records that there is more content than was put into cells.
    pub fn note_more(&mut self) {
        self.more = true;
    }

    /// Returns the collected rows, padded to the same length.
    pub fn extract(mut self) -> Extract {
        let width = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        self.rows.iter_mut().for_each(|row| row.resize(width, String::new()));
        Extract { content: Content::Rows(self.rows), more: self.more }
    }
}

/// Shortens a text to what a cell may hold.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Appends to the text of a cell, up to the displayable length and a little more, so that a truncation is visible.
pub fn add(text: &mut String, more: &str) {
    let room = (4 * (MAX_CHARS + 1)).saturating_sub(text.len());
    text.push_str(&more[..more.floor_char_boundary(room)]);
}

/// Extracts the first table of an OpenDocument spreadsheet, with the displayed values of its cells.
pub fn ods(package: &mut Package<'_>) -> Result<Extract> {
    let mut part = package.required("content.xml")?;
    let mut rows = Rows::default();
    let (mut tables, mut row, mut column, mut cells) = (0_usize, 0_usize, 0_usize, 0_usize);
    let (mut repeated_rows, mut repeated_columns) = (1_usize, 1_usize);
    let (mut paragraphs, mut asides, mut text) = (0_usize, 0_usize, String::new());
    while let Some(piece) = part.next()? {
        match piece {
            Piece::Start(element) => match element.name() {
                b"table" => tables += 1,
                b"table-row" if !element.empty => {
                    repeated_rows = element.number("number-rows-repeated").unwrap_or(1).max(1);
                    column = 0;
                }
                b"table-row" => {
                    row = row.saturating_add(element.number("number-rows-repeated").unwrap_or(1).max(1));
                }
                b"table-cell" | b"covered-table-cell" => {
                    cells += 1;
                    if cells > MAX_CELLS {
                        rows.note_more();
                        return Ok(rows.extract());
                    }
                    repeated_columns = element.number("number-columns-repeated").unwrap_or(1).max(1);
                    if element.empty {
                        column = column.saturating_add(repeated_columns);
                    }
                    text.clear();
                }
                b"annotation" if !element.empty => asides += 1,
                b"p" if !element.empty => {
                    paragraphs += 1;
                    if !text.is_empty() && asides == 0 {
                        add(&mut text, " ");
                    }
                }
                b"s" if asides == 0 => add(&mut text, " "),
                _ => {}
            },
            Piece::End(end) => match end.name() {
                b"table" => {
                    // Further sheets are ignored.
                    return Ok(rows.extract());
                }
                b"table-row" => row = row.saturating_add(repeated_rows),
                b"table-cell" | b"covered-table-cell" => {
                    // Only non-empty cells count as more content: empty rows and columns fill a sheet to its edge.
                    rows.more |= !text.is_empty() && (row >= MAX_ROWS || column >= MAX_COLUMNS);
                    if rows.more && row >= MAX_ROWS {
                        return Ok(rows.extract());
                    }
                    for y in row..row.saturating_add(repeated_rows).min(MAX_ROWS) {
                        for x in column..column.saturating_add(repeated_columns).min(MAX_COLUMNS) {
                            rows.put(y, x, &text);
                        }
                    }
                    column = column.saturating_add(repeated_columns);
                }
                b"annotation" => asides = asides.saturating_sub(1),
                b"p" => paragraphs = paragraphs.saturating_sub(1),
                _ => {}
            },
            Piece::Text(more) if tables > 0 && paragraphs > 0 && asides == 0 => add(&mut text, &more),
            Piece::Text(_) | Piece::Entity | Piece::Other => {}
        }
    }
    Ok(rows.extract())
}

//! Reads the cells of one sheet.

use std::borrow::Cow;
use std::collections::HashSet;

use model::{Result, Timestamp};
use time::format_description::well_known::Rfc3339;
use time::{Duration, OffsetDateTime};

use super::book;
use super::dates::moment;
use super::escapes::unescaped;
use super::strings;
use super::table::{
    Cell, MAX_SHEET_CELLS, MAX_SHEET_COLUMNS, MAX_SHEET_ROWS, MAX_SHEET_TEXT, Sheet, SheetRow, name_of, too_large,
    too_many_rows, too_much_text,
};
use crate::extract::package::Package;
use crate::extract::unreadable;
use crate::extract::workbook::{CellFormat, styles};
use crate::extract::xml::{Element, Piece};

/// Maximum size in bytes of a workbook that is read.
pub const MAX_WORKBOOK_BYTES: usize = 10 << 20;
/// The last row and column that a sheet can have.
const LAST_ROW: u32 = 1_048_576;
const LAST_COLUMN: usize = 16_384;
/// Limit on the bytes of the error of a formula.
const MAX_ERROR: usize = 40;

/// Reads the sheet of a workbook that has this name, or the first one that is visible.
///
/// # Errors
/// `Invalid` with code `not_readable` if the bytes are not a workbook with such a sheet, or an encrypted one;
/// `too_much_at_once` for more than 5,000 rows below the titles; `too_large` for more than 256 columns, 500,000 cells,
/// 8 MiB of text or 64 MiB of unpacked parts.
pub fn read(bytes: &[u8], sheet: Option<&str>) -> Result<Sheet> {
    let mut package = Package::open(bytes)?;
    let place = book::find(&mut package, sheet)?;
    let styles = styles(&mut package)?;
    let found = cells(&mut package, &place.path, &styles, place.since_1904)?;
    let wanted: HashSet<usize> =
        found.iter().flat_map(|(_, cells)| cells.iter().filter_map(|(_, cell)| cell.number())).collect();
    let texts = strings::read(&mut package, &wanted)?;
    if package.is_cut() {
        return Err(too_large("it has more than 64 MiB when it is unpacked: split it into several"));
    }
    let (mut sheet, mut bytes) = (Sheet::default(), 0_usize);
    for (number, cells) in found {
        let mut row = SheetRow { number, cells: Vec::with_capacity(cells.len()) };
        for (column, cell) in cells {
            let cell = match cell {
                Found::Ready(cell) => cell,
                Found::Shared(at) => match texts.get(&at) {
                    Some(text) if text.is_empty() => continue,
                    Some(text) => Cell::Text(text.clone()),
                    None => {
                        return Err(unreadable(format!(
                            "the text of the cell {} is missing",
                            name_of(usize::from(column), number)
                        )));
                    }
                },
            };
            if let Cell::Text(text) = &cell {
                bytes += text.len();
                if bytes > MAX_SHEET_TEXT {
                    return Err(too_much_text());
                }
            }
            row.cells.push((column, cell));
        }
        if !row.cells.is_empty() {
            sheet.rows.push(row);
        }
    }
    Ok(sheet)
}

/// A cell that was read, or the number of its text in the table of shared ones.
enum Found {
    Ready(Cell),
    Shared(usize),
}

impl Found {
    fn number(&self) -> Option<usize> {
        match self {
            Self::Shared(number) => Some(*number),
            Self::Ready(_) => None,
        }
    }
}

/// A cell that is being read.
struct Open {
    column: usize,
    kind: Kind,
    format: CellFormat,
    value: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number,
    Shared,
    Text,
    Inline,
    Boolean,
    Date,
    Error,
}

type Rows = Vec<(u32, Vec<(u16, Found)>)>;

/// Position of the reader in the sheet.
#[derive(Default)]
struct Position {
    /// The row, counted from 1; 0 before the first one.
    row: u32,
    /// The column of the next cell without a name, counted from 0.
    column: usize,
}

impl Position {
    fn begin_row(&mut self, element: &Element<'_>) -> Result<()> {
        let row = match element.attribute("r") {
            None => self.row + 1,
            Some(number) => number.parse().map_err(|_| unreadable("a row in it has no number"))?,
        };
        if row <= self.row || row > LAST_ROW {
            return Err(unreadable(format!("the row after row {} has the number {row}", self.row)));
        }
        *self = Self { row, column: 0 };
        Ok(())
    }

    /// Returns the column of a cell.
    fn begin_cell(&mut self, element: &Element<'_>) -> Result<usize> {
        let column = match element.attribute("r") {
            None => self.column,
            Some(name) => {
                let bad = || {
                    let shown: String = name.escape_debug().take(20).collect();
                    unreadable(format!("a cell in row {} has the name {shown}", self.row))
                };
                column_of(&name, self.row).filter(|column| *column >= self.column).ok_or_else(bad)?
            }
        };
        self.column = column + 1;
        Ok(column)
    }
}

/// Returns the column of a cell name such as `AB12` in its row.
fn column_of(name: &str, row: u32) -> Option<usize> {
    let end = name.find(|c: char| !c.is_ascii_uppercase()).filter(|end| (1..=3).contains(end))?;
    let (letters, digits) = name.split_at(end);
    let column = letters.bytes().fold(0, |sum, letter| sum * 26 + usize::from(letter - b'A') + 1);
    let fits = column <= LAST_COLUMN && digits.bytes().all(|byte| byte.is_ascii_digit());
    fits.then_some(digits).filter(|digits| digits.parse() == Ok(row)).map(|_| column - 1)
}

fn cells(package: &mut Package<'_>, path: &str, styles: &[CellFormat], since_1904: bool) -> Result<Rows> {
    let mut part = package.required(path)?.strict();
    let (mut rows, mut row, mut count) = (Rows::new(), Vec::new(), 0_usize);
    let (mut at, mut cell): (_, Option<Open>) = (Position::default(), None);
    let (mut in_row, mut in_value, mut in_text, mut in_reading, mut has_ended) = (false, false, false, false, false);
    while let Some(piece) = part.next()? {
        match piece {
            _ if has_ended => {}
            Piece::Start(element) => match element.name() {
                b"row" if in_row => return Err(unreadable("its rows are not one after the other")),
                b"row" => {
                    at.begin_row(&element)?;
                    in_row = !element.empty;
                }
                b"c" if cell.is_some() || !in_row => return Err(unreadable("its cells are not in rows")),
                b"c" => {
                    let column = at.begin_cell(&element)?;
                    cell = (!element.empty).then(|| open(&element, column, styles)).transpose()?;
                }
                b"v" => in_value = !element.empty,
                b"t" => in_text = !element.empty,
                b"rPh" => in_reading = !element.empty,
                b"sheetData" => has_ended = element.empty,
                _ => {}
            },
            Piece::End(end) => match end.name() {
                b"v" => in_value = false,
                b"t" => in_text = false,
                b"rPh" => in_reading = false,
                b"c" => {
                    if let Some((column, found)) =
                        cell.take().map(|cell| close(cell, at.row, since_1904)).transpose()?.flatten()
                    {
                        count += 1;
                        if count > MAX_SHEET_CELLS {
                            return Err(too_large(format!(
                                "the sheet has more than {MAX_SHEET_CELLS} cells: split it into several"
                            )));
                        }
                        row.push((column, found));
                    }
                }
                b"row" => {
                    in_row = false;
                    if row.is_empty() {
                        continue;
                    }
                    if rows.len() == MAX_SHEET_ROWS {
                        return Err(too_many_rows());
                    }
                    rows.push((at.row, std::mem::take(&mut row)));
                }
                b"sheetData" => has_ended = true,
                _ => {}
            },
            Piece::Text(more) => {
                if let Some(cell) = &mut cell
                    && (if cell.kind == Kind::Inline { in_text && !in_reading } else { in_value })
                {
                    cell.value.push_str(&more);
                    if cell.value.len() > MAX_SHEET_TEXT {
                        return Err(too_much_text());
                    }
                }
            }
            Piece::Entity if in_value || in_text => {
                return Err(unreadable("a text in it has a character that the workbook defines itself"));
            }
            Piece::Entity | Piece::Other => {}
        }
    }
    if !has_ended && !part.is_cut() {
        return Err(unreadable("the sheet ends too early"));
    }
    Ok(rows)
}

fn open(element: &Element<'_>, column: usize, styles: &[CellFormat]) -> Result<Open> {
    let kind = element.attribute("t").unwrap_or(Cow::Borrowed("n"));
    let kind = match &*kind {
        "n" => Kind::Number,
        "s" => Kind::Shared,
        "str" => Kind::Text,
        "inlineStr" => Kind::Inline,
        "b" => Kind::Boolean,
        "d" => Kind::Date,
        "e" => Kind::Error,
        other => {
            let shown: String = other.escape_debug().take(20).collect();
            return Err(unreadable(format!("a cell in it has the unknown type {shown}")));
        }
    };
    let format = element.number("s").and_then(|style| styles.get(style)).copied().unwrap_or(CellFormat::Number);
    Ok(Open { column, kind, format, value: String::new() })
}

/// Returns a cell that was read to its end, with its column; `None` for an empty one.
fn close(cell: Open, row: u32, since_1904: bool) -> Result<Option<(u16, Found)>> {
    if cell.value.is_empty() {
        return Ok(None);
    }
    let name = || name_of(cell.column, row);
    if cell.column >= MAX_SHEET_COLUMNS {
        return Err(too_large(format!(
            "the cell {} is beyond the first {MAX_SHEET_COLUMNS} columns: move it to the left, or delete it",
            name()
        )));
    }
    let value = cell.value.as_str();
    let bad = || unreadable(format!("the value of the cell {} does not have its type", name()));
    let found = match cell.kind {
        Kind::Shared => Found::Shared(value.trim().parse().map_err(|_| bad())?),
        Kind::Text | Kind::Inline => Found::Ready(Cell::Text(unescaped(value).into_owned())),
        Kind::Number => Found::Ready(number(value, cell.format, since_1904).ok_or_else(bad)?),
        Kind::Date => Found::Ready(Cell::Date(iso_date(value.trim()).ok_or_else(bad)?)),
        Kind::Error => Found::Ready(Cell::Error(value[..value.floor_char_boundary(MAX_ERROR)].to_owned())),
        Kind::Boolean => Found::Ready(Cell::Boolean(match value.trim() {
            "1" | "true" => true,
            "0" | "false" => false,
            _ => return Err(bad()),
        })),
    };
    let column = u16::try_from(cell.column).map_err(|_| bad())?;
    Ok(Some((column, found)))
}

/// Reads a stored number in the format of its cell. One that the format cannot show stays a number.
fn number(text: &str, format: CellFormat, since_1904: bool) -> Option<Cell> {
    let text = text.trim();
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'-' | b'+' | b'.' | b'e' | b'E'));
    let number = text.parse::<f64>().ok().filter(|number| is_plain && number.is_finite())?;
    let time = || {
        let millis = (number * 86_400_000.0).round();
        (0.0..1e15).contains(&millis).then_some(Cell::Time(millis as u64))
    };
    let date = || moment(number, since_1904).map(Cell::Date);
    let shown = match format {
        CellFormat::Number => None,
        CellFormat::Elapsed => time(),
        CellFormat::Time if number < 1.0 => time(),
        CellFormat::Day | CellFormat::Time | CellFormat::DayAndTime => date(),
    };
    Some(shown.unwrap_or(Cell::Number(number)))
}

/// Reads a time as strict workbooks store it: `2026-11-28`, or with a time of the day, in UTC.
fn iso_date(text: &str) -> Option<Timestamp> {
    let whole = match text.len() {
        10 => format!("{text}T00:00:00Z"),
        _ if text.ends_with('Z') => text.to_owned(),
        _ => format!("{text}Z"),
    };
    let at = OffsetDateTime::parse(&whole, &Rfc3339).ok()? - OffsetDateTime::UNIX_EPOCH;
    let millis = i64::try_from(at.whole_milliseconds()).ok()?;
    (at >= Duration::days(-719_162)).then(|| Timestamp::from_micros(millis.saturating_mul(1_000)))
}

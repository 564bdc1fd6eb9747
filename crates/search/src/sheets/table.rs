//! Rows of typed cells, and the limits on them.

use std::borrow::Cow;

use model::{Code, Error, Timestamp};

/// Limit on the rows of a sheet that are not empty: the titles and 5,000 others.
pub const MAX_SHEET_ROWS: usize = 5_001;
/// Limit on the columns of a sheet that are not empty.
pub const MAX_SHEET_COLUMNS: usize = 256;
/// Limits on the cells of a sheet that are not empty, and on the bytes of all their texts.
pub const MAX_SHEET_CELLS: usize = 500_000;
pub const MAX_SHEET_TEXT: usize = 8 << 20;

/// The rows of a sheet that are not empty, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sheet {
    /// The rows.
    pub rows: Vec<SheetRow>,
}

/// A row of a sheet.
#[derive(Clone, Debug, PartialEq)]
pub struct SheetRow {
    /// Number of the row in the sheet, counted from 1.
    pub number: u32,
    /// The cells that are not empty, with their columns in ascending order, counted from 0.
    pub cells: Vec<(u16, Cell)>,
}

/// The value of a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// A text, which is not empty.
    Text(String),
    /// A finite number.
    Number(f64),
    /// A Boolean.
    Boolean(bool),
    /// A day or a time of a day, in UTC.
    Date(Timestamp),
    /// A time without a day, or a duration, in milliseconds.
    Time(u64),
    /// The error of a formula, such as `#N/A`.
    Error(String),
}

/// Returns the error for a workbook that has too much of something.
pub fn too_large(why: impl Into<Cow<'static, str>>) -> Error {
    Error::invalid(why).with_code(Code::TooLarge)
}

/// Returns the error for texts that are longer together than the limit.
pub fn too_much_text() -> Error {
    too_large("the texts in the sheet have more than 8 MiB: split it into several")
}

/// Returns the error for a sheet with more rows than the limit.
pub fn too_many_rows() -> Error {
    let most = MAX_SHEET_ROWS - 1;
    Error::invalid(format!("the sheet has more than {most} rows: split it into several")).with_code(Code::TooMuchAtOnce)
}

/// Returns the name of a cell, such as `B7`. The column is counted from 0, the row from 1.
pub fn name_of(column: usize, row: u32) -> String {
    let (mut letters, mut rest) = (Vec::new(), column + 1);
    while rest > 0 {
        letters.push(char::from(b'A' + ((rest - 1) % 26) as u8));
        rest = (rest - 1) / 26;
    }
    letters.iter().rev().collect::<String>() + &row.to_string()
}

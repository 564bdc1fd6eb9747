//! The messages between the server and a child that reads cells. Both sides check lengths and counts before they take
//! memory for them.
//!
//! | message | bytes |
//! |---|---|
//! | order | length of the sheet's name (2), its name, the workbook; without a name, the first sheet is meant |
//! | answer with a sheet | 1, number of rows (4), the rows |
//! | answer with a refusal | 2, its code as a text, its reason as a text |
//! | row | its number (4), number of cells (2), the cells |
//! | cell | column (2), kind (1), its value: a text, or 1 byte for a Boolean, or 8 |
//! | text | length (4), UTF-8 |
//!
//! Numbers are little-endian.

use std::io::{self, Read};

use model::{Error, Result, Timestamp};

use super::reader::MAX_WORKBOOK_BYTES;
use super::table::{Cell, MAX_SHEET_CELLS, MAX_SHEET_ROWS, MAX_SHEET_TEXT, Sheet, SheetRow};

/// Limit on the bytes of an answer: all cells with their texts, and all rows.
pub const MAX_ANSWER: usize = MAX_SHEET_TEXT + 12 * MAX_SHEET_CELLS + 6 * MAX_SHEET_ROWS + 64;
/// Limit on the bytes of a sheet's name.
const MAX_NAME: usize = 1 << 10;

/// Kinds of answers.
const SHEET: u8 = 1;
const REFUSED: u8 = 2;
/// Kinds of cells.
const TEXT: u8 = 0;
const NUMBER: u8 = 1;
const BOOLEAN: u8 = 2;
const DATE: u8 = 3;
const TIME: u8 = 4;
const ERROR: u8 = 5;

/// The answer of a child.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Read(Sheet),
    /// The workbook cannot be read: the code, and the reason.
    Refused(String, String),
}

/// Returns the bytes that precede the workbook in an order.
pub fn head(sheet: Option<&str>) -> Vec<u8> {
    let name = sheet.unwrap_or_default();
    let name = &name[..name.floor_char_boundary(MAX_NAME)];
    let mut out = (name.len() as u16).to_le_bytes().to_vec();
    out.extend_from_slice(name.as_bytes());
    out
}

/// Receives an order in a child: the workbook, and the name of the sheet.
pub fn receive(from: &mut impl Read) -> io::Result<(Vec<u8>, Option<String>)> {
    let mut length = [0; 2];
    from.read_exact(&mut length)?;
    let mut name = vec![0; usize::from(u16::from_le_bytes(length)).min(MAX_NAME)];
    from.read_exact(&mut name)?;
    let name = String::from_utf8(name).map_err(io::Error::other)?;
    let mut workbook = Vec::new();
    from.take(MAX_WORKBOOK_BYTES as u64 + 1).read_to_end(&mut workbook)?;
    if workbook.len() > MAX_WORKBOOK_BYTES {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok((workbook, Some(name).filter(|name| !name.is_empty())))
}

/// Formats an answer.
pub fn answer(read: &Result<Sheet>) -> Vec<u8> {
    let mut out = Vec::new();
    match read {
        Ok(sheet) => {
            out.push(SHEET);
            out.extend((sheet.rows.len() as u32).to_le_bytes());
            sheet.rows.iter().for_each(|row| put_row(&mut out, row));
        }
        Err(error) => put_refusal(&mut out, error),
    }
    out
}

fn put_refusal(out: &mut Vec<u8>, error: &Error) {
    out.push(REFUSED);
    put_text(out, error.code().as_str());
    put_text(out, error.message());
}

fn put_row(out: &mut Vec<u8>, row: &SheetRow) {
    out.extend(row.number.to_le_bytes());
    out.extend((row.cells.len() as u16).to_le_bytes());
    for (column, cell) in &row.cells {
        out.extend(column.to_le_bytes());
        let mut put = |kind: u8, bytes: &[u8]| {
            out.push(kind);
            out.extend_from_slice(bytes);
        };
        match cell {
            Cell::Number(number) => put(NUMBER, &number.to_le_bytes()),
            Cell::Boolean(yes) => put(BOOLEAN, &[u8::from(*yes)]),
            Cell::Date(at) => put(DATE, &at.micros().to_le_bytes()),
            Cell::Time(millis) => put(TIME, &millis.to_le_bytes()),
            Cell::Text(text) => {
                put(TEXT, &[]);
                put_text(out, text);
            }
            Cell::Error(text) => {
                put(ERROR, &[]);
                put_text(out, text);
            }
        }
    }
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u32).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// Reads an answer; `None` for one that is against the rules.
pub fn read_answer(bytes: &[u8]) -> Option<Answer> {
    let mut rest = Rest(bytes);
    let answer = match rest.byte()? {
        SHEET => Answer::Read(rest.sheet()?),
        REFUSED => Answer::Refused(rest.text()?, rest.text()?),
        _ => return None,
    };
    rest.0.is_empty().then_some(answer)
}

/// The bytes of an answer that are still to be read.
struct Rest<'a>(&'a [u8]);

impl Rest<'_> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*first)
    }

    fn byte(&mut self) -> Option<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn text(&mut self) -> Option<String> {
        let length = u32::from_le_bytes(self.array()?) as usize;
        let (text, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        std::str::from_utf8(text).ok().map(str::to_owned)
    }

    fn sheet(&mut self) -> Option<Sheet> {
        let count = u32::from_le_bytes(self.array()?) as usize;
        if count > MAX_SHEET_ROWS {
            return None;
        }
        let (mut sheet, mut cells) = (Sheet::default(), 0);
        for _ in 0..count {
            let number = u32::from_le_bytes(self.array()?);
            let count = u16::from_le_bytes(self.array()?);
            cells += usize::from(count);
            if cells > MAX_SHEET_CELLS {
                return None;
            }
            let cells = (0..count).map(|_| Some((u16::from_le_bytes(self.array()?), self.cell()?)));
            sheet.rows.push(SheetRow { number, cells: cells.collect::<Option<_>>()? });
        }
        Some(sheet)
    }

    fn cell(&mut self) -> Option<Cell> {
        Some(match self.byte()? {
            TEXT => Cell::Text(self.text()?),
            NUMBER => Cell::Number(Some(f64::from_le_bytes(self.array()?)).filter(|number| number.is_finite())?),
            BOOLEAN => Cell::Boolean(self.byte()? == 1),
            DATE => Cell::Date(Timestamp::from_micros(i64::from_le_bytes(self.array()?))),
            TIME => Cell::Time(u64::from_le_bytes(self.array()?)),
            ERROR => Cell::Error(self.text()?),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use model::Code;

    use super::*;

    #[test]
    fn orders_and_answers_come_back() {
        for name in [None, Some("Größe")] {
            let order = [head(name), b"workbook".to_vec()].concat();
            let (workbook, sheet) = receive(&mut order.as_slice()).unwrap();
            assert_eq!((workbook.as_slice(), sheet.as_deref()), (&b"workbook"[..], name));
        }
        let cells = [
            Cell::Text("Größe".into()),
            Cell::Number(-0.1),
            Cell::Boolean(true),
            Cell::Date(Timestamp::from_micros(-1)),
            Cell::Time(u64::MAX),
            Cell::Error("#N/A".into()),
        ];
        let cells = (0_u16..).zip(cells).collect();
        let row = SheetRow { number: 1_048_576, cells };
        let sheet = Sheet { rows: vec![row.clone(), SheetRow { number: 2, cells: Vec::new() }, row] };
        let bytes = answer(&Ok(sheet.clone()));
        assert_eq!(read_answer(&bytes), Some(Answer::Read(sheet)));
        for end in 0..bytes.len() {
            assert_eq!(read_answer(&bytes[..end]), None, "cut at {end}");
        }
        let refused = answer(&Err(Error::invalid("why").with_code(Code::TooLarge)));
        assert_eq!(read_answer(&refused), Some(Answer::Refused("too_large".into(), "why".into())));
    }

    #[test]
    fn what_is_against_the_rules_takes_no_memory() {
        let rows = [&[SHEET][..], &u32::MAX.to_le_bytes()].concat();
        let text = [&[REFUSED][..], &u32::MAX.to_le_bytes()].concat();
        let number = [&[SHEET, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, NUMBER][..], &f64::NAN.to_le_bytes()].concat();
        for bad in [&rows[..], &text, &number, &[9], &[], &[SHEET, 0, 0, 0, 0, 0]] {
            assert_eq!(read_answer(bad), None, "{bad:?}");
        }
        let long = [head(None), vec![0; MAX_WORKBOOK_BYTES + 1]].concat();
        assert!(receive(&mut long.as_slice()).is_err());
        assert!(head(Some(&"é".repeat(MAX_NAME))).len() <= MAX_NAME + 2);
    }
}

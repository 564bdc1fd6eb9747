//! A file of rows as it is read, before its fields are values.

use std::collections::HashMap;

use model::{Code, Error, Result, fold};
use repository::{Cell, Column, Sheet};

use super::fields::{BYTE_ORDER_MARK, NUMBER, Notation, date, elapsed, plain};

/// Limit on the rows that are read from one file.
const MAX_FILE_ROWS: usize = 5_000;
/// Limit on the titles in the first line.
const MAX_TITLES: usize = 1_000;

/// A file of rows: CSV, separated by commas, semicolons or tabs, or the cells of a workbook.
pub struct Table {
    pub(super) notation: Notation,
    /// Line and fields of each row.
    pub(super) rows: Vec<(u64, Vec<String>)>,
    /// Rows that cannot be read, with their reasons.
    pub(super) faults: Vec<(u64, String)>,
}

impl Table {
    /// Reads a file. Lines without any text are left out.
    ///
    /// # Errors
    /// `Invalid` for bytes that are not UTF-8 or not a table, and with code `too_much_at_once` for more than 5,000
    /// rows.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Error::invalid("the file is not UTF-8: save it as \"CSV UTF-8\" and try again"))?;
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let separator = separator_of(text);
        let mut reader = csv::ReaderBuilder::new()
            .delimiter(separator)
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        let mut rows = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| Error::invalid(format!("the file is not a table: {error}")))?;
            if record.iter().all(|field| field.trim().is_empty()) {
                continue;
            }
            // One more for the titles.
            if rows.len() > MAX_FILE_ROWS {
                return Err(too_many());
            }
            let line = record.position().map_or(0, csv::Position::line);
            rows.push((line, record.iter().map(ToOwned::to_owned).collect()));
        }
        Ok(Self { notation: Notation::Csv(separator), rows, faults: Vec::new() })
    }

    /// Reads a table that somebody typed or pasted, as [`Table::read`] reads a file. Its numbers have these separators
    /// of thousands and decimals.
    ///
    /// # Errors
    /// Those of [`Table::read`].
    pub fn typed(text: &str, marks: (char, char)) -> Result<Self> {
        Ok(Self { notation: Notation::Typed(marks), ..Self::read(text.as_bytes())? })
    }

    /// Takes the cells of a sheet. A row with the error of a formula is left out and reported. The line of a row is its
    /// number in the sheet.
    ///
    /// # Errors
    /// `Invalid` with code `too_much_at_once` for more than 5,000 rows; `Invalid` for an error among the titles.
    pub fn of_sheet(sheet: Sheet) -> Result<Self> {
        let mut table = Self { notation: Notation::Cells, rows: Vec::new(), faults: Vec::new() };
        for row in sheet.rows {
            let line = u64::from(row.number);
            let mut fields = Vec::new();
            let mut fault = None;
            for (column, cell) in row.cells {
                fields.resize(usize::from(column), String::new());
                fields.push(match cell {
                    Cell::Text(text) => text,
                    Cell::Number(number) => plain(number),
                    Cell::Boolean(yes) => yes.to_string(),
                    Cell::Date(at) => date(at),
                    Cell::Time(millis) => elapsed(millis),
                    Cell::Error(text) => {
                        let shown: String = text.escape_debug().take(40).collect();
                        fault.get_or_insert_with(|| {
                            format!("the formula in column {} of the sheet has the error {shown}", column + 1)
                        });
                        String::new()
                    }
                });
            }
            match fault {
                Some(fault) if table.rows.is_empty() => return Err(Error::invalid(fault)),
                Some(fault) => table.faults.push((line, fault)),
                None if fields.iter().all(|field| field.trim().is_empty()) => continue,
                None => table.rows.push((line, fields)),
            }
            // One more for the titles.
            if table.rows.len() + table.faults.len() > MAX_FILE_ROWS + 1 {
                return Err(too_many());
            }
        }
        Ok(table)
    }

    /// Takes the titles off the table, and returns the column of each field; `None` for the numbers of rows. A table
    /// whose first row is not made of titles has the columns of the list in their order.
    pub(super) fn take_titles(&mut self, columns: &[Column]) -> Result<Vec<Option<Column>>> {
        let Some((_, first)) = self.rows.first() else { return Ok(Vec::new()) };
        if first.len() > MAX_TITLES {
            return Err(Error::invalid(format!(
                "the first line has {} fields, but the list has {} columns",
                first.len(),
                columns.len()
            )));
        }
        let by_name: HashMap<String, &Column> = columns.iter().map(|column| (fold(&column.name), column)).collect();
        let find = |title: &str| by_name.get(&fold(self.notation.bare(title.trim()))).copied();
        let known = first.iter().filter(|title| title.trim() == NUMBER || find(title).is_some()).count();
        if known == 0 {
            let widest = self.rows.iter().map(|(_, fields)| fields.len()).max().unwrap_or(0);
            if widest > columns.len() {
                return Err(Error::invalid(format!(
                    "the rows have {widest} fields, but the list has {} columns: name the columns in the first line",
                    columns.len()
                )));
            }
            return Ok(columns.iter().cloned().map(Some).collect());
        }
        let mut found: Vec<Option<Column>> = Vec::new();
        for title in first {
            let column = if title.trim() == NUMBER { None } else { find(title).cloned() };
            if column.is_none() && title.trim() != NUMBER {
                let shown: String = title.escape_debug().take(80).collect();
                return Err(Error::invalid(format!(
                    "the list has no column \"{shown}\": correct the first line, or create the column first"
                )));
            }
            let id = |column: &Option<Column>| column.as_ref().map(|column| column.id);
            if found.iter().any(|known| id(known) == id(&column)) {
                let shown: String = title.trim().escape_debug().take(80).collect();
                return Err(Error::invalid(format!("the first line has \"{shown}\" twice")));
            }
            found.push(column);
        }
        self.rows.remove(0);
        Ok(found)
    }
}

fn too_many() -> Error {
    Error::invalid(format!("the file has more than {MAX_FILE_ROWS} rows: split it into several"))
        .with_code(Code::TooMuchAtOnce)
}

/// Returns the separator between the fields of a table, as its first line tells. Semicolons and commas also stand
/// within fields, and tabs hardly ever do, so one tab outweighs them. The comma wins a tie, because it is the most
/// common.
fn separator_of(text: &str) -> u8 {
    let (mut is_quoted, mut tabs, mut semicolons, mut commas) = (false, 0, 0, 0);
    let mut before = b',';
    for byte in text.bytes() {
        match byte {
            b'"' if is_quoted => is_quoted = false,
            // Marks enclose a whole field, or are doubled within one that is enclosed.
            b'"' if b",;\t\"".contains(&before) => is_quoted = true,
            _ if is_quoted => {}
            b'\n' | b'\r' => break,
            b'\t' => tabs += 1,
            b';' => semicolons += 1,
            b',' => commas += 1,
            _ => {}
        }
        before = byte;
    }
    if tabs > 0 {
        b'\t'
    } else if semicolons > commas {
        b';'
    } else {
        b','
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

    use model::Timestamp;
    use repository::SheetRow;

    use super::super::fields::line;

    #[test]
    fn lines_are_read_as_they_are_written() {
        let fields = ["1", "a,b", "say \"no\"", "two\nlines", " spaced ", "a;b", ""];
        let text = line(fields.iter().map(|field| Cow::Borrowed(*field)));
        let table = Table::read(format!("{BYTE_ORDER_MARK}{text}{text}\r\n,,,\r\n").as_bytes()).unwrap();
        assert_eq!(table.rows.len(), 2);
        assert!(table.rows.iter().all(|(_, row)| row == &fields));
        assert_eq!(Table::read(b"a;b\n1,5;2").unwrap().rows[1].1, ["1,5", "2"]);
        assert_eq!(Table::read(b"a\tb\n1\t2").unwrap().rows[1].1, ["1", "2"]);
        assert!(Table::read(b"\xff\xfe").is_err());
        let many = "x\n".repeat(MAX_FILE_ROWS + 2);
        assert_eq!(Table::read(many.as_bytes()).err().unwrap().code(), Code::TooMuchAtOnce);
    }

    #[test]
    fn cells_become_the_texts_that_csv_has() {
        let cells = [
            Cell::Text("'quoted ".into()),
            Cell::Number(0.1),
            Cell::Number(1e300),
            Cell::Boolean(true),
            Cell::Date(Timestamp::from_micros(86_400_000_000)),
            Cell::Date(Timestamp::from_micros(1_500_000)),
            Cell::Time(129_600_500),
        ];
        let row = |number, cells| SheetRow { number, cells };
        let titles = row(2, vec![(0, Cell::Text("Title".into()))]);
        let fault = row(9, vec![(0, Cell::Text("x".into())), (3, Cell::Error("#N/A".into()))]);
        let spaces = row(7, vec![(1, Cell::Text(" ".into()))]);
        let cells = row(5, (1..).zip(cells).collect());
        let table = Table::of_sheet(Sheet { rows: vec![titles.clone(), cells, spaces, fault.clone()] }).unwrap();
        let expected = ["", "'quoted ", "0.1", "1e300", "true", "1970-01-02", "1970-01-01T00:00:01.5Z", "36:00:00.500"];
        assert_eq!(table.rows, [(2, vec!["Title".to_owned()]), (5, expected.map(str::to_owned).to_vec())]);
        assert_eq!(table.faults.len(), 1);
        assert_eq!(table.faults[0].0, 9);
        assert!(Table::of_sheet(Sheet { rows: vec![fault] }).is_err(), "an error among the titles");
        let many = Sheet { rows: vec![titles; MAX_FILE_ROWS + 2] };
        assert_eq!(Table::of_sheet(many).err().unwrap().code(), Code::TooMuchAtOnce);
    }

    #[test]
    fn separators_within_fields_do_not_count() {
        for (text, separator) in [
            ("Buy\tred; green; blue\tsoon", b'\t'),
            ("Title;Due;Note, if any", b';'),
            ("\"a; b; c\",x", b','),
            ("\"a;\"\"b;\"\"\n;c;\",x,y", b','),
            ("5\" pipe;a;b", b';'),
            ("one", b','),
        ] {
            assert_eq!(separator_of(text), separator, "{text}");
        }
    }
}

//! A file of rows as it is read, before its fields are values.

use std::collections::HashMap;

use model::{Code, Error, Result, fold};
use repository::Column;

use super::fields::{BYTE_ORDER_MARK, NUMBER, bare};

/// Limit on the rows that are read from one file.
const MAX_FILE_ROWS: usize = 5_000;
/// Limit on the titles in the first line.
const MAX_TITLES: usize = 1_000;

/// A file of rows, separated by commas, semicolons or tabs.
pub struct Table {
    pub(super) separator: u8,
    /// Line and fields of each row.
    pub(super) rows: Vec<(u64, Vec<String>)>,
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
        let first = text.lines().next().unwrap_or_default();
        let count = |mark: u8| first.bytes().filter(|byte| *byte == mark).count();
        // The comma wins a tie, because it is the most common separator.
        let separator =
            [b';', b'\t', b','].into_iter().max_by_key(|mark| (count(*mark), *mark == b',')).unwrap_or(b',');
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
                return Err(Error::invalid(format!(
                    "the file has more than {MAX_FILE_ROWS} rows: split it into several"
                ))
                .with_code(Code::TooMuchAtOnce));
            }
            let line = record.position().map_or(0, csv::Position::line);
            rows.push((line, record.iter().map(ToOwned::to_owned).collect()));
        }
        Ok(Self { separator, rows })
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
        let find = |title: &str| by_name.get(&fold(bare(title.trim()))).copied();
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::borrow::Cow;

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
}

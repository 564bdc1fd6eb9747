//! Tables stored as text: CSV with any common separator.

/// Limits on displayed rows, columns, and characters per cell.
const MAX_ROWS: usize = 200;
const MAX_COLUMNS: usize = 50;
const MAX_CHARS: usize = 300;

/// A table of text.
#[derive(Debug, PartialEq)]
pub struct Sheet {
    /// First row, usually the column titles.
    pub head: Vec<String>,
    /// Remaining rows.
    pub rows: Vec<Vec<String>>,
}

/// Parses a table. Also returns whether there is more than the limits allow. `None` when the text is not a table.
pub fn read(text: &str) -> Option<(Sheet, bool)> {
    let first = text.lines().next()?;
    let separator = [b';', b'\t', b',', b'|'].into_iter().max_by_key(|mark| {
        let found = first.bytes().filter(|byte| byte == mark).count();
        // The comma wins a tie, because it is the most common separator.
        (found, *mark == b',')
    })?;
    let mut reader =
        csv::ReaderBuilder::new().delimiter(separator).has_headers(false).flexible(true).from_reader(text.as_bytes());
    let mut more = false;
    let mut rows = Vec::new();
    for record in reader.records() {
        let Ok(record) = record else { return None };
        if rows.len() > MAX_ROWS {
            more = true;
            break;
        }
        more |= record.len() > MAX_COLUMNS;
        rows.push(record.iter().take(MAX_COLUMNS).map(short).collect::<Vec<_>>());
    }
    let width = rows.iter().map(Vec::len).max()?;
    rows.iter_mut().for_each(|row| row.resize(width, String::new()));
    let head = rows.remove(0);
    Some((Sheet { head, rows }, more))
}

fn short(cell: &str) -> String {
    match cell.char_indices().nth(MAX_CHARS) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_found_and_rows_made_even() {
        let (sheet, more) = read("Name;Price\n\"a;b\";1,50\nc\n").unwrap();
        assert_eq!(sheet.head, ["Name", "Price"]);
        assert_eq!(sheet.rows, [["a;b", "1,50"], ["c", ""]]);
        assert!(!more);
        assert_eq!(read("a\tb\n").unwrap().0.head, ["a", "b"]);
        assert_eq!(read("only\n1\n").unwrap().0.rows, [["1"]]);
        assert!(read("").is_none());
    }

    #[test]
    fn large_tables_are_cut() {
        let (sheet, more) = read(&"1,2\n".repeat(500)).unwrap();
        assert!(more);
        assert!(sheet.rows.len() == MAX_ROWS);
        let (sheet, more) = read(&format!("{}\n", "x,".repeat(100))).unwrap();
        assert!(more);
        assert!(sheet.head.len() == MAX_COLUMNS);
        assert_eq!(read(&"y".repeat(1_000)).unwrap().0.head[0].chars().count(), MAX_CHARS + 1);
    }
}

//! The first sheet of an Excel workbook (ECMA-376 part 1, chapter 18).

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};

use model::Result;
use time::OffsetDateTime;

use super::content::{Extract, unreadable};
use super::package::Package;
use super::sheet::{MAX_CELLS, MAX_COLUMNS, MAX_ROWS, Rows, add};
use super::xml::Piece;

/// Limit on the number of cell styles.
const MAX_STYLES: usize = 65_536;

/// The display format of a number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum CellFormat {
    Number,
    Day,
    Time,
    DayAndTime,
    /// A duration, which may be longer than a day.
    Elapsed,
}

/// The stored content of a cell.
struct Cell {
    value: String,
    /// Set if the value is the index of a shared string.
    shared: bool,
    shown: CellFormat,
}

/// Extracts the first sheet of a workbook.
pub fn xlsx(package: &mut Package<'_>) -> Result<Extract> {
    let path = first_sheet(package)?;
    let styles = styles(package)?;
    let (cells, more) = cells(package, &path, &styles)?;
    let number = |cell: &Cell| cell.value.parse::<usize>().ok().filter(|_| cell.shared);
    let texts = shared_texts(package, &cells.values().filter_map(number).collect())?;
    let mut rows = Rows::default();
    for ((row, column), cell) in &cells {
        match number(cell) {
            Some(number) => rows.put(*row, *column, texts.get(&number).map_or("", String::as_str)),
            None => rows.put(*row, *column, &displayed(&cell.value, cell.shown)),
        }
    }
    if more {
        rows.note_more();
    }
    Ok(rows.extract())
}

/// Returns the path of the sheet that the workbook lists first.
fn first_sheet(package: &mut Package<'_>) -> Result<String> {
    let mut first = None;
    let mut workbook = package.required("xl/workbook.xml")?;
    while let Some(piece) = workbook.next()? {
        if let Piece::Start(element) = piece
            && element.name() == b"sheet"
        {
            first = element.attribute("id").map(Cow::into_owned);
            break;
        }
    }
    drop(workbook);
    let first = first.ok_or_else(|| unreadable("it has no sheet"))?;
    let mut relations = package.required("xl/_rels/workbook.xml.rels")?;
    while let Some(piece) = relations.next()? {
        if let Piece::Start(element) = piece
            && element.attribute("Id").is_some_and(|id| id == first)
            && let Some(target) = element.attribute("Target")
        {
            return Ok(target.strip_prefix('/').map_or_else(|| format!("xl/{target}"), str::to_owned));
        }
    }
    Err(unreadable("its first sheet is missing"))
}

/// Reads the number format of each cell style.
pub fn styles(package: &mut Package<'_>) -> Result<Vec<CellFormat>> {
    let (mut styles, mut own) = (Vec::new(), HashMap::new());
    let Some(mut part) = package.part("xl/styles.xml")? else { return Ok(styles) };
    let mut in_cells = false;
    while let Some(piece) = part.next()? {
        match piece {
            Piece::Start(element) => match element.name() {
                b"numFmt" if own.len() < MAX_STYLES => {
                    if let (Some(id), Some(code)) = (element.number("numFmtId"), element.attribute("formatCode")) {
                        own.insert(id, of_code(&code));
                    }
                }
                b"cellXfs" => in_cells = !element.empty,
                b"xf" if in_cells && styles.len() < MAX_STYLES => {
                    let id = element.number("numFmtId").unwrap_or(0);
                    styles.push(own.get(&id).copied().unwrap_or_else(|| of_builtin(id)));
                }
                _ => {}
            },
            Piece::End(end) if end.name() == b"cellXfs" => break,
            _ => {}
        }
    }
    Ok(styles)
}

/// Display format of a built-in number format, which has only an identifier (18.8.30).
fn of_builtin(id: usize) -> CellFormat {
    match id {
        // From 27 on, formats of East Asian languages.
        14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => CellFormat::Day,
        18..=21 | 45 | 47 => CellFormat::Time,
        46 => CellFormat::Elapsed,
        22 => CellFormat::DayAndTime,
        _ => CellFormat::Number,
    }
}

/// Display format of a format code such as `dd/mm/yyyy`. Quoted text, colours and conditions in the code are ignored.
fn of_code(code: &str) -> CellFormat {
    let lower = code.to_ascii_lowercase();
    if ["[h]", "[hh]", "[m]", "[mm]", "[s]", "[ss]"].iter().any(|elapsed| lower.contains(elapsed)) {
        return CellFormat::Elapsed;
    }
    let (mut quoted, mut bracket, mut escaped) = (false, false, false);
    let (mut day, mut month, mut time) = (false, false, false);
    for c in code.chars() {
        if std::mem::take(&mut escaped) {
            continue;
        }
        match c {
            '"' => quoted = !quoted,
            _ if quoted => {}
            '\\' | '_' | '*' => escaped = true,
            '[' => bracket = true,
            ']' => bracket = false,
            _ if bracket => {}
            'y' | 'Y' | 'd' | 'D' => day = true,
            'm' | 'M' => month = true,
            'h' | 'H' | 's' | 'S' => time = true,
            _ => {}
        }
    }
    // The letter of months is that of minutes, too.
    match (day || month && !time, time) {
        (true, true) => CellFormat::DayAndTime,
        (true, false) => CellFormat::Day,
        (false, true) => CellFormat::Time,
        (false, false) => CellFormat::Number,
    }
}

/// Cells by row and column, each position at most once.
type Cells = BTreeMap<(usize, usize), Cell>;

/// Reads the cells of a sheet that are shown, and returns whether there are more.
fn cells(package: &mut Package<'_>, path: &str, styles: &[CellFormat]) -> Result<(Cells, bool)> {
    let mut part = package.required(path)?;
    let (mut cells, mut more) = (Cells::new(), false);
    let (mut row, mut column, mut seen) = (0_usize, 0_usize, 0_usize);
    let mut cell: Option<Cell> = None;
    let mut valued = 0_usize;
    while let Some(piece) = part.next()? {
        match piece {
            Piece::Start(element) => match element.name() {
                b"row" => {
                    row = element.number("r").map_or(row, |r| r.saturating_sub(1));
                    column = 0;
                    if row >= MAX_ROWS {
                        return Ok((cells, true));
                    }
                }
                b"c" if !element.empty => {
                    seen += 1;
                    if seen > MAX_CELLS {
                        return Ok((cells, true));
                    }
                    column = element.attribute("r").and_then(|place| column_of(&place)).unwrap_or(column);
                    more |= column >= MAX_COLUMNS;
                    let kind = element.attribute("t").unwrap_or(Cow::Borrowed("n"));
                    let style = element.number("s").and_then(|s| styles.get(s)).copied();
                    let shown = if kind == "n" { style.unwrap_or(CellFormat::Number) } else { CellFormat::Number };
                    let new = Cell { value: String::new(), shared: kind == "s", shown };
                    cell = (column < MAX_COLUMNS).then_some(new);
                }
                b"c" => column += 1,
                b"v" | b"t" if !element.empty => valued += 1,
                _ => {}
            },
            Piece::End(end) => match end.name() {
                b"v" | b"t" => valued = valued.saturating_sub(1),
                b"c" => {
                    cells.extend(cell.take().map(|cell| ((row, column), cell)));
                    column += 1;
                }
                b"row" => row += 1,
                b"sheetData" => break,
                _ => {}
            },
            Piece::Text(text) if valued > 0 => {
                if let Some(cell) = &mut cell {
                    add(&mut cell.value, &text);
                }
            }
            Piece::Text(_) | Piece::Entity | Piece::Other => {}
        }
    }
    Ok((cells, more))
}

/// Column of a cell reference such as `AB12`, counted from 0.
fn column_of(place: &str) -> Option<usize> {
    let letters = place.bytes().take_while(u8::is_ascii_uppercase).take(3);
    letters.fold(0, |sum, letter| sum * 26 + usize::from(letter - b'A') + 1).checked_sub(1)
}

/// Reads the wanted entries of the table of shared strings.
fn shared_texts(package: &mut Package<'_>, wanted: &HashSet<usize>) -> Result<HashMap<usize, String>> {
    let mut texts = HashMap::new();
    let Some(last) = wanted.iter().max() else { return Ok(texts) };
    each_shared_string(package, add, |at, text| {
        if wanted.contains(&at) {
            texts.insert(at, text);
        }
        at < *last
    })?;
    Ok(texts)
}

/// Reads the table of shared strings, at most this many bytes of it.
pub fn shared_strings(package: &mut Package<'_>, max_bytes: usize) -> Result<Vec<String>> {
    let (mut texts, mut bytes) = (Vec::new(), 0);
    let within = |text: &mut String, more: &str| {
        let room = max_bytes.saturating_sub(text.len());
        text.push_str(&more[..more.floor_char_boundary(room)]);
    };
    each_shared_string(package, within, |_, text| {
        bytes += text.len() + size_of::<String>();
        texts.push(text);
        bytes < max_bytes
    })?;
    Ok(texts)
}

/// Calls `take` with each shared string and its number until that returns false. `add` appends to a string.
fn each_shared_string(
    package: &mut Package<'_>,
    add: impl Fn(&mut String, &str),
    mut take: impl FnMut(usize, String) -> bool,
) -> Result<()> {
    let Some(mut part) = package.part("xl/sharedStrings.xml")? else { return Ok(()) };
    let (mut at, mut text) = (0_usize, String::new());
    // Phonetic readings of Chinese and Japanese words are not part of the text.
    let (mut running, mut reading) = (false, false);
    while let Some(piece) = part.next()? {
        match piece {
            Piece::Start(element) => match element.name() {
                b"si" => text.clear(),
                b"t" => running = !element.empty,
                b"rPh" => reading = !element.empty,
                _ => {}
            },
            Piece::End(end) => match end.name() {
                b"t" => running = false,
                b"rPh" => reading = false,
                b"si" => {
                    if !take(at, std::mem::take(&mut text)) {
                        break;
                    }
                    at += 1;
                }
                _ => {}
            },
            Piece::Text(more) if running && !reading => add(&mut text, &more),
            Piece::Text(_) | Piece::Entity | Piece::Other => {}
        }
    }
    Ok(())
}

/// Formats a stored number as the sheet displays it. Days are counted from 30 December 1899 (18.17.4.1).
pub fn displayed(value: &str, shown: CellFormat) -> String {
    const UNIX: f64 = 25_569.0;
    const LAST: f64 = 2_958_466.0;
    let number = value.parse::<f64>().ok().filter(|number| shown != CellFormat::Number && (0.0..LAST).contains(number));
    let moment =
        number.and_then(|number| OffsetDateTime::from_unix_timestamp(((number - UNIX) * 86_400.0).round() as i64).ok());
    let Some(moment) = moment else { return value.to_owned() };
    let (day, time) = (moment.date(), format!("{:02}:{:02}", moment.hour(), moment.minute()));
    match shown {
        CellFormat::Number => value.to_owned(),
        CellFormat::Day => day.to_string(),
        CellFormat::Time => time,
        CellFormat::DayAndTime => format!("{day} {time}"),
        CellFormat::Elapsed => {
            let minutes = (number.unwrap_or_default() * 1_440.0).round() as u64;
            format!("{}:{:02}", minutes / 60, minutes % 60)
        }
    }
}

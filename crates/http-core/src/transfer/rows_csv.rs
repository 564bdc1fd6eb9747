//! Rows of lists as CSV (RFC 4180): sent page by page, and read from files and spreadsheets.
//!
//! The first column of a file is `#`, the number of the row; the others are the columns of the list. A text that a
//! spreadsheet would execute, because it begins with `=`, `+`, `-`, `@` or a control character, gets an apostrophe in
//! front, and so does one that begins with an apostrophe. Reading removes exactly one.

use std::borrow::Cow;
use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use axum::body::{Body, Bytes};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use futures_util::{StreamExt, stream};
use model::{Code, ColumnKind, ColumnValue, Error, Id, MAX_PAGE, NodeKind, Result, Timestamp, fold};
use repository::{
    Column, Item, ListRequest, Listed, MAX_CHANGES, PrincipalName, RowChange, Session, SortKey, Target,
};

use crate::protocol::{disposition, time};
use crate::server::request;

/// Title of the column with the numbers of rows.
const NUMBER: &str = "#";
/// Limit on the rows that are read from one file.
pub const MAX_ROWS: usize = 5_000;
/// Limit on the refused rows that a report lists.
const MAX_REFUSALS: usize = 100;
/// Mark at the beginning of a file, by which spreadsheets know that it is UTF-8.
const BYTE_ORDER_MARK: &str = "\u{feff}";

/// The rest of an export.
struct Export {
    session: Session,
    list: Id,
    request: ListRequest,
    after: Option<SortKey>,
    ended: bool,
}

/// Sends the rows of a list in the order and with the filter of `request`. `for_spreadsheets` adds a byte order mark.
///
/// # Errors
/// Those of [`Session::list_filtered`]; `Conflict` with code `wrong_kind` for an item that is not a list.
#[boxed]
pub async fn send(session: Session, list: &Target, request: ListRequest, for_spreadsheets: bool) -> Result<Response> {
    let place = request::acquire_costly()?;
    let request = ListRequest { limit: MAX_PAGE, columns: usize::MAX, ..request };
    // The first page is read before the response begins, because this read refuses callers who may not see the list.
    let listed = session.list_filtered(list, request.clone()).await?;
    if listed.place.kind != NodeKind::List {
        return Err(Error::conflict("only lists have rows").with_code(Code::WrongKind));
    }
    let (name, id) = (listed.place.name.clone(), listed.place.id);
    let mut first = if for_spreadsheets { BYTE_ORDER_MARK.to_owned() } else { String::new() };
    let titles = std::iter::once(NUMBER.into()).chain(listed.columns.iter().map(|column| guarded(&column.name)));
    first.push_str(&line(titles));
    first.push_str(&lines(&session, &listed).await?);
    let after = listed.page.next;
    let rest = Export { session, list: id, request, ended: after.is_none(), after };
    let parts = stream::unfold((Some(first), Some((rest, place))), |(first, rest)| async move {
        let (mut rest, place) = rest?;
        let part = match first {
            Some(text) => Ok(text),
            None => rest.next().await.transpose()?,
        };
        let rest = part.is_ok().then_some((rest, place));
        Some((part.map(Bytes::from), (None, rest)))
    });
    let fields = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::CONTENT_DISPOSITION, disposition::attachment(&format!("{name}.csv"))),
    ];
    // The compression layer polls again after the end.
    Ok((fields, Body::from_stream(parts.fuse())).into_response())
}

impl Export {
    async fn next(&mut self) -> Result<Option<String>> {
        if self.ended {
            return Ok(None);
        }
        let request = ListRequest { after: self.after.take(), ..self.request.clone() };
        let listed = self.session.list_filtered(&self.list.into(), request).await?;
        let text = lines(&self.session, &listed).await?;
        self.after = listed.page.next;
        self.ended = self.after.is_none();
        Ok(Some(text))
    }
}

async fn lines(session: &Session, listed: &Listed) -> Result<String> {
    let people = listed.values.values().filter_map(|value| match value {
        ColumnValue::Person(id) => Some(*id),
        _ => None,
    });
    let names = session.principal_names(&people.collect::<Vec<_>>()).await?;
    let of = |item: &Item| {
        let value = |column: &Column| {
            listed.values.get(&(item.id, column.id)).map_or(Cow::Borrowed(""), |value| written(value, &names))
        };
        line(std::iter::once(Cow::Borrowed(item.name.as_str())).chain(listed.columns.iter().map(value)))
    };
    Ok(listed.page.items.iter().map(of).collect())
}

fn line<'a>(fields: impl Iterator<Item = Cow<'a, str>>) -> String {
    let fields = fields.map(|field| {
        let plain = !field.contains([',', '"', '\r', '\n', ';']) && field.trim() == field;
        if plain { field.into_owned() } else { format!("\"{}\"", field.replace('"', "\"\"")) }
    });
    fields.collect::<Vec<_>>().join(",") + "\r\n"
}

/// Returns a text that no spreadsheet executes.
fn guarded(text: &str) -> Cow<'_, str> {
    let is_executed = text.starts_with(['=', '+', '-', '@', '\'']) || text.starts_with(char::is_control);
    if is_executed { Cow::Owned(format!("'{text}")) } else { Cow::Borrowed(text) }
}

fn written<'a>(value: &'a ColumnValue, names: &HashMap<Id, PrincipalName>) -> Cow<'a, str> {
    match value {
        ColumnValue::Text(text) => guarded(text),
        ColumnValue::Number(number) => number.to_string().into(),
        ColumnValue::Date(at) => {
            let text = time::format(*at);
            text.strip_suffix("T00:00:00Z").unwrap_or(&text).to_owned().into()
        }
        ColumnValue::Person(id) => {
            let name = names.get(id).map(|name| name.login.as_deref().unwrap_or(&name.name)).unwrap_or_default();
            guarded(name).into_owned().into()
        }
        ColumnValue::YesNo(yes) => if *yes { "yes" } else { "no" }.into(),
    }
}

/// The outcome of reading a file.
#[derive(Debug, Default)]
pub struct Report {
    /// Rows in the file.
    pub rows: usize,
    /// Rows that were added.
    pub added: usize,
    /// Rows of the list that were changed, or had these values already.
    pub changed: usize,
    /// Rows that were refused.
    pub refused: usize,
    /// The first of them, at most 100.
    pub refusals: Vec<Refusal>,
}

/// A row that was refused.
#[derive(Debug)]
pub struct Refusal {
    /// Line of the file in which the row begins, counted from 1.
    pub line: u64,
    /// The reason.
    pub error: Error,
}

impl Report {
    fn refuse(&mut self, line: u64, error: Error) {
        self.refused += 1;
        if self.refusals.len() < MAX_REFUSALS {
            self.refusals.push(Refusal { line, error });
        }
    }
}

/// A file of rows, separated by commas, semicolons or tabs.
pub struct Table {
    separator: u8,
    /// Line and fields of each row.
    rows: Vec<(u64, Vec<String>)>,
}

impl Table {
    /// Reads a file. Lines without any text are left out.
    ///
    /// # Errors
    /// `Invalid` for bytes that are not UTF-8 or not a table, and with code `too_many` for more than [`MAX_ROWS`] rows.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let text = std::str::from_utf8(bytes)
            .map_err(|_| Error::invalid("the file is not UTF-8: save it as \"CSV UTF-8\" and try again"))?;
        let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
        let first = text.lines().next().unwrap_or_default();
        let count = |mark: u8| first.bytes().filter(|byte| *byte == mark).count();
        // The comma wins a tie, because it is the most common separator.
        let separator = [b';', b'\t', b','].into_iter().max_by_key(|mark| (count(*mark), *mark == b',')).unwrap_or(b',');
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
            if rows.len() > MAX_ROWS {
                return Err(Error::invalid(format!("the file has more than {MAX_ROWS} rows: split it into several"))
                    .with_code(Code::TooMany));
            }
            let line = record.position().map_or(0, csv::Position::line);
            rows.push((line, record.iter().map(ToOwned::to_owned).collect()));
        }
        Ok(Self { separator, rows })
    }

    /// Takes the titles off the table, and returns the column of each field; `None` for the numbers of rows. A table
    /// whose first row is not made of titles has the columns of the list in their order.
    fn take_titles(&mut self, columns: &[Column]) -> Result<Vec<Option<Column>>> {
        let Some((_, first)) = self.rows.first() else { return Ok(Vec::new()) };
        let find = |title: &str| columns.iter().find(|column| fold(&column.name) == fold(bare(title.trim())));
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
                return Err(Error::invalid(format!("the first line has \"{title}\" twice")));
            }
            found.push(column);
        }
        self.rows.remove(0);
        Ok(found)
    }
}

/// Adds the rows of a table to a list, and changes those that the table names by number. Rows that cannot be read or
/// saved are reported and left out. With `only_check`, nothing is changed, and the report says what would be refused
/// because of its values.
///
/// # Errors
/// Those of [`Session::change_rows`]; `Invalid` if the titles do not fit the list.
#[boxed]
pub async fn import(session: &Session, list: &Target, mut table: Table, only_check: bool) -> Result<Report> {
    let place = session.item(list).await?;
    if place.kind != NodeKind::List {
        return Err(Error::conflict("only lists have rows").with_code(Code::WrongKind));
    }
    let (columns, _) = session.columns(list).await?;
    let titles = table.take_titles(&columns)?;
    let mut report = Report { rows: table.rows.len(), ..Report::default() };
    let mut people = HashMap::new();
    let mut batch = Vec::new();
    let rows = std::mem::take(&mut table.rows);
    for (line, fields) in rows {
        match change(session, &place, &titles, &fields, table.separator, &mut people).await {
            Ok(change) => batch.push((line, change)),
            Err(error) if error.is_retryable() => return Err(error),
            Err(error) => report.refuse(line, error),
        }
        if batch.len() == MAX_CHANGES {
            save(session, list, std::mem::take(&mut batch), only_check, &mut report).await?;
        }
    }
    save(session, list, batch, only_check, &mut report).await?;
    Ok(report)
}

async fn save(
    session: &Session,
    list: &Target,
    batch: Vec<(u64, RowChange)>,
    only_check: bool,
    report: &mut Report,
) -> Result<()> {
    let adds: Vec<bool> = batch.iter().map(|(_, change)| matches!(change, RowChange::Add { .. })).collect();
    let (lines, changes): (Vec<u64>, Vec<RowChange>) = batch.into_iter().unzip();
    let outcomes = match only_check {
        true => session.check_rows(list, changes).await?,
        false => session.change_rows(list, changes, false).await?,
    };
    for ((line, adds), outcome) in lines.into_iter().zip(adds).zip(outcomes) {
        match outcome.error {
            Some(error) => report.refuse(line, error),
            None if adds => report.added += 1,
            None => report.changed += 1,
        }
    }
    Ok(())
}

/// Returns the change that a row of the table makes.
async fn change(
    session: &Session,
    list: &Item,
    titles: &[Option<Column>],
    fields: &[String],
    separator: u8,
    people: &mut HashMap<String, Id>,
) -> Result<RowChange> {
    if fields.len() > titles.len() && fields[titles.len()..].iter().any(|field| !field.trim().is_empty()) {
        return Err(Error::invalid(format!("the row has {} fields, but there are {} titles", fields.len(), titles.len())));
    }
    let (mut number, mut set) = (None, Vec::new());
    for (title, field) in titles.iter().zip(fields) {
        let Some(column) = title else {
            number = Some(field.trim()).filter(|number| !number.is_empty());
            continue;
        };
        set.push((column.id, value(session, column, field, separator, people).await?));
    }
    let Some(number) = number else { return Ok(RowChange::Add { set }) };
    let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
    let row = match is_number {
        true => session.item(&Target::path(&format!("{}/{number}", list.path))?).await.ok(),
        false => None,
    };
    let row = row.filter(|row| row.kind == NodeKind::Row && row.parent_id == list.id);
    let shown: String = number.escape_debug().take(40).collect();
    let row = row.ok_or_else(|| {
        Error::not_found(format!("the list has no row {shown}: leave the field \"{NUMBER}\" empty to add one"))
    })?;
    Ok(RowChange::Edit { row: row.id, revision: None, was: Vec::new(), set })
}

/// Reads a field for a column; `None` for an empty one.
async fn value(
    session: &Session,
    column: &Column,
    field: &str,
    separator: u8,
    people: &mut HashMap<String, Id>,
) -> Result<Option<ColumnValue>> {
    let text = field.trim();
    if text.is_empty() {
        return Ok(None);
    }
    let misfit = || {
        let shown: String = text.escape_debug().take(80).collect();
        Error::invalid(format!("{}: \"{shown}\" is no {} value", column.name, column.kind.as_str()))
            .with_code(Code::InvalidValue)
    };
    Ok(Some(match &column.kind {
        ColumnKind::Text | ColumnKind::Note => ColumnValue::Text(bare(field).to_owned()),
        ColumnKind::Choice(_) | ColumnKind::Link => ColumnValue::Text(bare(text).to_owned()),
        ColumnKind::Number => ColumnValue::Number(number(text, separator).ok_or_else(misfit)?),
        ColumnKind::Date => ColumnValue::Date(day(text).ok_or_else(misfit)?),
        ColumnKind::YesNo => ColumnValue::YesNo(yes_or_no(text).ok_or_else(misfit)?),
        ColumnKind::Person => {
            let name = bare(text);
            if let Some(known) = people.get(name) {
                return Ok(Some(ColumnValue::Person(*known)));
            }
            let id = session.find_principal(name).await?;
            people.insert(name.to_owned(), id);
            ColumnValue::Person(id)
        }
    }))
}

/// Removes the apostrophe that [`guarded`] added.
fn bare(text: &str) -> &str {
    text.strip_prefix('\'').unwrap_or(text)
}

/// Reads a number. Spreadsheets that separate fields by semicolons write the comma for decimals.
fn number(text: &str, separator: u8) -> Option<f64> {
    let plain = match separator {
        b';' | b'\t' if text.contains(',') && !text.contains('.') => text.replacen(',', ".", 1),
        _ => text.to_owned(),
    };
    let known = plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e' | 'E'));
    plain.parse::<f64>().ok().filter(|number| known && number.is_finite())
}

/// Reads a day or a time, as in `2026-11-28`, `28.11.2026` or `2026-11-28T12:00:00Z`.
fn day(text: &str) -> Option<Timestamp> {
    let parts: Vec<&str> = text.split('.').collect();
    let digits = |part: &str, most: usize| (1..=most).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
    match parts.as_slice() {
        [day, month, year] if digits(day, 2) && digits(month, 2) && digits(year, 4) && year.len() == 4 => {
            time::parse_day(&format!("{year}-{month:0>2}-{day:0>2}")).ok()
        }
        _ => time::parse_day(text).ok(),
    }
}

fn yes_or_no(text: &str) -> Option<bool> {
    match fold(text).as_str() {
        "yes" | "true" | "1" | "x" | "ja" | "wahr" => Some(true),
        "no" | "false" | "0" | "nein" | "falsch" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_would_be_executed_come_back_as_they_were() {
        for text in ["=1+1", "+1", "-1", "@x", "'quoted'", "''", "\tx", "plain", "a=b", ""] {
            let sent = guarded(text);
            assert!(!sent.starts_with(['=', '+', '-', '@']) && !sent.starts_with('\t'), "{sent}");
            assert_eq!(bare(&sent), text);
        }
    }

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
        let many = "x\n".repeat(MAX_ROWS + 2);
        assert_eq!(Table::read(many.as_bytes()).err().unwrap().code(), Code::TooMany);
    }

    #[test]
    fn numbers_and_days_are_read_as_people_write_them() {
        assert_eq!(number("1.5", b','), Some(1.5));
        assert_eq!(number("1,5", b';'), Some(1.5));
        assert_eq!(number("1,5", b','), None);
        assert_eq!(number("-2e3", b'\t'), Some(-2000.0));
        for bad in ["inf", "NaN", "1e999", "zehn", "1.2.3", "1,2,3"] {
            assert_eq!(number(bad, b';'), None, "{bad}");
        }
        assert_eq!(day("28.11.2026"), day("2026-11-28"));
        assert_eq!(day("3.1.2026"), day("2026-01-03"));
        assert!(day("2026-11-28T12:00:00Z").is_some());
        for bad in ["28.11.26", "31.02.2026", "tomorrow", "1.2", "..", "é.1.2026"] {
            assert_eq!(day(bad), None, "{bad}");
        }
        assert_eq!([yes_or_no("Ja"), yes_or_no("0"), yes_or_no("perhaps")], [Some(true), Some(false), None]);
    }
}

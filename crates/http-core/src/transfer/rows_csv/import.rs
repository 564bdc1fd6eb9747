//! Reading rows into a list.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use model::{Code, ColumnKind, ColumnValue, Error, ErrorKind, Id, NodeKind, Result};
use repository::{Column, Item, MAX_CHANGES, RowChange, Session, Target};

use super::fields::{NUMBER, bare, day, number, yes_or_no};
use super::table::Table;

/// Limit on the refused rows that a report lists.
const MAX_REFUSALS: usize = 100;

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
            Err(error) if is_about_the_row(&error) => report.refuse(line, error),
            Err(error) => return Err(error),
        }
        if batch.len() == MAX_CHANGES {
            save(session, list, std::mem::take(&mut batch), only_check, &mut report).await?;
        }
    }
    save(session, list, batch, only_check, &mut report).await?;
    Ok(report)
}

/// Returns whether an error is about the values of a row. Any other one ends the import.
fn is_about_the_row(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Conflict | ErrorKind::Forbidden)
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
        return Err(Error::invalid(format!(
            "the row has {} fields, but there are {} titles",
            fields.len(),
            titles.len()
        )));
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
        true => match session.item(&Target::path(&format!("{}/{number}", list.path))?).await {
            Ok(row) => Some(row),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        },
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

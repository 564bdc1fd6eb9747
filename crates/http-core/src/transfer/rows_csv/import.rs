//! Reading rows into a list.

use std::collections::{HashMap, HashSet};

use async_recursion::async_recursion as boxed;
use model::{Code, ColumnKind, ColumnValue, Digest, Error, ErrorKind, Id, MAX_VALUES_PER_FIELD, NodeKind, Result};
use repository::{Column, Item, MAX_CHANGES, RowChange, RowOutcome, Session, Target};

use super::cut::{is_cut, is_cut_from};
use super::fields::{NUMBER, Notation, day, yes_or_no};
use super::table::Table;
use crate::transfer::typed;
use crate::transfer::value_list::{self, ListFault};

/// Limit on the refused rows that a report lists.
const MAX_REFUSALS: usize = 100;
/// Limit on the names of people and entries that are looked up for one file.
const MAX_NAMES: usize = 20_000;

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
    fn add(&mut self, line: u64, change: &RowChange, outcome: RowOutcome) {
        match (outcome.error, change) {
            (Some(error), _) => self.refuse(line, error),
            (None, RowChange::Add { .. }) => self.added += 1,
            (None, _) => self.changed += 1,
        }
    }

    fn refuse(&mut self, line: u64, error: Error) {
        self.refused += 1;
        if self.refusals.len() < MAX_REFUSALS {
            self.refusals.push(Refusal { line, error });
        }
    }
}

/// Extent of an import.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Saves the rows that can be saved, and leaves out the others.
    Possible,
    /// Saves all rows in one transaction, or none if one of them is refused.
    All,
    /// Saves nothing, and says what would be refused because of its values.
    Check,
}

/// Adds the rows of a table to a list, and changes those that the table names by number. Rows that cannot be read or
/// saved are reported. With `once`, an idempotency key and the digest of the request, a repetition saves no row twice.
///
/// # Errors
/// Those of [`Session::change_rows`]; `Invalid` if the titles do not fit the list.
#[boxed]
pub async fn import(
    session: &Session,
    list: &Target,
    mut table: Table,
    mode: Mode,
    once: Option<&(String, Digest)>,
) -> Result<Report> {
    let place = session.item(list).await?;
    if place.kind != NodeKind::List {
        return Err(Error::conflict("only lists have rows").with_code(Code::WrongKind));
    }
    let (columns, _) = session.columns(list).await?;
    let titles = table.take_titles(&columns)?;
    // A check stores nothing, and must not be answered with what was saved.
    let once = once.filter(|_| mode != Mode::Check);
    let mut report = Report { rows: table.rows.len() + table.faults.len(), ..Report::default() };
    table.faults.drain(..).for_each(|(line, fault)| report.refuse(line, Error::invalid(fault)));
    let (mut found, mut named) = (Found::default(), HashSet::new());
    let mut batch = Vec::new();
    let rows = std::mem::take(&mut table.rows);
    for (line, fields) in rows {
        match change(session, &place, &titles, &fields, table.notation, &mut found).await {
            Ok(RowChange::Edit { row, .. }) if !named.insert(row) => {
                report.refuse(line, Error::invalid("an earlier line changes the same row: join the two lines"));
            }
            Ok(change) => batch.push((line, change)),
            Err(error) if is_about_the_row(&error) => report.refuse(line, error),
            Err(error) => return Err(error),
        }
        if batch.len() == MAX_CHANGES && mode != Mode::All {
            save(session, list, std::mem::take(&mut batch), mode, once, &mut report).await?;
        }
    }
    match mode {
        // Nothing is saved, but all rows are told what is wrong with them.
        Mode::All if report.refused > 0 => save(session, list, batch, Mode::Check, None, &mut report).await?,
        _ => save(session, list, batch, mode, once, &mut report).await?,
    }
    if mode == Mode::All && report.refused > 0 {
        (report.added, report.changed) = (0, 0);
    }
    report.refusals.sort_by_key(|refusal| refusal.line);
    Ok(report)
}

/// Returns whether an error is about the values of a row. Any other one ends the import.
fn is_about_the_row(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Conflict | ErrorKind::Forbidden)
}

/// Saves rows, in halves if they are too many or too long for one transaction.
#[boxed]
async fn save(
    session: &Session,
    list: &Target,
    mut batch: Vec<(u64, RowChange)>,
    mode: Mode,
    once: Option<&(String, Digest)>,
    report: &mut Report,
) -> Result<()> {
    let Some((line, _)) = batch.first() else { return Ok(()) };
    let session = match once {
        Some((key, request)) => {
            &session.clone().idempotent(&format!("{key}, {} rows from {line}", batch.len()), *request)
        }
        None => session,
    };
    let changes: Vec<RowChange> = batch.iter().map(|(_, change)| change.clone()).collect();
    let outcomes = match mode {
        Mode::Check => session.check_rows(list, changes).await,
        _ => session.change_rows(list, changes, mode == Mode::All).await,
    };
    match outcomes {
        Ok(outcomes) => {
            batch.into_iter().zip(outcomes).for_each(|((line, change), outcome)| report.add(line, &change, outcome));
            Ok(())
        }
        Err(error) if error.code() == Code::TooMuchAtOnce && batch.len() > 1 && mode != Mode::All => {
            let rest = batch.split_off(batch.len() / 2);
            save(session, list, batch, mode, once, report).await?;
            save(session, list, rest, mode, once, report).await
        }
        // Rows before these are saved. The report must not be lost with this error.
        Err(error) if report.added + report.changed > 0 && mode == Mode::Possible => {
            for (line, _) in batch {
                report.refuse(line, Error::new(error.kind(), error.message().to_owned()).with_code(error.code()));
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// People and entries that texts of a file name, as far as they were looked up.
#[derive(Default)]
struct Found {
    people: HashMap<String, Id>,
    entries: HashMap<(Id, String), Id>,
    /// Number of names that were looked up.
    asked: usize,
}

impl Found {
    /// Counts a name that is looked up.
    ///
    /// # Errors
    /// `Invalid` with code `too_much_at_once` after too many: about the row, so that rows saved before are reported.
    fn ask(&mut self) -> Result<()> {
        self.asked += 1;
        match self.asked <= MAX_NAMES {
            true => Ok(()),
            false => Err(Error::invalid(format!(
                "the file has more than {MAX_NAMES} names of people and entries to look up: split it into several"
            ))
            .with_code(Code::TooMuchAtOnce)),
        }
    }
}

/// Returns the change that a row of the table makes.
async fn change(
    session: &Session,
    list: &Item,
    titles: &[Option<Column>],
    fields: &[String],
    notation: Notation,
    found: &mut Found,
) -> Result<RowChange> {
    if fields.len() > titles.len() && fields[titles.len()..].iter().any(|field| !field.trim().is_empty()) {
        return Err(Error::invalid(format!(
            "the row has {} fields, but there are {} titles",
            fields.len(),
            titles.len()
        )));
    }
    let (mut number, mut set, mut cut) = (None, Vec::new(), Vec::new());
    for (title, field) in titles.iter().zip(fields) {
        let Some(column) = title else {
            number = Some(field.trim()).filter(|number| !number.is_empty());
            continue;
        };
        // A file may have calculated values, because an export has them.
        if column.is_calculated() {
            continue;
        }
        if notation == Notation::Cells && is_cut(field) {
            cut.push((column, field.as_str()));
            continue;
        }
        set.push((column.id, value(session, column, field, notation, found).await?));
    }
    let Some(number) = number else {
        return match cut.first() {
            Some((column, _)) => Err(was_cut(column)),
            None => Ok(RowChange::Add { set }),
        };
    };
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
    refuse_changed_parts(session, row.id, &cut).await?;
    Ok(RowChange::Edit { row: row.id, revision: None, was: Vec::new(), set })
}

/// Refuses fields that an export has cut and somebody has changed. The others are left as they are.
async fn refuse_changed_parts(session: &Session, row: Id, cut: &[(&Column, &str)]) -> Result<()> {
    if cut.is_empty() {
        return Ok(());
    }
    let present = session.values(&row.into()).await?;
    let is_unchanged = |(column, field): &&(&Column, &str)| {
        let whole = present.iter().find(|(id, _)| *id == column.id).map(|(_, value)| value);
        matches!(whole, Some(ColumnValue::Text(whole)) if is_cut_from(field, whole))
    };
    match cut.iter().find(|part| !is_unchanged(part)) {
        Some((column, _)) => Err(was_cut(column)),
        None => Ok(()),
    }
}

fn was_cut(column: &Column) -> Error {
    Error::invalid(format!(
        "{}: the text was too long for Excel and is cut, so it cannot be saved: change it in the list, or by CSV",
        column.name
    ))
    .with_code(Code::InvalidValue)
}

/// Reads a field for a column; `None` for an empty one.
async fn value(
    session: &Session,
    column: &Column,
    field: &str,
    notation: Notation,
    found: &mut Found,
) -> Result<Option<ColumnValue>> {
    let ColumnKind::Multiple(kind) = &column.kind else {
        return one_value(session, column, &column.kind, field, notation, found).await;
    };
    let parts = value_list::split(notation.bare(field.trim()), MAX_VALUES_PER_FIELD).map_err(|fault| {
        let reason = match fault {
            ListFault::TooMany => format!("a field has at most {MAX_VALUES_PER_FIELD} values"),
            ListFault::Quotes => "a quotation mark is missing, or something other than a semicolon follows one".into(),
        };
        Error::invalid(format!("{}: {reason}", column.name)).with_code(Code::InvalidValue)
    })?;
    let mut values = Vec::with_capacity(parts.len());
    for part in parts {
        // The apostrophe was one of the whole field.
        values.extend(one_value(session, column, kind, &part, Notation::Cells, found).await?);
    }
    Ok(ColumnValue::joined(&column.kind, values))
}

/// Reads a value that is not several for a column; `None` for an empty one.
async fn one_value(
    session: &Session,
    column: &Column,
    kind: &ColumnKind,
    field: &str,
    notation: Notation,
    found: &mut Found,
) -> Result<Option<ColumnValue>> {
    let text = field.trim();
    // Only a workbook tells spaces that are part of a text from others.
    let is_exact = match kind {
        ColumnKind::Text | ColumnKind::Note => !field.is_empty(),
        ColumnKind::Choice(choices) => choices.iter().any(|choice| choice == field),
        _ => false,
    };
    if notation == Notation::Cells && is_exact {
        return Ok(Some(ColumnValue::Text(field.to_owned())));
    }
    if text.is_empty() {
        return Ok(None);
    }
    let misfit = || {
        let shown: String = text.escape_debug().take(80).collect();
        Error::invalid(format!("{}: \"{shown}\" is no {} value", column.name, kind.as_str()))
            .with_code(Code::InvalidValue)
    };
    Ok(Some(match kind {
        ColumnKind::Text | ColumnKind::Note => ColumnValue::Text(notation.bare(field).to_owned()),
        ColumnKind::Choice(_) => ColumnValue::Text(notation.bare(text).to_owned()),
        ColumnKind::Link => ColumnValue::Text(typed::link(notation.bare(text)).into_owned()),
        ColumnKind::Number => ColumnValue::Number(notation.number(text).ok_or_else(misfit)?),
        ColumnKind::Date => ColumnValue::Date(day(text).ok_or_else(misfit)?),
        ColumnKind::YesNo => ColumnValue::YesNo(yes_or_no(text).ok_or_else(misfit)?),
        ColumnKind::Person => {
            let name = notation.bare(text);
            if let Some(known) = found.people.get(name) {
                return Ok(Some(ColumnValue::Person(*known)));
            }
            found.ask()?;
            let id = person(session, name).await?;
            found.people.insert(name.to_owned(), id);
            ColumnValue::Person(id)
        }
        ColumnKind::Lookup(list) => {
            let key = (*list, notation.bare(text).to_owned());
            if let Some(known) = found.entries.get(&key) {
                return Ok(Some(ColumnValue::Lookup(*known)));
            }
            found.ask()?;
            let id = entry(session, column, *list, &key.1).await?;
            found.entries.insert(key, id);
            ColumnValue::Lookup(id)
        }
        ColumnKind::Multiple(_) => return Err(misfit()),
    }))
}

/// Finds an entry of another list. An error names the column.
async fn entry(session: &Session, column: &Column, list: Id, text: &str) -> Result<Id> {
    let named = |message: &str, code| Error::invalid(format!("{}: {message}", column.name)).with_code(code);
    session.find_entry(list, text).await.map_err(|error| match error.kind() {
        ErrorKind::Invalid => named(error.message(), error.code()),
        ErrorKind::NotFound => named("the list of this column is not there any more", Code::InvalidValue),
        _ => error,
    })
}

/// Finds a person by name, or by the identifier that stands for one without a name.
async fn person(session: &Session, name: &str) -> Result<Id> {
    let unknown = match session.find_principal(name).await {
        Err(error) if error.kind() == ErrorKind::NotFound => error,
        found => return found,
    };
    let Ok(id) = name.parse::<Id>() else { return Err(unknown) };
    match session.principal_names(&[id]).await?.contains_key(&id) {
        true => Ok(id),
        false => Err(unknown),
    }
}

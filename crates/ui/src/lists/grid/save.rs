//! Changes that a grid sends: texts as their user typed them, read as the forms read them.

use std::collections::{BTreeMap, HashMap, HashSet};

use axum::http::HeaderMap;
use model::{Code, ColumnKind, ColumnValue, Digest, Error, ErrorKind, Id, MAX_PAGE, Result, fold};
use repository::{Bin, Column, RowChange, RowOutcome, Target, require_few_changes, version_of_etag};
use serde::{Deserialize, Serialize};

use super::rows::{self, Fresh, Present, RowJson};
use crate::browse::view::View;
use crate::document::values;
use crate::frame::refuse;
use crate::frame::visit::Visit;
use http_core::protocol::idempotency;
use http_core::server::error;
use http_core::server::request_body;

/// Limit on the entries of the recycle bin that are examined for rows to restore.
const MAX_BIN_PAGES: usize = 3;

/// Changes to the rows of a list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sent {
    /// True if no change is to be made unless all can be.
    atomic: bool,
    changes: Vec<SentChange>,
}

/// One change: without `id` a new row, with `delete` a deletion, otherwise an edit. Values are texts by column.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SentChange {
    id: Option<String>,
    etag: Option<String>,
    #[serde(default)]
    was: BTreeMap<String, String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
    #[serde(default)]
    delete: bool,
}

/// The outcomes of changes, in their order.
#[derive(Serialize)]
pub struct Outcomes {
    applied: bool,
    outcomes: Vec<OutcomeJson>,
}

/// The outcome of one change.
#[derive(Serialize)]
struct OutcomeJson {
    status: u16,
    id: Option<String>,
    code: Option<&'static str>,
    detail: Option<String>,
    /// The column that the refusal is about.
    column: Option<String>,
    /// The row after the change, or as it is after a conflict.
    row: Option<RowJson>,
}

/// A change that was read, or the reason why it cannot be.
type Reading = std::result::Result<RowChange, (Id, Error)>;

/// Makes changes. Where the request has an idempotency key, it makes them once.
pub async fn change(visit: &Visit, id: &str, query: &str, headers: &HeaderMap, text: String) -> Result<Outcomes> {
    let list: Id = id.parse()?;
    let target = Target::Id(list);
    let session = match idempotency::key(headers)? {
        Some(key) => {
            let mut hasher = blake3::Hasher::new();
            hasher.update(format!("grid {list}\n").as_bytes()).update(text.as_bytes());
            visit.session.clone().idempotent(&key, Digest::new(*hasher.finalize().as_bytes()))
        }
        None => visit.session.clone(),
    };
    let sent: Sent = request_body::run_cpu_bound(move || serde_json::from_str(&text)).await?.map_err(unreadable)?;
    let (columns, _) = session.columns(&target).await?;
    require_few_changes(sent.changes.len(), count_values(&columns, &sent.changes))?;
    let mut read = Reader { visit, columns: &columns, found: HashMap::new(), present: Present::default() };
    read.present = read.stale(&target, &sent.changes).await?;
    let mut readings: Vec<Reading> = Vec::with_capacity(sent.changes.len());
    for change in &sent.changes {
        readings.push(read.change(change).await?);
    }
    let is_refused = readings.iter().any(Result::is_err);
    let made: Vec<RowChange> = readings.iter().filter_map(|reading| reading.as_ref().ok().cloned()).collect();
    let mut made = match (is_refused && sent.atomic, made.is_empty()) {
        // Nothing is made, but the script learns of all that would be refused.
        (true, false) => session.check_rows(&target, made).await?,
        (_, true) => Vec::new(),
        (false, false) => session.change_rows(&target, made, sent.atomic).await?,
    }
    .into_iter();
    let outcomes: Vec<RowOutcome> = readings
        .iter()
        .zip(&sent.changes)
        .map(|(reading, change)| match reading {
            Ok(_) => made.next().unwrap_or_default(),
            Err((_, error)) => RowOutcome { row: row_of(change), error: Some(again(error)), ..RowOutcome::default() },
        })
        .collect();
    let refused: Vec<Option<Id>> = readings.iter().map(|reading| reading.as_ref().err().map(|(id, _)| *id)).collect();
    told(visit, &target, &View::parse(query), &columns, &sent, outcomes, &refused).await
}

/// Counts the values that changes set: in columns with several values by their semicolons, before any is looked up.
fn count_values(columns: &[Column], changes: &[SentChange]) -> usize {
    let multiple = columns.iter().filter(|column| column.kind.takes_multiple());
    let multiple: HashSet<String> = multiple.map(|column| column.id.to_string()).collect();
    let values = |(column, text): (&String, &String)| match multiple.contains(column) {
        true => 1 + text.matches(';').count(),
        false => 1,
    };
    changes.iter().flat_map(|change| change.set.iter().map(values)).sum()
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::invalid(format!("the changes cannot be read: {error}")).with_code(Code::InvalidJson)
}

fn row_of(change: &SentChange) -> Option<Id> {
    change.id.as_deref().and_then(|id| id.parse().ok())
}

/// Returns an error with the same message. Errors of values have no further source.
fn again(error: &Error) -> Error {
    Error::invalid(error.message().to_owned()).with_code(error.code())
}

/// Describes outcomes, with the rows as they are now.
async fn told(
    visit: &Visit,
    target: &Target,
    view: &View,
    columns: &[Column],
    sent: &Sent,
    outcomes: Vec<RowOutcome>,
    refused: &[Option<Id>],
) -> Result<Outcomes> {
    let applied = !sent.atomic || outcomes.iter().all(|outcome| outcome.error.is_none());
    let shows = |outcome: &RowOutcome| match &outcome.error {
        None => applied && outcome.revision.is_some(),
        Some(error) => error.kind() == ErrorKind::Conflict,
    };
    let mut ids: Vec<Id> = outcomes.iter().filter(|one| shows(one)).filter_map(|outcome| outcome.row).collect();
    let mut fresh: HashMap<String, RowJson> = HashMap::new();
    // Rows with long texts come in several steps.
    while !ids.is_empty() {
        let some = rows::by_id(visit, target, view, &ids).await?;
        ids = some.left().collect();
        fresh.extend(some.into_rows().map(|row| (row.id().to_owned(), row)));
    }
    let by_name = |name: &String| columns.iter().find(|column| column.name == *name).map(|column| column.id);
    let outcomes = outcomes.into_iter().zip(&sent.changes).zip(refused).map(|((outcome, change), at_fault)| {
        let id = outcome.row.map(|id| id.to_string());
        let error = outcome.error;
        let column = at_fault.or_else(|| error.as_ref().and_then(|error| error.named().first().and_then(by_name)));
        OutcomeJson {
            status: match &error {
                Some(error) => error::status(error).as_u16(),
                None if !applied => 424,
                None if change.id.is_none() => 201,
                None => 200,
            },
            row: id.as_ref().and_then(|id| fresh.remove(id)),
            id,
            code: error.as_ref().map(|error| error.code().as_str()),
            detail: error.as_ref().map(|error| refuse::message_for(&visit.page, error)),
            column: column.map(|column| column.to_string()),
        }
    });
    Ok(Outcomes { applied, outcomes: outcomes.collect() })
}

/// Reads changes for the columns of a list.
struct Reader<'a> {
    visit: &'a Visit,
    columns: &'a [Column],
    /// People and entries by their columns and the texts that name them, since a thousand cells name few of them.
    found: HashMap<(Id, String), ColumnValue>,
    /// The values of rows that have changed since the script read them.
    present: Present,
}

impl<'a> Reader<'a> {
    /// Reads the rows with outdated entity tags.
    async fn stale(&self, target: &Target, changes: &[SentChange]) -> Result<Present> {
        let edits = changes.iter().filter(|change| change.etag.is_some() && !change.was.is_empty());
        let edits: Vec<(Id, &str)> =
            edits.filter_map(|change| Some((row_of(change)?, change.etag.as_deref()?))).collect();
        if edits.is_empty() {
            return Ok(Present::default());
        }
        let mut present = rows::present(self.visit, target, edits.iter().map(|(id, _)| *id).collect()).await?;
        for (id, etag) in edits {
            if present.etags.get(&id).is_some_and(|now| now == etag) {
                present.etags.remove(&id);
            }
        }
        Ok(present)
    }

    async fn change(&mut self, change: &SentChange) -> Result<Reading> {
        let Some(id) = &change.id else {
            return Ok(self.values(&change.set).await?.map(|set| RowChange::Add { set }));
        };
        let row: Id = id.parse()?;
        let revision = change.etag.as_deref().map(version_of_etag).transpose()?;
        if change.delete {
            return Ok(Ok(RowChange::Delete { row, revision }));
        }
        let set = match self.values(&change.set).await? {
            Ok(set) => set,
            Err(refused) => return Ok(Err(refused)),
        };
        let mut was = Vec::new();
        if self.present.etags.contains_key(&row) {
            for (word, text) in &change.was {
                let column = self.column(word)?;
                was.push((column.id, self.before(row, column, text).await?));
            }
        }
        Ok(Ok(RowChange::Edit { row, revision, was, set }))
    }

    /// Returns the value that a cell had, from the text that the script was sent for it. While the present value has
    /// the same text, it is that one; a date can have a time that its text does not show.
    async fn before(&self, row: Id, column: &Column, text: &str) -> Result<Option<ColumnValue>> {
        match self.present.values.get(&(row, column.id)) {
            Some((now, value)) if now == text => Ok(Some(value.clone())),
            None if text.is_empty() => Ok(None),
            Some(_) if text.is_empty() => Ok(None),
            // A value that no cell of this kind has: it was changed.
            _ => Ok(Some(ColumnValue::Text(format!("{text}\0")))),
        }
    }

    async fn values(
        &mut self,
        texts: &BTreeMap<String, String>,
    ) -> Result<std::result::Result<Vec<(Id, Option<ColumnValue>)>, (Id, Error)>> {
        let mut values = Vec::with_capacity(texts.len());
        for (word, text) in texts {
            let column = self.column(word)?;
            match self.value(column, text).await {
                Ok(value) => values.push((column.id, value)),
                Err(error) if is_about_the_value(&error) => return Ok(Err((column.id, error))),
                Err(error) => return Err(error),
            }
        }
        Ok(Ok(values))
    }

    fn column(&self, word: &str) -> Result<&'a Column> {
        let known = self.columns.iter().find(|column| column.id.to_string() == word);
        known.ok_or_else(|| Error::not_found("the list has no such column any more: load the page again"))
    }

    async fn value(&mut self, column: &Column, text: &str) -> Result<Option<ColumnValue>> {
        let text = text.replace("\r\n", "\n").trim().to_owned();
        if text.is_empty() {
            return Ok(None);
        }
        if !column.kind.takes_multiple() {
            return self.one_value(column, text).await.map(Some);
        }
        let mut values = Vec::new();
        for part in values::split(&self.visit.page, column, &text)? {
            values.push(self.one_value(column, part).await?);
        }
        values::joined(&self.visit.page, column, values).map(Some)
    }

    /// Reads one value for a column, which may take several.
    async fn one_value(&mut self, column: &Column, text: String) -> Result<ColumnValue> {
        let kind = column.kind.single();
        let text = match kind {
            ColumnKind::YesNo => self.yes_or_no(column, &text)?.to_owned(),
            // As spreadsheets do, whatever its case.
            ColumnKind::Choice(choices) if !choices.contains(&text) => {
                let folded = fold(&text);
                choices.iter().find(|choice| fold(choice) == folded).cloned().unwrap_or(text)
            }
            _ => text,
        };
        if matches!(kind, ColumnKind::Person | ColumnKind::Lookup(_)) {
            let key = (column.id, text);
            if let Some(found) = self.found.get(&key) {
                return Ok(found.clone());
            }
            let found = values::read_one(self.visit, column, key.1.clone()).await?;
            self.found.insert(key, found.clone());
            return Ok(found);
        }
        values::read_one(self.visit, column, text).await
    }

    fn yes_or_no(&self, column: &Column, text: &str) -> Result<&'static str> {
        let (page, word) = (&self.visit.page, fold(text));
        let is = |words: [&str; 4]| words.iter().any(|known| fold(known) == word);
        if is(["yes", "true", "1", page.s("word.yes")]) {
            return Ok("yes");
        }
        if is(["no", "false", "0", page.s("word.no")]) {
            return Ok("no");
        }
        Err(Error::invalid(page.f1("misfit.yes-no", &column.name)).with_code(Code::Misfit))
    }
}

fn is_about_the_value(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::NotFound | ErrorKind::Conflict)
}

/// Restores rows that the caller deleted.
pub async fn restore(visit: &Visit, id: &str, query: &str, ids: Vec<Id>) -> Result<Fresh> {
    let target = Target::Id(id.parse()?);
    let list = visit.session.item(&target).await?;
    let (mut before, mut entries) = (None, HashMap::new());
    for _ in 0..MAX_BIN_PAGES {
        let page = visit.session.recycled(list.collection_id, Bin::Mine, before, MAX_PAGE).await?;
        entries.extend(page.items.into_iter().map(|entry| (entry.node_id, entry.id)));
        before = page.next;
        if before.is_none() || ids.iter().all(|id| entries.contains_key(id)) {
            break;
        }
    }
    for id in &ids {
        if let Some(entry) = entries.get(id) {
            visit.session.restore(list.collection_id, *entry).await?;
        }
    }
    rows::by_id(visit, &target, &View::parse(query), &ids).await
}

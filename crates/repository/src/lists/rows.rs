//! Rows of lists: adding, changing and deleting many of them in one transaction, and their earlier versions.

use std::collections::HashMap;

use async_recursion::async_recursion as boxed;
use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::{library, record, revision};
use database::{Reader, Transaction};
use model::{Code, ColumnValue, Error, Id, Name, NodeKind, Result, Right, Timestamp};

use crate::items::page::Page;
use crate::items::remove::recycle;
use crate::items::tree::held_parent;
use crate::session::errors::no_item;
use crate::session::guard::{Checked, Guard};
use crate::session::known::Viewed;
use crate::session::target::join;
use crate::{Session, Target};

use super::fields::{self, FieldChange, check_row, title_of};

/// Limit on the rows of one list.
const MAX_ROWS: usize = 1_000_000;
/// Limit on the changes in one request.
pub const MAX_CHANGES: usize = 1_000;
/// Limit on the fields that one request sets.
const MAX_FIELDS: usize = 20_000;

/// Limit on the characters of all rows that one request changes.
const MAX_CHARS: i64 = 16 << 20;
/// Limit on the versions of a row on one page, since each can have 256 KiB.
const MAX_VERSIONS: usize = 100;

/// One change to the rows of a list.
#[derive(Clone, Debug)]
pub enum RowChange {
    /// Adds a row.
    Add {
        /// Columns with their values. Columns that are not named are empty.
        set: Vec<(Id, Option<ColumnValue>)>,
    },
    /// Changes fields of a row.
    Edit {
        /// The row.
        row: Id,
        /// The revision that the change is based on. The change is made to any revision if this is absent.
        revision: Option<Id>,
        /// Fields as they were in that revision. If the row has changed, it is still edited as long as these fields
        /// have not.
        was: Vec<(Id, Option<ColumnValue>)>,
        /// Columns with their new values; `None` empties a field.
        set: Vec<(Id, Option<ColumnValue>)>,
    },
    /// Moves a row to the caller's recycle bin.
    Delete {
        /// The row.
        row: Id,
        /// The revision that must be the present one.
        revision: Option<Id>,
    },
}

impl RowChange {
    fn values(&self) -> impl Iterator<Item = Option<&ColumnValue>> {
        let set = match self {
            Self::Add { set } | Self::Edit { set, .. } => set.as_slice(),
            Self::Delete { .. } => &[],
        };
        set.iter().map(|(_, value)| value.as_ref())
    }
}

/// The result of one change.
#[derive(Debug, Default)]
pub struct RowOutcome {
    /// The row; `None` for one that was not added.
    pub row: Option<Id>,
    /// The revision after the change, or the present one if the change was refused.
    pub revision: Option<Id>,
    /// The reason why the change was refused.
    pub error: Option<Error>,
    /// After a conflict: the present values of the columns that the change was to set.
    pub present: Vec<(Id, Option<ColumnValue>)>,
}

/// An earlier or the present version of a row.
#[derive(Clone, Debug)]
pub struct RowVersion {
    /// Identifier of the revision.
    pub id: Id,
    /// Time at which it was stored.
    pub at: Timestamp,
    /// The user who stored it.
    pub by: Id,
    /// Its values, in the order of the columns.
    pub values: Vec<(Id, ColumnValue)>,
}

/// Which of the changes in a batch are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All, or none.
    All,
    /// Those that can be made.
    Possible,
    /// None; they are only checked.
    Nothing,
}

/// A change that was checked and can be made.
enum Step<'a> {
    Add { fields: Fields, title: Option<String> },
    Edit { row: NodeRow, change: FieldChange<'a> },
    Delete { row: NodeRow },
}

impl Session {
    /// Makes changes to the rows of a list in one transaction. With `atomic`, no change is made unless all can be;
    /// otherwise those that cannot be made are left out. Returns the outcome of each change, in their order.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` with code `wrong_kind` for an item that is not a list; `Invalid` with code `too_many`.
    #[boxed]
    pub async fn change_rows(&self, list: &Target, changes: Vec<RowChange>, atomic: bool) -> Result<Vec<RowOutcome>> {
        self.batch(list, changes, if atomic { Extent::All } else { Extent::Possible }).await
    }

    /// Returns the outcomes that changes would have, as [`Session::change_rows`] does, and changes nothing.
    #[boxed]
    pub async fn check_rows(&self, list: &Target, changes: Vec<RowChange>) -> Result<Vec<RowOutcome>> {
        self.batch(list, changes, Extent::Nothing).await
    }

    async fn batch(&self, list: &Target, changes: Vec<RowChange>, extent: Extent) -> Result<Vec<RowOutcome>> {
        let fields: usize = changes.iter().map(|change| change.values().count()).sum();
        if changes.len() > MAX_CHANGES || fields > MAX_FIELDS {
            return Err(Error::invalid(format!(
                "at most {MAX_CHANGES} rows and {MAX_FIELDS} fields can be changed at once: send several requests"
            ))
            .with_code(Code::TooMany));
        }
        let located = self.locate(list).await?.viewed()?;
        located.require_kind(NodeKind::List)?;
        let guard = self.guard([&*located])?;
        self.require_people(changes.iter().flat_map(RowChange::values)).await?;
        let (list, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(rows) = guard.repetition.find_many(transaction)? {
                return repeated(transaction, &rows);
            }
            let mut batch = Batch::new(transaction, guard, checked, list, &path)?;
            let columns = std::mem::take(&mut batch.columns);
            let steps = batch.check(transaction, &columns, &changes)?;
            let is_refused = batch.outcomes.iter().any(|outcome| outcome.error.is_some());
            if extent == Extent::Nothing || extent == Extent::All && is_refused {
                return Ok(batch.outcomes);
            }
            batch.make(transaction, &columns, steps)?;
            if batch.outcomes.iter().all(|outcome| outcome.error.is_none()) {
                let rows: Vec<Id> = batch.outcomes.iter().filter_map(|outcome| outcome.row).collect();
                guard.repetition.store_many(transaction, &rows)?;
            }
            Ok(batch.outcomes)
        };
        guard.write(write).await
    }

    /// Adds a row to a list and returns its identifier.
    ///
    /// # Errors
    /// `Forbidden`; `Invalid` with code `invalid_value` or `column_required`.
    #[boxed]
    pub async fn add_row(&self, list: &Target, set: Vec<(Id, Option<ColumnValue>)>) -> Result<Id> {
        let outcome = self.change_rows(list, vec![RowChange::Add { set }], true).await?.pop().unwrap_or_default();
        match (outcome.row, outcome.error) {
            (Some(row), None) => Ok(row),
            (_, error) => Err(error.unwrap_or_else(no_item)),
        }
    }

    /// Returns the versions of a row, newest first, at most 100, beginning before the revision `before`. The first page
    /// begins with the present version.
    #[boxed]
    pub async fn row_versions(&self, row: &Target, before: Option<Id>, limit: usize) -> Result<Page<RowVersion, Id>> {
        let limit = limit.clamp(1, MAX_VERSIONS);
        let read = move |reader: &mut Reader<'_>, located: &Viewed| {
            located.require_kind(NodeKind::Row)?;
            located.require(Right::ViewVersions)?;
            let row = located.node();
            let columns = column::list(reader, row.library_id)?;
            let mut versions = Vec::new();
            if let (None, Some(id)) = (before, row.version_id) {
                let fields = record::find(reader, row.id)?.map(|record| record.fields).unwrap_or_default();
                versions.push(version(&columns, id, row.modified_at, row.modified_by, &fields)?);
            }
            let earlier = revision::list(reader, row.id, before.unwrap_or(Id::new(i64::MAX)), limit + 1)?;
            for one in earlier {
                versions.push(version(&columns, one.id, one.at, one.by, &one.fields)?);
            }
            let next = (versions.len() > limit).then(|| versions[limit - 1].id);
            versions.truncate(limit);
            Ok(Page { items: versions, next })
        };
        Ok(self.view(row, read).await?.1)
    }
}

/// Returns the outcomes of a request that was made before.
fn repeated(transaction: &mut Transaction<'_>, rows: &[Id]) -> Result<Vec<RowOutcome>> {
    let outcome = |id: &Id| {
        let revision = node::find(transaction, *id)?.and_then(|row| row.version_id);
        Ok(RowOutcome { row: Some(*id), revision, ..RowOutcome::default() })
    };
    rows.iter().map(outcome).collect()
}

fn version(columns: &[ColumnRow], id: Id, at: Timestamp, by: Id, fields: &Fields) -> Result<RowVersion> {
    Ok(RowVersion { id, at, by, values: values_in(columns, fields)? })
}

fn values_in(columns: &[ColumnRow], fields: &Fields) -> Result<Vec<(Id, ColumnValue)>> {
    let mut values = Vec::new();
    for column in columns {
        values.extend(fields.get(column.slot, &column.kind)?.map(|value| (column.id, value)));
    }
    Ok(values)
}

/// The state of a list and of the rows that a batch changes, inside its transaction.
struct Batch<'a> {
    guard: &'a Guard,
    checked: &'a Checked,
    list: NodeRow,
    path: &'a str,
    columns: Vec<ColumnRow>,
    outcomes: Vec<RowOutcome>,
}

impl<'a> Batch<'a> {
    fn new(
        transaction: &mut Transaction<'_>,
        guard: &'a Guard,
        checked: &'a Checked,
        list: Id,
        path: &'a str,
    ) -> Result<Self> {
        // Columns change under the same lock.
        library::lock(transaction, list)?;
        let columns = column::list(transaction, list)?;
        let list = held_parent(transaction, list)?;
        Ok(Self { guard, checked, list, path, columns, outcomes: Vec::new() })
    }

    /// Checks all changes. Those that were refused have an outcome with an error, and no step.
    fn check<'c>(
        &mut self,
        transaction: &mut Transaction<'_>,
        columns: &'c [ColumnRow],
        changes: &'c [RowChange],
    ) -> Result<Vec<(usize, Step<'c>)>> {
        let mut ids: Vec<Id> = changes
            .iter()
            .filter_map(|change| match change {
                RowChange::Add { .. } => None,
                RowChange::Edit { row, .. } | RowChange::Delete { row, .. } => Some(*row),
            })
            .collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid("the request changes a row twice: join the two changes"));
        }
        let mut rows = HashMap::new();
        let mut records = HashMap::new();
        if !ids.is_empty() {
            let chars: i64 = record::sizes(transaction, &ids)?.iter().map(|(_, chars)| chars).sum();
            if chars > MAX_CHARS {
                return Err(Error::invalid(
                    "these rows have too much text to be changed at once: send several requests",
                )
                .with_code(Code::TooMany));
            }
            rows.extend(node::lock_many(transaction, &ids)?.into_iter().map(|row| (row.id, row)));
            records.extend(record::find_many(transaction, &ids)?);
        }
        let mut steps = Vec::new();
        for (position, change) in changes.iter().enumerate() {
            let mut outcome = RowOutcome::default();
            let step = match change {
                RowChange::Add { set } => self.check_add(columns, set),
                RowChange::Edit { row, revision, was, set } => {
                    outcome.row = Some(*row);
                    let fields = records.remove(row);
                    self.row(rows.remove(row), Right::Edit).and_then(|row| {
                        outcome.revision = row.version_id;
                        let fields = fields.unwrap_or_default();
                        let change = check_edit(columns, &row, *revision, &fields, was, set);
                        if change.as_ref().is_err_and(|error| error.code() == Code::ValueChanged) {
                            outcome.present = present(columns, &fields, set)?;
                        }
                        Ok(Step::Edit { row, change: change? })
                    })
                }
                RowChange::Delete { row, revision } => {
                    outcome.row = Some(*row);
                    self.row(rows.remove(row), Right::Delete).and_then(|row| {
                        outcome.revision = row.version_id;
                        match revision.is_some() && *revision != row.version_id {
                            true => Err(changed_meanwhile()),
                            false => Ok(Step::Delete { row }),
                        }
                    })
                }
            };
            match step {
                Ok(step) => steps.push((position, step)),
                Err(error) => outcome.error = Some(error),
            }
            self.outcomes.push(outcome);
        }
        Ok(steps)
    }

    /// Returns a row of the list on which the caller has a right.
    fn row(&self, row: Option<NodeRow>, right: Right) -> Result<NodeRow> {
        let row = row.filter(|row| row.parent_id == self.list.id && row.kind == NodeKind::Row);
        let row = row.filter(|row| self.checked.knows(row)).ok_or_else(no_item)?;
        let rights = self.checked.access.rights(row.scope_id);
        if !rights.has(Right::View) {
            return Err(no_item());
        }
        if !rights.has(right) {
            return Err(Error::lacking(right, row.title.as_deref().unwrap_or(&row.name)));
        }
        Ok(row)
    }

    fn check_add<'c>(&self, columns: &'c [ColumnRow], set: &'c [(Id, Option<ColumnValue>)]) -> Result<Step<'c>> {
        if !self.checked.access.rights(self.list.scope_id).has(Right::Add) {
            return Err(Error::lacking(Right::Add, &self.list.name));
        }
        let fields = FieldChange::check(columns, set)?.applied_to(&Fields::default());
        check_row(columns, &fields)?;
        Ok(Step::Add { title: title_of(columns, &fields)?, fields })
    }

    /// Makes the changes that were checked.
    fn make(
        &mut self,
        transaction: &mut Transaction<'_>,
        columns: &[ColumnRow],
        steps: Vec<(usize, Step<'_>)>,
    ) -> Result<()> {
        let added = steps.iter().filter(|(_, step)| matches!(step, Step::Add { .. })).count();
        let mut number = 0;
        if added > 0 {
            number = library::take_numbers(transaction, self.list.id, added)?;
            // The rows are counted only once so many have been added.
            let most = MAX_ROWS - added;
            if number > most as i64 && node::count_rows(transaction, self.list.id, most + 1)? > most {
                return Err(Error::exhausted(format!("a list has at most {MAX_ROWS} rows")).with_code(Code::TooMany));
            }
        }
        let (now, mut new) = (Timestamp::now(), Vec::with_capacity(added));
        for (position, step) in steps {
            let revision = match step {
                Step::Add { fields, title } => {
                    let row = self.new_row(number, title, now)?;
                    number += 1;
                    self.outcomes[position].row = Some(row.id);
                    let revision = row.version_id;
                    new.push((row, fields));
                    revision
                }
                Step::Edit { row, change } => {
                    let path = join(self.path, &row.name);
                    if fields::store(transaction, self.guard, &row, columns, &change)? {
                        self.guard.record(transaction, row.id, "row.change", path)?;
                    }
                    node::find(transaction, row.id)?.and_then(|row| row.version_id)
                }
                Step::Delete { row } => {
                    let path = join(self.path, &row.name);
                    recycle(transaction, self.guard, &row, &path)?;
                    self.guard.record(transaction, row.id, "item.delete", path)?;
                    None
                }
            };
            self.outcomes[position].revision = revision;
        }
        self.add(transaction, new)
    }

    fn new_row(&self, number: i64, title: Option<String>, now: Timestamp) -> Result<NodeRow> {
        let (guard, name) = (self.guard, Name::new(number.to_string())?);
        let mut row = NodeRow::new(guard.next_id(), &self.list, NodeKind::Row, &name, guard.caller(), now);
        row.version_id = Some(guard.next_id());
        row.published_id = row.version_id;
        row.title = title;
        Ok(row)
    }

    /// Stores new rows with their fields.
    fn add(&self, transaction: &mut Transaction<'_>, new: Vec<(NodeRow, Fields)>) -> Result<()> {
        let guard = self.guard;
        let (rows, fields): (Vec<NodeRow>, Vec<Fields>) = new.into_iter().unzip();
        let records = rows.iter().zip(&fields).map(|(row, fields)| (row, row.version_id.unwrap_or(row.id), fields));
        let event =
            |row: &NodeRow| guard.event(guard.caller(), row.id, "row.create", join(self.path, &row.name).into());
        let events = rows.iter().map(event).collect::<Result<Vec<_>>>()?;
        node::insert_many(transaction, &rows)?;
        record::insert_many(transaction, &records.collect::<Vec<_>>())?;
        guard.record_all(transaction, &events)
    }
}

fn check_edit<'c>(
    columns: &'c [ColumnRow],
    row: &NodeRow,
    revision: Option<Id>,
    fields: &Fields,
    was: &[(Id, Option<ColumnValue>)],
    set: &'c [(Id, Option<ColumnValue>)],
) -> Result<FieldChange<'c>> {
    let change = FieldChange::check(columns, set)?;
    if revision.is_some() && revision != row.version_id {
        let ids = was.iter().map(|(id, _)| *id).collect::<Vec<_>>();
        let covered = set.iter().all(|(id, _)| ids.contains(id));
        let unchanged = was.iter().map(|(id, value)| Ok(value_of(columns, fields, *id)? == *value));
        if !covered || !unchanged.collect::<Result<Vec<bool>>>()?.into_iter().all(|same| same) {
            return Err(changed_meanwhile());
        }
    }
    check_row(columns, &change.applied_to(fields))?;
    Ok(change)
}

fn value_of(columns: &[ColumnRow], fields: &Fields, id: Id) -> Result<Option<ColumnValue>> {
    match columns.iter().find(|column| column.id == id) {
        Some(column) => fields.get(column.slot, &column.kind),
        None => Ok(None),
    }
}

fn present(
    columns: &[ColumnRow],
    fields: &Fields,
    set: &[(Id, Option<ColumnValue>)],
) -> Result<Vec<(Id, Option<ColumnValue>)>> {
    set.iter().map(|(id, _)| Ok((*id, value_of(columns, fields, *id)?))).collect()
}

fn changed_meanwhile() -> Error {
    Error::conflict("the row was changed in the meantime: check its present values and save again")
        .with_code(Code::ValueChanged)
}

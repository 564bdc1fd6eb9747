//! Checking and making the changes of one request inside its transaction.

use std::collections::{HashMap, HashSet};

use database::Transaction;
use database::content::column::ColumnRow;
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::{attachment, library, record};
use model::{Code, ColumnValue, Error, ErrorKind, Id, Name, NodeKind, Result, Right, Timestamp, VersionNumber};

use crate::columns::fields::{self, check_required, complete, drop_removed, recalculate, title_of};
use crate::columns::{ColumnSet, Completing, FieldChange, FoundEntries, TakenValues};
use crate::items::moving::leave;
use crate::items::remove::recycle;
use crate::items::tree::{held_parent, refuse_held, subtree_rights};
use crate::session::errors::no_item;
use crate::session::guard::{Checked, Guard};
use crate::session::idempotency::StoredOutcome;
use crate::session::target::join;

use super::change::{RowChange, RowOutcome};

/// Limit on the rows of one list.
const MAX_ROWS: usize = 1_000_000;

/// Limit on the stored bytes of the rows that one request edits or deletes. They are in memory together.
const MAX_STORED_BYTES: i64 = 16 << 20;

/// Facts about other rows that the changes of one request have in common.
#[derive(Default)]
struct OtherRows {
    taken: TakenValues,
    entries: FoundEntries,
}

/// A list in the transaction that changes its rows.
pub(super) struct Batch<'a> {
    guard: &'a Guard,
    checked: &'a Checked,
    list: NodeRow,
    path: &'a str,
    columns: ColumnSet,
}

/// A change that was checked and can be made.
pub(super) enum Step<'a> {
    Add { fields: Fields, title: Option<String> },
    Edit { row: NodeRow, before: Fields, change: FieldChange<'a> },
    Delete { row: NodeRow, has_attachments: bool },
}

/// The steps of a request, each with the position of its change.
type Steps<'a> = Vec<(usize, Step<'a>)>;

/// The rows that a request edits or deletes, as they are.
struct Present {
    rows: HashMap<Id, NodeRow>,
    fields: HashMap<Id, Fields>,
    /// Those to be deleted that have attachments.
    with_attachments: HashSet<Id>,
}

impl<'a> Batch<'a> {
    /// Locks the list for the transaction. Its columns change under the same lock.
    pub(super) fn new(
        transaction: &mut Transaction<'_>,
        guard: &'a Guard,
        checked: &'a Checked,
        list: Id,
        path: &'a str,
    ) -> Result<Self> {
        library::lock(transaction, list)?;
        let columns = ColumnSet::read(transaction, list)?;
        let list = held_parent(transaction, list)?;
        Ok(Self { guard, checked, list, path, columns })
    }

    /// Returns the outcome of a change that an earlier request made or refused. A row that the caller may not open any
    /// more has no revision.
    pub(super) fn repeated(&self, transaction: &mut Transaction<'_>, stored: StoredOutcome) -> Result<RowOutcome> {
        let row = stored.object();
        let found = match row {
            Some(id) => self.known(node::find(transaction, id)?).ok(),
            None => None,
        };
        let revision = found.and_then(|row| row.version_id);
        Ok(RowOutcome { row, revision, error: stored.refusal(), present: Vec::new() })
    }

    /// Checks all changes. Returns the outcome of each of them, and the steps that make those that can be made, with
    /// their positions among the changes.
    pub(super) fn check<'c>(
        &'c self,
        transaction: &mut Transaction<'_>,
        changes: &'c [RowChange],
    ) -> Result<(Steps<'c>, Vec<RowOutcome>)> {
        let mut present = self.present(transaction, changes)?;
        let (mut steps, mut outcomes) = (Vec::new(), Vec::with_capacity(changes.len()));
        let mut others = OtherRows::default();
        for (position, change) in changes.iter().enumerate() {
            let mut outcome = RowOutcome { row: change.row(), ..RowOutcome::default() };
            match self.check_one(transaction, &mut present, &mut others, change, &mut outcome)? {
                Ok(step) => steps.push((position, step)),
                Err(refusal) => outcome.error = Some(refusal),
            }
            outcomes.push(outcome);
        }
        Ok((steps, outcomes))
    }

    /// Locks and reads the rows of the list that a request edits or deletes. Others are left alone, even unmeasured.
    fn present(&self, transaction: &mut Transaction<'_>, changes: &[RowChange]) -> Result<Present> {
        let mut ids: Vec<Id> = changes.iter().filter_map(RowChange::row).collect();
        ids.sort_unstable();
        if ids.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid("the request changes a row twice: join the two changes"));
        }
        if !ids.is_empty() {
            let found = node::find_many(transaction, &ids)?;
            ids = found.into_iter().filter_map(|row| self.known(Some(row)).ok()).map(|row| row.id).collect();
        }
        let mut present = Present { rows: HashMap::new(), fields: HashMap::new(), with_attachments: HashSet::new() };
        if !ids.is_empty() {
            let bytes: i64 = record::sizes(transaction, &ids)?.iter().map(|(_, bytes)| bytes).sum();
            if bytes > MAX_STORED_BYTES {
                return Err(Error::invalid(
                    "these rows have too much text to be changed at once: send several requests",
                )
                .with_code(Code::TooMuchAtOnce));
            }
            present.rows.extend(node::lock_many(transaction, &ids)?.into_iter().map(|row| (row.id, row)));
            for (id, mut fields) in record::find_many(transaction, &ids)? {
                drop_removed(self.columns.rows(), &mut fields);
                present.fields.insert(id, fields);
            }
            let deleted = changes.iter().filter(|change| change.deletes()).filter_map(RowChange::row);
            let deleted: Vec<Id> = deleted.filter(|id| present.rows.contains_key(id)).collect();
            let with_attachments = attachment::rows_with(transaction, &deleted)?;
            present.with_attachments.extend(with_attachments.iter().map(|row| row.id));
        }
        Ok(present)
    }

    /// Checks one change. The outer error ends the request, the inner one refuses the change.
    fn check_one<'c>(
        &'c self,
        transaction: &mut Transaction<'_>,
        present: &mut Present,
        others: &mut OtherRows,
        change: &'c RowChange,
        outcome: &mut RowOutcome,
    ) -> Result<Result<Step<'c>>> {
        let right = match change {
            RowChange::Add { set } => return self.check_add(transaction, others, set),
            RowChange::Edit { .. } => Right::Edit,
            RowChange::Delete { .. } => Right::Delete,
        };
        let found = change.row().and_then(|id| present.rows.remove(&id));
        let row = match self.permitted(found, right) {
            Ok(row) => row,
            Err(refusal) => return Ok(Err(refusal)),
        };
        outcome.revision = row.version_id;
        match change {
            RowChange::Edit { revision, was, set, .. } => {
                let before = present.fields.remove(&row.id).unwrap_or_default();
                let fits = match is_unchanged(self.columns.rows(), &row, *revision, &before, was, set)? {
                    true => self.check_edit(transaction, others, &row, &before, set)?,
                    false => {
                        for (id, _) in set {
                            outcome.present.push((*id, value_of(self.columns.rows(), &before, *id)?));
                        }
                        Err(changed_meanwhile())
                    }
                };
                Ok(fits.map(|change| Step::Edit { row, before, change }))
            }
            RowChange::Delete { revision, .. } if revision.is_some() && *revision != row.version_id => {
                Ok(Err(changed_meanwhile()))
            }
            _ if present.with_attachments.contains(&row.id) => {
                let free = self.check_delete(transaction, &row)?;
                Ok(free.map(|()| Step::Delete { row, has_attachments: true }))
            }
            _ => Ok(Ok(Step::Delete { row, has_attachments: false })),
        }
    }

    /// Refuses to delete a row with attachments that must stay where they are.
    fn check_delete(&self, transaction: &mut Transaction<'_>, row: &NodeRow) -> Result<Result<()>> {
        // One was attached since the lock for this transaction was chosen.
        if !self.guard.is_exclusive() {
            return Ok(Err(changed_meanwhile()));
        }
        let free = subtree_rights(transaction, &self.checked.access, row, &[Right::Delete])
            .and_then(|()| refuse_held(transaction, self.checked, row, self.guard.caller()))
            .and_then(|()| self.guard.require_tree_unlocked(transaction, self.checked, row));
        match free {
            Err(refusal) if matches!(refusal.kind(), ErrorKind::Forbidden | ErrorKind::Locked) => Ok(Err(refusal)),
            free => free.map(Ok),
        }
    }

    /// Returns a row of the list that the caller may open.
    fn known(&self, row: Option<NodeRow>) -> Result<NodeRow> {
        let row = row.filter(|row| row.parent_id == self.list.id && row.kind == NodeKind::Row);
        let row = row.filter(|row| self.checked.knows(row)).ok_or_else(no_item)?;
        match self.checked.access.rights(row.scope_id).has(Right::View) {
            true => Ok(row),
            false => Err(no_item()),
        }
    }

    /// Returns a row of the list on which the caller has a right.
    fn permitted(&self, row: Option<NodeRow>, right: Right) -> Result<NodeRow> {
        let row = self.known(row)?;
        if !self.checked.access.rights(row.scope_id).has(right) {
            return Err(Error::lacking(right, row.title.as_deref().unwrap_or(&row.name)));
        }
        Ok(row)
    }

    fn check_add<'c>(
        &'c self,
        transaction: &mut Transaction<'_>,
        others: &mut OtherRows,
        set: &'c [(Id, Option<ColumnValue>)],
    ) -> Result<Result<Step<'c>>> {
        let nothing = Fields::default();
        let checked = self.require_add().and_then(|()| self.completed(Completing::NewRow, set));
        let fields = match checked {
            Ok((_, fields)) => fields,
            Err(refusal) => return Ok(Err(refusal)),
        };
        if let Some(refusal) = self.refusal(transaction, others, None, &nothing, &fields)? {
            return Ok(Err(refusal));
        }
        Ok(Ok(Step::Add { title: title_of(self.columns.rows(), &fields)?, fields }))
    }

    fn check_edit<'c>(
        &'c self,
        transaction: &mut Transaction<'_>,
        others: &mut OtherRows,
        row: &NodeRow,
        before: &Fields,
        set: &'c [(Id, Option<ColumnValue>)],
    ) -> Result<Result<FieldChange<'c>>> {
        let (change, after) = match self.completed(Completing::Edit(before), set) {
            Ok(completed) => completed,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let refusal = self.refusal(transaction, others, Some(row.id), before, &after)?;
        Ok(refusal.map_or(Ok(change), Err))
    }

    /// Returns the refusal of fields that other rows do not permit: values that must be unique, and entries of lists.
    fn refusal(
        &self,
        transaction: &mut Transaction<'_>,
        others: &mut OtherRows,
        item: Option<Id>,
        before: &Fields,
        after: &Fields,
    ) -> Result<Option<Error>> {
        let refusal = others.entries.refusal(transaction, self.guard, &self.columns, before, after)?;
        match refusal {
            None => others.taken.take(transaction, &self.columns, item, before, after),
            refusal => Ok(refusal),
        }
    }

    /// Checks the fields of a row, and returns the whole change with the fields after it.
    fn completed<'c>(
        &'c self,
        completing: Completing<'_>,
        set: &'c [(Id, Option<ColumnValue>)],
    ) -> Result<(FieldChange<'c>, Fields)> {
        let mut change = self.columns.change(set)?;
        let after = complete(&self.columns, &mut change, completing, self.guard.caller())?;
        check_required(self.columns.rows(), &after)?;
        Ok((change, after))
    }

    /// Makes the changes that were checked, and notes rows and revisions in their outcomes.
    pub(super) fn make(
        &self,
        transaction: &mut Transaction<'_>,
        steps: Steps<'_>,
        outcomes: &mut [RowOutcome],
    ) -> Result<()> {
        let added = steps.iter().filter(|(_, step)| matches!(step, Step::Add { .. })).count();
        let mut number = if added > 0 { self.take_numbers(transaction, added)? } else { 0 };
        let (now, mut new) = (Timestamp::now(), Vec::with_capacity(added));
        for (position, step) in steps {
            let outcome = &mut outcomes[position];
            match step {
                Step::Add { fields, title } => {
                    let row = self.new_row(number, title, now)?;
                    number += 1;
                    (outcome.row, outcome.revision) = (Some(row.id), row.version_id);
                    new.push((row, fields));
                }
                Step::Edit { row, before, change } => {
                    if let Some(revision) =
                        fields::replace(transaction, self.guard, &row, self.columns.rows(), &before, &change)?
                    {
                        outcome.revision = Some(revision);
                        self.guard.record(transaction, row.id, "row.change", join(self.path, &row.name))?;
                    }
                }
                Step::Delete { row, has_attachments } => {
                    if has_attachments {
                        leave(transaction, self.guard, self.checked, &row)?;
                    }
                    let path = join(self.path, &row.name);
                    recycle(transaction, self.guard, &row, &path)?;
                    self.guard.record(transaction, row.id, "item.delete", path)?;
                    outcome.revision = None;
                }
            }
        }
        self.add(transaction, new)
    }

    /// Returns the fields of a row that comes from elsewhere with these values, checked as those of a new one. Entries
    /// of lists that it names in `known` stay, whether or not the caller may open them.
    ///
    /// # Errors
    /// Those of a new row.
    pub(super) fn checked_fields(
        &self,
        transaction: &mut Transaction<'_>,
        values: &[(Id, Option<ColumnValue>)],
        known: &Fields,
    ) -> Result<Fields> {
        self.require_add()?;
        let (_, fields) = self.completed(Completing::NewRow, values)?;
        let (nothing, mut others) = (Fields::default(), OtherRows::default());
        if let Some(refusal) = others.entries.refusal(transaction, self.guard, &self.columns, known, &fields)? {
            return Err(refusal);
        }
        match others.taken.take(transaction, &self.columns, None, &nothing, &fields)? {
            Some(refusal) => Err(refusal),
            None => Ok(fields),
        }
    }

    /// Returns a new row with the next number of the list, which is not stored yet.
    pub(super) fn next_row(&self, transaction: &mut Transaction<'_>, fields: &Fields) -> Result<NodeRow> {
        let number = self.take_numbers(transaction, 1)?;
        self.new_row(number, title_of(self.columns.rows(), fields)?, Timestamp::now())
    }

    /// Adds a row with fields that it had in a backup. Only the right to add rows is checked.
    pub(super) fn return_row(&self, transaction: &mut Transaction<'_>, values: &[(Id, ColumnValue)]) -> Result<Id> {
        self.require_add()?;
        let (mut change, nothing) = (self.columns.known_change(values), Fields::default());
        let fields = recalculate(&self.columns, &mut change, &nothing);
        let row = self.next_row(transaction, &fields)?;
        let id = row.id;
        self.add(transaction, vec![(row, fields)])?;
        Ok(id)
    }

    fn require_add(&self) -> Result<()> {
        match self.checked.access.rights(self.list.scope_id).has(Right::Add) {
            true => Ok(()),
            false => Err(Error::lacking(Right::Add, &self.list.name)),
        }
    }

    /// Returns the first of the numbers of new rows.
    fn take_numbers(&self, transaction: &mut Transaction<'_>, count: usize) -> Result<i64> {
        let first = library::take_numbers(transaction, self.list.id, count)?;
        // The rows are counted only once so many have been added.
        let most = MAX_ROWS - count;
        if first > most as i64 && node::count_rows(transaction, self.list.id, most + 1)? > most {
            return Err(Error::exhausted(format!("a list has at most {MAX_ROWS} rows")).with_code(Code::TooMany));
        }
        Ok(first)
    }

    fn new_row(&self, number: i64, title: Option<String>, now: Timestamp) -> Result<NodeRow> {
        let (guard, name) = (self.guard, Name::new(number.to_string())?);
        let mut row = NodeRow::new(guard.next_id(), &self.list, NodeKind::Row, &name, guard.caller(), now);
        row.version_id = Some(guard.next_id());
        row.published_id = row.version_id;
        row.number = VersionNumber::new(1, 0);
        row.title = title;
        Ok(row)
    }

    /// Stores new rows with their fields.
    fn add(&self, transaction: &mut Transaction<'_>, new: Vec<(NodeRow, Fields)>) -> Result<()> {
        let guard = self.guard;
        let (rows, fields): (Vec<NodeRow>, Vec<Fields>) = new.into_iter().unzip();
        let event =
            |row: &NodeRow| guard.event(guard.caller(), row.id, "row.create", join(self.path, &row.name).into());
        let events = rows.iter().map(event).collect::<Result<Vec<_>>>()?;
        node::insert_many(transaction, &rows)?;
        record::insert_many(transaction, &rows.iter().zip(&fields).collect::<Vec<_>>())?;
        guard.record_all(transaction, &events, rows.first().map(|row| row.library_id))
    }
}

/// Returns whether a row is as the author of a change saw it.
fn is_unchanged(
    columns: &[ColumnRow],
    row: &NodeRow,
    revision: Option<Id>,
    fields: &Fields,
    was: &[(Id, Option<ColumnValue>)],
    set: &[(Id, Option<ColumnValue>)],
) -> Result<bool> {
    if revision == row.version_id || revision.is_none() && was.is_empty() {
        return Ok(true);
    }
    if !set.iter().all(|(column, _)| was.iter().any(|(known, _)| known == column)) {
        return Ok(false);
    }
    for (column, value) in was {
        if value_of(columns, fields, *column)? != *value {
            return Ok(false);
        }
    }
    Ok(true)
}

fn value_of(columns: &[ColumnRow], fields: &Fields, id: Id) -> Result<Option<ColumnValue>> {
    match columns.iter().find(|column| column.id == id) {
        Some(column) => fields.get(column.slot, &column.kind),
        None => Ok(None),
    }
}

fn changed_meanwhile() -> Error {
    Error::conflict("the row was changed in the meantime: check its present values and save again")
        .with_code(Code::ValueChanged)
}

//! Changing the rows of a list: adding, editing and deleting many of them in one transaction.

use async_recursion::async_recursion as boxed;
use database::content::attachment;
use database::{Reader, Transaction};
use model::{Code, ColumnValue, Error, Id, NodeKind, Result, Right};

use crate::session::errors::no_item;
use crate::session::guard::{Checked, Guard};
use crate::session::idempotency::StoredOutcome;
use crate::{Session, Target};

use super::batch::Batch;
use super::change::{RowChange, RowOutcome};

/// Limit on the changes in one request.
pub const MAX_CHANGES: usize = 1_000;
/// Limit on the values that one request sets.
const MAX_VALUES_PER_REQUEST: usize = 20_000;

/// Refuses more changes, or more values that they set, than one request can make.
///
/// # Errors
/// `Invalid` with code `too_much_at_once`.
pub fn require_few_changes(changes: usize, values: usize) -> Result<()> {
    match changes <= MAX_CHANGES && values <= MAX_VALUES_PER_REQUEST {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "at most {MAX_CHANGES} rows and {MAX_VALUES_PER_REQUEST} values can be changed at once: send several \
             requests"
        ))
        .with_code(Code::TooMuchAtOnce)),
    }
}

/// Which of the changes in a request are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All, or none.
    All,
    /// Those that can be made.
    Possible,
    /// None; they are only checked.
    Nothing,
}

impl Session {
    /// Makes changes to the rows of a list in one transaction. With `atomic`, no change is made unless all can be;
    /// otherwise those that cannot be made are left out. Returns the outcome of each change, in their order.
    ///
    /// # Errors
    /// `NotFound`; `Conflict` with code `wrong_kind` for an item that is not a list; `Invalid` with code
    /// `too_much_at_once` for more than 1,000 rows, 20,000 values, or rows with more text than one transaction takes.
    #[boxed]
    pub async fn change_rows(&self, list: &Target, changes: Vec<RowChange>, atomic: bool) -> Result<Vec<RowOutcome>> {
        self.change(list, changes, if atomic { Extent::All } else { Extent::Possible }).await
    }

    /// Returns the outcomes that changes would have, as [`Session::change_rows`] does, and changes nothing.
    ///
    /// # Errors
    /// Those of [`Session::change_rows`].
    #[boxed]
    pub async fn check_rows(&self, list: &Target, changes: Vec<RowChange>) -> Result<Vec<RowOutcome>> {
        self.change(list, changes, Extent::Nothing).await
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

    /// Adds a row with the values that it had in a backup, and returns its identifier. The values are not checked as
    /// those of a new row are: one may name a group that was deleted, or a choice that is no longer offered, and a
    /// required one may be missing.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`; `Conflict` with code `wrong_kind` for an item that is not a list.
    #[boxed]
    pub async fn return_row(&self, list: &Target, values: Vec<(Id, ColumnValue)>) -> Result<Id> {
        let located = self.locate(list).await?.viewed()?;
        located.require_kind(NodeKind::List)?;
        let guard = self.guard([&*located])?;
        let (list, path) = (located.node().id, located.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(row) = guard.repetition.find(transaction)? {
                return Ok(row);
            }
            let row = Batch::new(transaction, guard, checked, list, &path)?.return_row(transaction, &values)?;
            guard.repetition.store_result(transaction, row)?;
            Ok(row)
        };
        guard.write(write).await
    }

    async fn change(&self, list: &Target, changes: Vec<RowChange>, extent: Extent) -> Result<Vec<RowOutcome>> {
        // An empty field counts as well, and so does each of several values.
        let count = |value: Option<&ColumnValue>| value.map_or(1, |value| value.each().len().max(1));
        let values = changes.iter().flat_map(RowChange::values).map(count).sum();
        require_few_changes(changes.len(), values)?;
        let located = self.locate(list).await?.viewed()?;
        located.require_kind(NodeKind::List)?;
        let guard = self.guard([&*located])?;
        self.require_people(changes.iter().flat_map(RowChange::values)).await?;
        let (list, path) = (located.node().id, located.path());
        let deleted: Vec<Id> = changes.iter().filter(|change| change.deletes()).filter_map(RowChange::row).collect();
        // Rows without attachments are deleted beside other changes of the site collection.
        let access = located.access.clone();
        let takes_attachments = move |reader: &mut Reader<'_>| {
            let rows = attachment::rows_with(reader, &deleted)?;
            Ok(rows.iter().any(|row| row.list == list && access.rights(row.scope).has(Right::Delete)))
        };
        let is_exclusive = extent != Extent::Nothing && located.content.database.read(takes_attachments).await?;
        let guard = guard.exclusive_when(is_exclusive);
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let batch = Batch::new(transaction, guard, checked, list, &path)?;
            if let Some(outcomes) = guard.repetition.find_outcomes(transaction)? {
                return outcomes.into_iter().map(|outcome| batch.repeated(transaction, outcome)).collect();
            }
            let (steps, mut outcomes) = batch.check(transaction, &changes)?;
            let is_refused = outcomes.iter().any(|outcome| outcome.error.is_some());
            if extent == Extent::Nothing || extent == Extent::All && is_refused {
                return Ok(outcomes);
            }
            // Nothing needs to be remembered of a request that changes nothing.
            if steps.is_empty() {
                return Ok(outcomes);
            }
            batch.make(transaction, steps, &mut outcomes)?;
            let stored = outcomes.iter().map(|outcome| StoredOutcome::new(outcome.row, outcome.error.as_ref()));
            guard.repetition.store_outcomes(transaction, &stored.collect::<Vec<_>>())?;
            Ok(outcomes)
        };
        guard.write(write).await
    }
}

//! The values of an item in the columns of its library or list.

use async_recursion::async_recursion as boxed;
use database::content::{collection, column, library, node, record};
use database::{Reader, Transaction};
use model::{Code, ColumnValue, Error, Id, NodeKind, Result, Right, Timestamp};

use crate::documents::Preconditions;
use crate::items::attachments::is_attachment;
use crate::items::tree::moved_meanwhile;
use crate::session::guard::{Checked, Guard};
use crate::session::known::Viewed;
use crate::{Session, Target};

use super::field_change::FieldChange;
use super::fields;
use super::rules::require_type;
use super::set::ColumnSet;

/// A change to the column values of an item.
#[derive(Clone, Debug, Default)]
pub struct ValuesChange {
    /// Columns with their new values; `None` clears a column.
    pub values: Vec<(Id, Option<ColumnValue>)>,
    /// Columns with the values that they must hold now; on any mismatch, nothing is changed.
    pub was: Vec<(Id, Option<ColumnValue>)>,
    /// The content type: `Some(None)` removes it, `None` leaves it unchanged.
    pub content_type: Option<Option<Id>>,
    /// Preconditions on the revision of a row.
    pub preconditions: Preconditions,
}

impl Session {
    /// Returns the column values of a document, folder or row.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`.
    #[boxed]
    pub async fn values(&self, target: &Target) -> Result<Vec<(Id, ColumnValue)>> {
        let (_, found) = self
            .view(target, |reader, located| {
                let columns = column::list(reader, located.node().library_id)?;
                let mut values = record::values(reader, located.node().id)?;
                // Values that an item brought along from another library are only hidden. They show again when the item
                // is moved back.
                values.retain(|(id, _)| columns.iter().any(|column| column.id == *id));
                Ok(values)
            })
            .await?;
        Ok(found)
    }

    /// Returns the values that a new item in a library or list gets if its author sets none.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`.
    #[boxed]
    pub async fn default_values(&self, holder: &Target) -> Result<Vec<(Id, ColumnValue)>> {
        let caller = self.principal().id;
        let read = move |reader: &mut Reader<'_>, located: &Viewed| {
            let columns = ColumnSet::read(reader, located.node().library_id)?;
            let mut change = FieldChange::default();
            columns.add_defaults(&mut change, None, caller);
            Ok(change.fields().into_iter().filter_map(|(column, value)| Some((column.id, value?.clone()))).collect())
        };
        Ok(self.view(holder, read).await?.1)
    }

    /// Changes the column values of an item, all or nothing.
    ///
    /// # Errors
    /// `NotFound`; `Forbidden`; `Invalid` with code `invalid_value`, `fields_too_long` or `column_required`; `Conflict`
    /// with code `value_changed` when a column holds another value than it must, with code `value_taken`, and with code
    /// `precondition_failed` when a row is not in the expected revision.
    #[boxed]
    pub async fn set_values(&self, target: &Target, change: ValuesChange) -> Result<()> {
        let ValuesChange { values, was, content_type, preconditions } = change;
        let located = self.locate(target).await?.to(Right::Edit)?;
        let guard = self.guard([&located])?;
        if !located.node().kind.has_values() {
            return Err(
                Error::conflict("only documents, folders and rows have column values").with_code(Code::WrongKind)
            );
        }
        self.require_not_held(&located).await?;
        self.require_people(values.iter().map(|(_, value)| value.as_ref())).await?;
        let (id, path, found) = (located.node().id, located.path(), located.clone());
        let (kind, library) = (located.node().kind, located.node().library_id);
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let is_unique =
                |columns: &ColumnSet| columns.unique().any(|one| values.iter().any(|(id, _)| *id == one.id));
            if kind == NodeKind::Row
                || column::have_options(transaction, library)? && is_unique(&ColumnSet::read(transaction, library)?)
            {
                // Under this lock no other item gets a value that must be unique, and no column changes.
                library::lock(transaction, library)?;
            }
            let mut row = guard.lock_row(transaction, id)?;
            if row.library_id != library {
                return Err(moved_meanwhile(&row.name));
            }
            guard.require_free(transaction, checked, &row)?;
            if is_attachment(transaction, &row)? {
                return Err(Error::conflict("the columns of a list are for its rows, not for their attachments")
                    .with_code(Code::WrongKind));
            }
            preconditions.check(found.visible_version(&row))?;
            refuse_overtaken(transaction, id, &was)?;
            let columns = ColumnSet::read(transaction, row.library_id)?;
            let change = columns.change(&values)?;
            let other_type = content_type.filter(|wanted| *wanted != row.content_type_id);
            if let Some(content_type) = other_type {
                require_type(transaction, row.library_id, content_type)?;
                node::set_content_type(transaction, id, content_type)?;
                row.content_type_id = content_type;
            }
            let changed = fields::store(transaction, guard, &row, &columns, change, other_type.is_some())?;
            // Saving the same values again neither touches the item nor records an event.
            if !changed && other_type.is_none() {
                return Ok(());
            }
            if row.kind != NodeKind::Row {
                node::touch(transaction, id, Timestamp::now(), guard.caller())?;
            }
            if row.kind.is_container() {
                collection::change_tree(transaction, row.collection_id)?;
            }
            let action = if row.kind == NodeKind::Row { "row.change" } else { "item.columns" };
            guard.record(transaction, id, action, path.as_str())
        };
        guard.write(write).await
    }

    /// Refuses person values that name no principal of this farm.
    pub(crate) async fn require_people(&self, values: impl Iterator<Item = Option<&ColumnValue>> + Send) -> Result<()> {
        let mut named: Vec<Id> = values
            .flatten()
            .flat_map(ColumnValue::each)
            .filter_map(|value| match value {
                ColumnValue::Person(id) => Some(*id),
                _ => None,
            })
            .collect();
        named.sort_unstable();
        named.dedup();
        if named.is_empty() {
            return Ok(());
        }
        let known = self.principal_names(&named).await?;
        match named.iter().find(|id| !known.contains_key(id)) {
            None => Ok(()),
            Some(id) => {
                Err(Error::invalid(format!("no user in this farm has the identifier {id}"))
                    .with_code(Code::InvalidValue))
            }
        }
    }
}

fn refuse_overtaken(reader: &mut Reader<'_>, item: Id, was: &[(Id, Option<ColumnValue>)]) -> Result<()> {
    if was.is_empty() {
        return Ok(());
    }
    let present = record::values(reader, item)?;
    let now = |column: Id| present.iter().find(|(id, _)| *id == column).map(|(_, value)| value);
    if was.iter().all(|(column, value)| now(*column) == value.as_ref()) {
        return Ok(());
    }
    Err(Error::conflict("the value was changed in the meantime: check the present value and save again")
        .with_code(Code::ValueChanged))
}

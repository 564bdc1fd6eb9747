//! Copying and moving rows to other lists. A row is checked there as a new one.

use database::Transaction;
use database::content::node::{self, NodeRow};
use database::content::revision::{self, Revision};
use database::content::{record, tree};
use model::{Code, Error, Id, Name, NodeKind, Result, Right, Timestamp};

use crate::columns::carried::Carried;
use crate::documents::charge;
use crate::items::attachments::require_attachments;
use crate::items::copy::{MAX_COPIED, subtree_to_copy};
use crate::items::copy_items::Copier;
use crate::items::item::Item;
use crate::items::moving::{check_way, leave, put_below};
use crate::items::tree::{held_parent, lock_in, refuse_held, subtree_rights};
use crate::session::errors::{name_conflict, no_item, same_place};
use crate::session::guard::{Checked, Guard};
use crate::session::known::{Known, Viewed};
use crate::session::locate::Located;
use crate::{Session, Target};

use super::batch::Batch;

/// Number of earlier revisions that are read and changed together.
const REVISIONS: usize = 100;
/// Limit on the columns that a refusal names.
const MAX_NAMED: usize = 5;

impl Session {
    /// Copies a row into a list of the same site collection, also into its own, with its attachments. The copy has the
    /// next number of that list, and the values for which that list has a column of the same name and kind.
    ///
    /// # Errors
    /// Those of a new row with these values; `Conflict` with code `attachments_off`.
    pub(crate) async fn copy_row(&self, row: &Viewed, to: &Target, name: Option<&Name>) -> Result<Item> {
        refuse_name(name)?;
        let place = self.locate(to).await?;
        check_list(row, &place)?;
        let place = place.to(Right::Add)?;
        let guard = self.guard([&**row, &place])?;
        let (source, list, path) = (Located::clone(row), place.node().id, place.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            if let Some(created) = guard.repetition.find(transaction)? {
                return guard.item(transaction, created);
            }
            let batch = Batch::new(transaction, guard, checked, list, &path)?;
            let row = guard.lock_row(transaction, source.node().id)?;
            let parent = held_parent(transaction, list)?;
            let carried = Carried::between(transaction, row.library_id, &parent)?;
            let fields = record::find(transaction, row.id)?.unwrap_or_default();
            let known = carried.fields_after_move(&fields)?;
            let fields = batch.checked_fields(transaction, &carried.values_by_column(&fields)?, &known)?;
            let new = batch.next_row(transaction, &fields)?;
            node::insert(transaction, &new)?;
            record::insert_many(transaction, &[(&new, &fields)])?;
            let mut source = source.clone();
            source.access = checked.access.clone();
            let attachments = subtree_to_copy(transaction, row.id, MAX_COPIED)?;
            let mut copier = Copier::new(transaction, guard, &source, row.library_id, &new)?;
            copier.copy_below(transaction, row.id, &new, attachments.get(1..).unwrap_or_default())?;
            if copier.documents > 0 {
                require_attachments(transaction, list)?;
            }
            let quota = checked.collection.quota_bytes;
            charge(transaction, guard, quota, checked.collection.id, copier.bytes, copier.documents)?;
            guard.record(transaction, new.id, "item.copy", format!("{} → {path}/{}", source.path(), new.name))?;
            guard.repetition.store_result(transaction, new.id)?;
            guard.item(transaction, new.id)
        };
        guard.write(write).await.map_err(name_conflict)
    }

    /// Moves a row into another list of the same site collection, with its attachments and earlier versions. It gets
    /// the next number of that list.
    ///
    /// # Errors
    /// `Forbidden` with code `same_item` if it is there already; those of a new row with these values; `Conflict` with
    /// code `missing_columns` if that list has no place for one of them, and with code `attachments_off`.
    pub(crate) async fn move_row(&self, row: Known, place: Known, name: Option<&Name>) -> Result<Item> {
        refuse_name(name)?;
        if row.unchecked().parent().is_some_and(|parent| parent.id == place.id()) {
            return Err(same_place());
        }
        check_list(row.unchecked(), &place)?;
        let (row, place) = (row.to(Right::Delete)?, place.to(Right::Add)?);
        let guard = self.guard([&row, &place])?;
        self.require_not_held(&row).await?;
        let old_parent = row.parent().map_or(Id::NONE, |parent| parent.id);
        let (id, list, old_path, path) = (row.node().id, place.node().id, row.path(), place.path());
        let write = move |transaction: &mut Transaction<'_>, guard: &Guard, checked: &Checked| {
            let batch = Batch::new(transaction, guard, checked, list, &path)?;
            let row = lock_in(transaction, id, old_parent)?;
            subtree_rights(transaction, &checked.access, &row, &[Right::Delete])?;
            refuse_held(transaction, checked, &row, guard.caller())?;
            let parent = held_parent(transaction, list)?;
            if tree::has_more(transaction, id, 1)? {
                require_attachments(transaction, list)?;
            }
            let new = move_into(transaction, &batch, (guard, checked), &row, &parent)?;
            guard.record(transaction, id, "item.move", format!("{old_path} → {path}/{new}"))?;
            guard.item(transaction, id)
        };
        let outcome = guard.exclusive().write(write).await.map_err(name_conflict);
        self.name_holder(&row, outcome).await
    }
}

/// Moves a row into a list, and returns its number there.
fn move_into(
    transaction: &mut Transaction<'_>,
    batch: &Batch<'_>,
    (guard, checked): (&Guard, &Checked),
    row: &NodeRow,
    list: &NodeRow,
) -> Result<String> {
    let carried = Carried::between(transaction, row.library_id, list)?;
    let before = record::find(transaction, row.id)?.unwrap_or_default();
    refuse_loss(&carried.columns_without_place(transaction, row.library_id, &before)?, &list.name)?;
    let known = carried.fields_after_move(&before)?;
    let fields = batch.checked_fields(transaction, &carried.values_by_column(&before)?, &known)?;
    let next = batch.next_row(transaction, &fields)?;
    leave(transaction, guard, checked, row)?;
    // The index entries of a row depend on the columns of its list, so they are made anew.
    record::delete(transaction, &[row.id])?;
    put_below(transaction, checked, row, list, &Name::new(next.name.clone())?)?;
    let moved = node::find(transaction, row.id)?.ok_or_else(no_item)?;
    record::insert_many(transaction, &[(&moved, &fields)])?;
    move_revisions(transaction, row, &carried)?;
    if let Some(id) = row.version_id {
        // However few the list keeps: the others go with the next change, as those of a document do.
        let (number, at, by) = (row.number.major, row.modified_at, row.modified_by);
        revision::insert(transaction, row.id, &Revision { id, number, fields: known, at, by })?;
    }
    let changed = NodeRow {
        title: next.title,
        version_id: next.version_id,
        published_id: next.published_id,
        number: row.number.next_major(),
        modified_at: Timestamp::now(),
        modified_by: guard.caller(),
        ..moved
    };
    node::update_row(transaction, &changed)?;
    Ok(next.name)
}

/// Puts the values of earlier revisions into the columns of the list to which their row moves. What has no place there
/// stays.
fn move_revisions(transaction: &mut Transaction<'_>, row: &NodeRow, carried: &Carried) -> Result<()> {
    let mut before = row.number.major;
    loop {
        let earlier = revision::list(transaction, row.id, before, REVISIONS)?;
        for revision in &earlier {
            revision::set_fields(transaction, revision.id, &carried.fields_after_move(&revision.fields)?)?;
        }
        match earlier.last() {
            Some(last) if earlier.len() == REVISIONS => before = last.number,
            _ => return Ok(()),
        }
    }
}

/// Refuses a destination that is no list of the same site collection.
fn check_list(row: &Located, place: &Known) -> Result<()> {
    let to = place.unchecked();
    if to.node().kind != NodeKind::List {
        let (name, kind) = (&to.node().name, to.node().kind.as_str());
        return Err(Error::conflict(format!("\"{name}\" is a {kind}: choose a list")).with_code(Code::WrongKind));
    }
    check_way(row, to)
}

fn refuse_name(name: Option<&Name>) -> Result<()> {
    match name {
        None => Ok(()),
        Some(_) => {
            Err(Error::conflict("a row gets the next number of the list: leave out the name")
                .with_code(Code::WrongKind))
        }
    }
}

/// Refuses to move values that have no place in the list.
fn refuse_loss(columns: &[String], list: &str) -> Result<()> {
    if columns.is_empty() {
        return Ok(());
    }
    let mut names = columns.iter().take(MAX_NAMED).map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ");
    if columns.len() > MAX_NAMED {
        names.push_str(", …");
    }
    Err(Error::conflict(format!(
        "the list \"{list}\" has no column of the same name and kind for the values of {names}: add columns, or copy \
         the row"
    ))
    .with_code(Code::MissingColumns)
    .naming(&[list, names.as_str()]))
}

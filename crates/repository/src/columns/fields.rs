//! Changes of fields: checked against the columns first, then stored with everything that follows from them.

use database::Transaction;
use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::revision::{self, Revision};
use database::content::{library, record};
use model::{Code, ColumnRole, ColumnValue, Error, Id, NodeKind, Result, Timestamp, Versioning};

use super::field_change::{Completing, FieldChange};
use super::lookups::FoundEntries;
use super::set::ColumnSet;
use super::unique::TakenValues;
use crate::session::guard::Guard;

/// Limit on the bytes of the stored fields of one item.
const MAX_BYTES: usize = 256 << 10;
/// Limit on the characters of a title, which every listing shows.
const MAX_TITLE: usize = 255;

/// Completes a change that somebody makes, and returns the fields after it.
///
/// # Errors
/// `Invalid` with code `fields_too_long`, with code `check_failed`, and with code `too_much_at_once`.
pub(crate) fn complete<'a>(
    columns: &'a ColumnSet,
    change: &mut FieldChange<'a>,
    completing: Completing<'_>,
    caller: Id,
) -> Result<Fields> {
    columns.require_work_left()?;
    let nothing = Fields::default();
    let before = match completing {
        Completing::NewRow | Completing::Unchecked => {
            columns.add_defaults(change, None, caller);
            &nothing
        }
        Completing::Edit(before) => before,
        Completing::Retype(before) => {
            columns.add_defaults(change, Some(before), caller);
            before
        }
    };
    let after = recalculate(columns, change, before);
    check_length(before, &after)?;
    columns.check(change, completing, &after, caller)?;
    Ok(after)
}

/// Adds calculated values to a change, and returns the fields after it.
pub(crate) fn recalculate<'a>(columns: &'a ColumnSet, change: &mut FieldChange<'a>, before: &Fields) -> Fields {
    columns.calculate(change, before);
    change.applied_to(before)
}

/// Gives a new document the default values of its library.
pub(crate) fn give_defaults(transaction: &mut Transaction<'_>, guard: &Guard, document: &NodeRow) -> Result<()> {
    if !column::have_options(transaction, document.library_id)? {
        return Ok(());
    }
    let columns = ColumnSet::read(transaction, document.library_id)?;
    if !columns.has_defaults() {
        return Ok(());
    }
    let mut change = FieldChange::default().of_type(document.content_type_id);
    match complete(&columns, &mut change, Completing::Unchecked, guard.caller())?.is_empty() {
        true => Ok(()),
        false => record::change(transaction, document, &Fields::default(), &change.fields()),
    }
}

/// Refuses fields that are too long together, unless they were so before and do not grow.
///
/// # Errors
/// `Invalid` with code `fields_too_long`.
fn check_length(before: &Fields, after: &Fields) -> Result<()> {
    let bytes = after.stored_bytes();
    match bytes <= MAX_BYTES || bytes <= before.stored_bytes() {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "all fields of an item have at most {} KiB together: shorten the texts",
            MAX_BYTES >> 10
        ))
        .with_code(Code::FieldsTooLong)),
    }
}

/// Refuses the fields of a row that lack a required value.
///
/// # Errors
/// `Invalid` with code `column_required`.
pub(crate) fn check_required(columns: &[ColumnRow], fields: &Fields) -> Result<()> {
    let required = |column: &&ColumnRow| column.required && column.content_type_id.is_none();
    match columns.iter().filter(required).find(|column| !fields.has(column.slot)) {
        None => Ok(()),
        Some(column) => Err(Error::invalid(format!("fill in the column \"{}\"", column.name))
            .with_code(Code::ColumnRequired)
            .naming(&[column.name.as_str()])),
    }
}

/// Returns the title that fields give a row.
pub(crate) fn title_of(columns: &[ColumnRow], fields: &Fields) -> Result<Option<String>> {
    let Some(column) = columns.iter().find(|column| column.role == Some(ColumnRole::Title)) else { return Ok(None) };
    Ok(match fields.get(column.slot, &column.kind)? {
        Some(ColumnValue::Text(text)) => Some(text.chars().filter(|c| !c.is_control()).take(MAX_TITLE).collect()),
        _ => None,
    })
}

/// Stores the fields of an item after a change and what follows from it, and returns whether they differ from those
/// before. `is_retyped` tells that the item had another content type until now. Of a document or folder, time and
/// author of the last change are left to the caller.
pub(crate) fn store<'a>(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    item: &NodeRow,
    columns: &'a ColumnSet,
    change: FieldChange<'a>,
    is_retyped: bool,
) -> Result<bool> {
    let mut change = change.of_type(item.content_type_id);
    let mut before = record::find(transaction, item.id)?.unwrap_or_default();
    if item.kind == NodeKind::Row {
        drop_removed(columns.rows(), &mut before);
    }
    let completing = if is_retyped { Completing::Retype(&before) } else { Completing::Edit(&before) };
    let after = complete(columns, &mut change, completing, guard.caller())?;
    if let Some(refusal) = FoundEntries::default().refusal(transaction, guard, columns, &before, &after)? {
        return Err(refusal);
    }
    if item.kind == NodeKind::Row {
        check_required(columns.rows(), &after)?;
    }
    let mut taken = TakenValues::default();
    if let Some(refusal) = taken.take(transaction, columns, Some(item.id), &before, &after)? {
        return Err(refusal);
    }
    if item.kind == NodeKind::Row {
        return Ok(replace(transaction, guard, item, columns.rows(), &before, &change)?.is_some());
    }
    if before != after {
        record::change(transaction, item, &before, &change.fields())?;
    }
    Ok(before != after)
}

/// Removes the fields of a row in columns that its list no longer has.
pub(crate) fn drop_removed(columns: &[ColumnRow], fields: &mut Fields) {
    fields.retain(&columns.iter().map(|column| column.slot).collect::<Vec<_>>());
}

/// Stores the fields of a row after a change that was checked, keeps those before as a revision, and returns the new
/// revision; `None` if the fields are the same.
pub(crate) fn replace(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    row: &NodeRow,
    columns: &[ColumnRow],
    before: &Fields,
    change: &FieldChange<'_>,
) -> Result<Option<Id>> {
    let after = change.applied_to(before);
    if *before == after {
        return Ok(None);
    }
    let revision = guard.next_id();
    record::change(transaction, row, before, &change.fields())?;
    keep_revision(transaction, row, before)?;
    let changed = NodeRow {
        title: title_of(columns, &after)?,
        version_id: Some(revision),
        published_id: Some(revision),
        number: row.number.next_major(),
        modified_at: Timestamp::now(),
        modified_by: guard.caller(),
        ..row.clone()
    };
    node::update_row(transaction, &changed)?;
    Ok(Some(revision))
}

/// Stores values of a document from a backup, and returns whether they differ from those before. Columns that the
/// library does not have are left out.
pub(crate) fn store_known(
    transaction: &mut Transaction<'_>,
    document: &NodeRow,
    values: &[(Id, ColumnValue)],
) -> Result<bool> {
    let columns = ColumnSet::read(transaction, document.library_id)?;
    let before = record::find(transaction, document.id)?.unwrap_or_default();
    let mut change = columns.known_change(values).of_type(document.content_type_id);
    let differs = recalculate(&columns, &mut change, &before) != before;
    if differs {
        record::change(transaction, document, &before, &change.fields())?;
    }
    Ok(differs)
}

/// Keeps the fields that a row had until now, as far as its list keeps versions.
fn keep_revision(transaction: &mut Transaction<'_>, row: &NodeRow, fields: &Fields) -> Result<()> {
    let settings = library::find(transaction, row.library_id)?;
    let settings = settings.ok_or_else(|| Error::corrupt("the settings of a list are missing"))?;
    let Some(id) = row.version_id.filter(|_| settings.versioning != Versioning::None) else { return Ok(()) };
    let earlier =
        Revision { id, number: row.number.major, fields: fields.clone(), at: row.modified_at, by: row.modified_by };
    revision::insert(transaction, row.id, &earlier)?;
    match settings.major_limit {
        0 => Ok(()),
        // The present record is the newest version.
        most => revision::trim(transaction, row.id, most - 1),
    }
}

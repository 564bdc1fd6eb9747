//! Changes of fields: checked against the columns first, then stored with everything that follows from them.

use database::Transaction;
use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::revision::{self, Revision};
use database::content::{library, record};
use model::{Code, ColumnRole, ColumnValue, Error, Id, NodeKind, Result, Timestamp, Versioning};

use crate::session::guard::Guard;

/// Limit on the bytes of the stored fields of one item.
const MAX_BYTES: usize = 256 << 10;
/// Limit on the characters of a title, which every listing shows.
const MAX_TITLE: usize = 255;

/// A change of fields that fits the columns.
pub(crate) struct FieldChange<'a>(Vec<(&'a ColumnRow, Option<&'a ColumnValue>)>);

impl<'a> FieldChange<'a> {
    /// Checks values for these columns.
    ///
    /// # Errors
    /// `NotFound` for a column that is not among them; `Invalid` with code `invalid_value`.
    pub(crate) fn check(columns: &'a [ColumnRow], values: &'a [(Id, Option<ColumnValue>)]) -> Result<Self> {
        let fit = values.iter().map(|(id, value)| {
            let column = columns.iter().find(|column| column.id == *id);
            let column = column.ok_or_else(|| Error::not_found("the library or list has no such column"))?;
            if let Some(value) = value {
                column.kind.check(value).map_err(|error| {
                    Error::invalid(format!("{}: {}", column.name, error.message()))
                        .with_code(Code::InvalidValue)
                        .naming(&[column.name.as_str()])
                })?;
            }
            Ok((column, value.as_ref()))
        });
        fit.collect::<Result<_>>().map(Self)
    }

    /// Takes values as they were stored before, without any check. Columns that are not among these are left out.
    pub(crate) fn known(columns: &'a [ColumnRow], values: &'a [(Id, ColumnValue)]) -> Self {
        let known = |id: &Id| columns.iter().find(|column| column.id == *id);
        Self(values.iter().filter_map(|(id, value)| Some((known(id)?, Some(value)))).collect())
    }

    /// Returns the fields after the change.
    pub(crate) fn applied_to(&self, fields: &Fields) -> Fields {
        let mut fields = fields.clone();
        self.0.iter().for_each(|(column, value)| fields.set(column.slot, *value));
        fields
    }
}

/// Refuses fields that are too long together, unless they were so before and do not grow.
///
/// # Errors
/// `Invalid` with code `fields_too_long`.
pub(crate) fn check_length(before: &Fields, after: &Fields) -> Result<()> {
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

/// Stores the fields of an item after a change, and returns whether they differ from those before. A row changes with
/// everything that follows from its fields; of a document or folder, time and author of the last change are left to the
/// caller.
pub(crate) fn store(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    item: &NodeRow,
    columns: &[ColumnRow],
    change: &FieldChange<'_>,
) -> Result<bool> {
    let mut before = record::find(transaction, item.id)?.unwrap_or_default();
    if item.kind == NodeKind::Row {
        drop_removed(columns, &mut before);
    }
    let after = change.applied_to(&before);
    check_length(&before, &after)?;
    if item.kind == NodeKind::Row {
        check_required(columns, &after)?;
        return Ok(replace(transaction, guard, item, columns, &before, change)?.is_some());
    }
    if before != after {
        record::change(transaction, item, &before, &change.0)?;
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
    record::change(transaction, row, before, &change.0)?;
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
    let columns = column::list(transaction, document.library_id)?;
    let (change, before) = (FieldChange::known(&columns, values), record::find(transaction, document.id)?);
    let before = before.unwrap_or_default();
    let differs = change.applied_to(&before) != before;
    if differs {
        record::change(transaction, document, &before, &change.0)?;
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

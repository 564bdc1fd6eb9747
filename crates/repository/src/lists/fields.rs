//! Changes of fields: checked against the columns first, then stored with everything that follows from them.

use database::Transaction;
use database::content::column::{self, ColumnRow};
use database::content::fields::Fields;
use database::content::node::{self, NodeRow};
use database::content::revision::{self, Revision};
use database::content::{library, record};
use model::{Code, ColumnRole, ColumnValue, Error, Id, NodeKind, Result, Timestamp, Versioning};

use crate::session::guard::Guard;

/// Limit on the bytes of all texts of one row.
const MAX_ROW_BYTES: usize = 256 << 10;

/// A change of fields that fits the columns.
pub(super) struct FieldChange<'a>(Vec<(&'a ColumnRow, Option<&'a ColumnValue>)>);

impl<'a> FieldChange<'a> {
    /// Checks values for these columns.
    ///
    /// # Errors
    /// `NotFound` for a column that is not among them; `Invalid` with code `invalid_value`.
    pub(super) fn check(columns: &'a [ColumnRow], values: &'a [(Id, Option<ColumnValue>)]) -> Result<Self> {
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

    /// Returns the fields after the change.
    pub(super) fn applied_to(&self, fields: &Fields) -> Fields {
        let mut fields = fields.clone();
        self.0.iter().for_each(|(column, value)| fields.set(column.slot, *value));
        fields
    }
}

/// Refuses the fields of a row that lack a required value, or are too long together.
///
/// # Errors
/// `Invalid` with code `column_required` or `too_large`.
pub(super) fn check_row(columns: &[ColumnRow], fields: &Fields) -> Result<()> {
    if fields.text_bytes() > MAX_ROW_BYTES {
        return Err(Error::invalid(format!("the texts of a row have at most {} KiB together", MAX_ROW_BYTES >> 10))
            .with_code(Code::TooLarge));
    }
    let required = |column: &&ColumnRow| column.required && column.content_type_id.is_none();
    match columns.iter().filter(required).find(|column| !fields.has(column.slot)) {
        None => Ok(()),
        Some(column) => Err(Error::invalid(format!("fill in the column \"{}\"", column.name))
            .with_code(Code::ColumnRequired)
            .naming(&[column.name.as_str()])),
    }
}

/// Returns the title that fields give a row.
pub(super) fn title_of(columns: &[ColumnRow], fields: &Fields) -> Result<Option<String>> {
    let Some(column) = columns.iter().find(|column| column.role == Some(ColumnRole::Title)) else { return Ok(None) };
    Ok(match fields.get(column.slot, &column.kind)? {
        Some(ColumnValue::Text(text)) => Some(text),
        _ => None,
    })
}

/// Stores the fields of an item after a change, and returns whether they differ from those before. The earlier fields
/// of a row become a revision.
pub(super) fn store(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    item: &NodeRow,
    columns: &[ColumnRow],
    change: &FieldChange<'_>,
) -> Result<bool> {
    let next = guard.next_id();
    let before = record::find(transaction, item.id)?.map(|record| record.fields).unwrap_or_default();
    let after = change.applied_to(&before);
    if item.kind == NodeKind::Row {
        check_row(columns, &after)?;
    }
    if before == after {
        return Ok(false);
    }
    record::change(transaction, item, next, &before, &change.0)?;
    if item.kind == NodeKind::Row {
        keep_revision(transaction, item, before)?;
        let row = NodeRow {
            title: title_of(columns, &after)?,
            version_id: Some(next),
            published_id: Some(next),
            modified_at: Timestamp::now(),
            modified_by: guard.caller(),
            ..item.clone()
        };
        node::update_row(transaction, &row)?;
    }
    Ok(true)
}

/// Stores values of a document from a backup, and returns whether they differ from those before. Columns that the
/// library does not have are left out.
pub(crate) fn store_known(
    transaction: &mut Transaction<'_>,
    guard: &Guard,
    document: &NodeRow,
    values: &[(Id, ColumnValue)],
) -> Result<bool> {
    let columns = column::list(transaction, document.library_id)?;
    let known = |id: &Id| columns.iter().find(|column| column.id == *id);
    let change = values.iter().filter_map(|(id, value)| Some((known(id)?, Some(value)))).collect();
    store(transaction, guard, document, &columns, &FieldChange(change))
}

/// Keeps the fields that a row had until now, as far as its list keeps versions.
fn keep_revision(transaction: &mut Transaction<'_>, row: &NodeRow, fields: Fields) -> Result<()> {
    let Some(settings) = library::find(transaction, row.library_id)? else { return Ok(()) };
    let Some(id) = row.version_id.filter(|_| settings.versioning != Versioning::None) else { return Ok(()) };
    let earlier = Revision { id, fields, at: row.modified_at, by: row.modified_by };
    revision::insert(transaction, row.id, &earlier)?;
    match settings.major_limit {
        0 => Ok(()),
        // The present record is the newest version.
        most => revision::trim(transaction, row.id, most - 1),
    }
}

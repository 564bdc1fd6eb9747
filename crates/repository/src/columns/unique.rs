//! Columns without duplicates: no two items of a library or list may have the same value. Texts are compared by their
//! first 100 characters, in whatever case. Items that come back from a recycle bin or a backup keep their values.

use std::collections::HashSet;

use database::content::column::ColumnRow;
use database::content::fields::Fields;
use database::content::node::NodeRow;
use database::content::{library, record};
use database::{Reader, Transaction};
use model::{Code, Error, Id, Result, SortValue};

use super::set::ColumnSet;

/// Values of unique columns that an earlier change of the same request sets.
#[derive(Default)]
pub(crate) struct TakenValues(HashSet<(i64, u64, String)>);

impl TakenValues {
    /// Takes the new values of an item in unique columns. Returns the refusal, with code `value_taken`, if another item
    /// of the library or list has one of them. `item` is the one that changes, if it exists.
    pub(crate) fn take(
        &mut self,
        reader: &mut Reader<'_>,
        columns: &ColumnSet,
        item: Option<Id>,
        before: &Fields,
        after: &Fields,
    ) -> Result<Option<Error>> {
        let mut new = Vec::new();
        for column in columns.unique() {
            let Some(value) = after.sort_value(column.slot) else { continue };
            if before.sort_value(column.slot).as_ref() == Some(&value) {
                continue;
            }
            // The sum makes 0 of a negative 0, as the database compares them.
            let key = (column.slot, (value.number + 0.0).to_bits(), value.text.clone());
            // One of two is not the item itself.
            let holders = record::with_value(reader, columns.library(), column.slot, &value, 2)?;
            if self.0.contains(&key) || holders.iter().any(|holder| Some(*holder) != item) {
                return Ok(Some(value_taken(column)));
            }
            new.push(key);
        }
        self.0.extend(new);
        Ok(None)
    }
}

/// Refuses an item that came into a library with a value that another item there has, or that two items in it have.
///
/// # Errors
/// `Conflict` with code `value_taken`.
pub(super) fn refuse_taken(transaction: &mut Transaction<'_>, columns: &ColumnSet, item: &NodeRow) -> Result<()> {
    if columns.unique().next().is_none() {
        return Ok(());
    }
    // Under this lock no other item gets a value.
    library::lock(transaction, item.library_id)?;
    if item.kind.is_container() {
        for column in columns.unique() {
            let end = SortValue::EMPTY.number;
            if record::repeated(transaction, item.library_id, item.id, column.slot, end)? {
                return Err(value_taken(column));
            }
        }
        return Ok(());
    }
    let fields = record::find(transaction, item.id)?.unwrap_or_default();
    let refusal = TakenValues::default().take(transaction, columns, Some(item.id), &Fields::default(), &fields)?;
    refusal.map_or(Ok(()), Err)
}

/// Refuses to make a column unique in which items of its library or list have the same value.
///
/// # Errors
/// `Conflict` with code `value_taken`.
pub(super) fn refuse_repeated(transaction: &mut Transaction<'_>, holder: Id, column: &ColumnRow) -> Result<()> {
    match record::repeated(transaction, holder, holder, column.slot, SortValue::EMPTY.number)? {
        false => Ok(()),
        true => Err(Error::conflict(format!(
            "some items have the same value in \"{}\": sort by it, and change them first",
            column.name
        ))
        .with_code(Code::ValueTaken)
        .naming(&[column.name.as_str()])),
    }
}

fn value_taken(column: &ColumnRow) -> Error {
    Error::conflict(format!("another item has this value in \"{}\": enter another one", column.name))
        .with_code(Code::ValueTaken)
        .naming(&[column.name.as_str()])
}

//! Columns without duplicates: no two items of a library or list may have the same value. Texts are compared by their
//! first 100 characters, in whatever case. Items that come back from a recycle bin or a backup keep their values.

use std::collections::HashSet;

use database::content::column::ColumnRow;
use database::content::fields::Fields;
use database::content::node::NodeRow;
use database::content::{library, record, tree};
use database::{Reader, Transaction};
use model::{Code, Error, Id, Result, SortValue};

use super::set::ColumnSet;

/// Number of values of an item that came into a library up to which each is looked up by itself.
const FEW: usize = 200;

/// Values of unique columns that are taken in a library or list.
#[derive(Default)]
pub(crate) struct TakenValues {
    /// Values that an earlier change of the same request sets.
    new: HashSet<(i64, u64, String)>,
    /// The library or list with its folders.
    places: Option<Vec<Id>>,
}

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
            let places = match &self.places {
                Some(places) => places,
                None => self.places.insert(tree::containers(reader, columns.library())?),
            };
            let holders = record::with_value(reader, places, column.slot, &value, 2)?;
            if self.new.contains(&key) || holders.iter().any(|holder| Some(*holder) != item) {
                return Ok(Some(value_taken(column)));
            }
            new.push(key);
        }
        self.new.extend(new);
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
    let fields = record::find(transaction, item.id)?.unwrap_or_default();
    let mut taken = TakenValues::default();
    if let Some(refusal) = taken.take(transaction, columns, Some(item.id), &Fields::default(), &fields)? {
        return Err(refusal);
    }
    if !item.kind.is_container() {
        return Ok(());
    }
    let inside = tree::containers(transaction, item.id)?;
    let mut places = None;
    for column in columns.unique() {
        let values = record::some_values(transaction, &inside, column.slot, SortValue::EMPTY.number, FEW + 1)?;
        if values.is_empty() {
            continue;
        }
        let places = match &places {
            Some(places) => places,
            None => places.insert(tree::containers(transaction, item.library_id)?),
        };
        if has_taken(transaction, column, places, &inside, &values)? {
            return Err(value_taken(column));
        }
    }
    Ok(())
}

/// Returns whether another item in one of the places has one of these values of items that are `inside`. More than
/// [`FEW`] values stand for all that are there.
fn has_taken(
    reader: &mut Reader<'_>,
    column: &ColumnRow,
    places: &[Id],
    inside: &[Id],
    values: &[(Id, SortValue)],
) -> Result<bool> {
    if values.len() > FEW {
        return record::repeated(reader, places, column.slot, SortValue::EMPTY.number, inside);
    }
    for (id, value) in values {
        let holders = record::with_value(reader, places, column.slot, value, 2)?;
        if holders.iter().any(|holder| holder != id) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Refuses to make a column unique in which items of its library or list have the same value.
///
/// # Errors
/// `Conflict` with code `value_taken`.
pub(super) fn refuse_repeated(transaction: &mut Transaction<'_>, holder: Id, column: &ColumnRow) -> Result<()> {
    let places = tree::containers(transaction, holder)?;
    match record::repeated(transaction, &places, column.slot, SortValue::EMPTY.number, &places)? {
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
    Error::conflict(format!("another item has this value in \"{}\": change one of the two", column.name))
        .with_code(Code::ValueTaken)
        .naming(&[column.name.as_str()])
}

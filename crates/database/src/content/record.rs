//! Records: the values of an item in all columns, in one row, with an index entry for each value by which a view can
//! sort.
//!
//! The entries stand at the item's parent, so that one range of the index is one folder or list in the order of a
//! column. Every field that is not empty has an entry, also one in a column of another library, which a document
//! brought along. A row has one for each empty field as well, so its entries depend on the columns of its list. So a
//! view of a list finds empty fields last, without another statement, and a document without values costs nothing.
//!
//! A field with several values has the first of them at the slot of its column, by which it is sorted, and the others
//! at the negative slot, where filters look as well. So no entry depends on whether a column takes several values.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use model::{ColumnValue, Id, NodeKind, Result, SortValue};

use super::column::{self, ColumnRow};
use super::fields::Fields;
use super::node::NodeRow;
use crate::statement::{Inserts, insert_rows};
use crate::{Reader, Transaction, params, statements};

/// The columns of a new index entry.
macro_rules! insert_entry {
    () => {
        "INSERT INTO field_index (parent_id, slot, number, text, node_id) VALUES "
    };
}

/// Number of records that are read at once.
const AT_ONCE: usize = 100;

/// Number of records, and of index entries, that one statement inserts.
const RECORDS: usize = 16;
const ENTRIES: usize = 32;

statements! {
    FIND = "SELECT fields FROM record WHERE node_id = $1";
    FIND_MANY = "SELECT node_id, fields FROM record WHERE node_id {in $1}";
    AFTER = "SELECT r.node_id, n.library_id FROM record r JOIN node n ON n.id = r.node_id
        WHERE r.node_id > $1 ORDER BY r.node_id LIMIT $2";
    // PostgreSQL asks the index for each place of an array. It would read the whole index to join it with many folders,
    // or all items below a parent to join it with those: hence the inner SELECT.
    SAME = "SELECT f.node_id FROM field_index f
        WHERE f.parent_id {in $1} AND f.slot = $2 AND f.number = $3 AND f.text = $4
        AND (SELECT n.parent_id FROM node n WHERE n.id = f.node_id) = f.parent_id LIMIT $5";
    SOME_VALUES = "SELECT f.node_id, f.number, f.text FROM field_index f
        WHERE f.parent_id {in $1} AND f.slot = $2 AND f.number < $3
        AND (SELECT n.parent_id FROM node n WHERE n.id = f.node_id) = f.parent_id LIMIT $4";
    REPEATED = "SELECT 1 FROM field_index f
        WHERE f.parent_id {in $1} AND f.slot = $2 AND f.number < $3
        AND (SELECT n.parent_id FROM node n WHERE n.id = f.node_id) = f.parent_id
        GROUP BY f.number, f.text
        HAVING COUNT(*) > 1 AND MAX(CASE WHEN f.parent_id {in $4} THEN 1 ELSE 0 END) = 1 LIMIT 1";
    // The sum keeps PostgreSQL from going through all items below the parent for each value.
    TOTALS = "SELECT n.scope_id, COUNT(*), SUM(CASE WHEN abs(f.number) < 1e-290 THEN 0.0 ELSE f.number * $4 END),
            MIN(f.number), MAX(f.number)
        FROM field_index f JOIN node n ON n.id = f.node_id
        WHERE f.parent_id = $1 AND f.slot = $2 AND f.number < $3 AND n.parent_id + 0 = $1 GROUP BY n.scope_id";
    SLOTS_OF = "SELECT id, slot FROM column_definition WHERE library_id = $1 AND id {in $2} ORDER BY id";
    SIZES = "SELECT node_id, CAST(octet_length(fields) AS BIGINT) FROM record WHERE node_id {in $1}";
    PUT = "INSERT INTO record (node_id, fields) VALUES ($1, $2)
        ON CONFLICT (node_id) DO UPDATE SET fields = excluded.fields";
    INSERT = insert_rows!("INSERT INTO record (node_id, fields) VALUES ", 2, 1);
    INSERT_MANY = insert_rows!("INSERT INTO record (node_id, fields) VALUES ", 2, RECORDS);
    DELETE = "DELETE FROM record WHERE node_id {in $1}";
    PLACES = "SELECT n.id, n.parent_id, n.library_id, n.kind, r.fields FROM record r JOIN node n ON n.id = r.node_id
        WHERE r.node_id {in $1}";
    SLOTS = "SELECT slot FROM column_definition WHERE library_id = $1 ORDER BY slot";
    ADD_ENTRY = "INSERT INTO field_index (parent_id, slot, number, text, node_id) VALUES ($1, $2, $3, $4, $5)
        ON CONFLICT DO NOTHING";
    INSERT_ENTRY = insert_rows!(insert_entry!(), 5, 1);
    INSERT_ENTRIES = insert_rows!(insert_entry!(), 5, ENTRIES);
    REMOVE_ENTRY = "DELETE FROM field_index
        WHERE parent_id = $1 AND slot = $2 AND number = $3 AND text = $4 AND node_id = $5";
    ADD_EMPTY = "INSERT INTO field_index (parent_id, slot, number, text, node_id)
        SELECT n.parent_id, $2, $3, '', n.id FROM node n WHERE n.parent_id = $1 AND n.kind = 'row'";
    REMOVE_SLOT = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id
            WHERE n.kind NOT IN ('document', 'row'))
        DELETE FROM field_index WHERE parent_id IN (SELECT id FROM below) AND slot = $2";
    REMOVE_BELOW = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id
            WHERE n.kind <> 'document')
        DELETE FROM field_index WHERE parent_id IN (SELECT id FROM below)";
    DELETE_BELOW = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM record WHERE node_id IN (SELECT id FROM below)";
}

/// What the index entries of an item depend on besides its record.
#[derive(Clone, Copy)]
struct Place {
    node: Id,
    parent: Id,
    library: Id,
    kind: NodeKind,
}

impl Place {
    fn of(item: &NodeRow) -> Self {
        Self { node: item.id, parent: item.parent_id, library: item.library_id, kind: item.kind }
    }

    /// Returns the entries of a field: slot and position.
    fn entries_of(&self, fields: &Fields, slot: i64) -> impl Iterator<Item = (i64, SortValue)> {
        let first = fields.sort_value(slot).or_else(|| (self.kind == NodeKind::Row).then_some(SortValue::EMPTY));
        let others = fields.further_sort_values(slot).into_iter().map(move |value| (further_slot(slot), value));
        first.into_iter().map(move |value| (slot, value)).chain(others)
    }

    /// Returns the entries of the item: slot and position.
    fn entries(&self, reader: &mut Reader<'_>, fields: &Fields) -> Result<Vec<(i64, SortValue)>> {
        let slots = if self.kind == NodeKind::Row { slots(reader, self.library)? } else { Vec::new() };
        Ok(self.entries_in(&slots, fields))
    }

    /// Returns the entries of the item, where the columns of its list have these slots.
    fn entries_in(&self, slots: &[i64], fields: &Fields) -> Vec<(i64, SortValue)> {
        let mut all = fields.slots();
        if self.kind == NodeKind::Row {
            all.extend(slots.iter().filter(|slot| fields.sort_value(**slot).is_none()));
        }
        all.into_iter().flat_map(|slot| self.entries_of(fields, slot)).collect()
    }

    fn add_entry(&self, transaction: &mut Transaction<'_>, slot: i64, value: &SortValue) -> Result<()> {
        let values = params![self.parent, slot, value.number, value.text.as_str(), self.node];
        transaction.execute_deferred(ADD_ENTRY, &values)
    }

    fn remove_entry(&self, transaction: &mut Transaction<'_>, slot: i64, value: &SortValue) -> Result<()> {
        let values = params![self.parent, slot, value.number, value.text.as_str(), self.node];
        transaction.execute_deferred(REMOVE_ENTRY, &values)
    }
}

/// The fields of an item; `None` if it never had values.
pub fn find(reader: &mut Reader<'_>, item: Id) -> Result<Option<Fields>> {
    reader.find(FIND, &params![item], |row| Fields::parse(row.get(0)?))
}

/// The fields of many items. Items without a record are missing.
pub fn find_many(reader: &mut Reader<'_>, items: &[Id]) -> Result<Vec<(Id, Fields)>> {
    reader.query(FIND_MANY, &params![items], |row| Ok((row.get(0)?, Fields::parse(row.get(1)?)?)))
}

/// The next items with a record after one, in the order of identifiers, with their libraries.
pub fn after(reader: &mut Reader<'_>, item: Id, most: usize) -> Result<Vec<(Id, Id)>> {
    reader.query(AFTER, &params![item, most as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Some of the items in these places, which are folders, libraries and lists, whose field has this position among those
/// of its column.
pub fn with_value(
    reader: &mut Reader<'_>,
    places: &[Id],
    slot: i64,
    value: &SortValue,
    most: usize,
) -> Result<Vec<Id>> {
    let values = params![places, slot, value.number, value.text.as_str(), most as i64];
    reader.query(SAME, &values, |row| row.get(0))
}

/// Some of the items in these places with their positions in a column, those before `end`.
pub fn some_values(
    reader: &mut Reader<'_>,
    places: &[Id],
    slot: i64,
    end: f64,
    most: usize,
) -> Result<Vec<(Id, SortValue)>> {
    let values = params![places, slot, end, most as i64];
    reader.query(SOME_VALUES, &values, |row| Ok((row.get(0)?, SortValue { number: row.get(1)?, text: row.get(2)? })))
}

/// Returns whether an item in one of the places `among` has the same position, before `end`, as another item in one of
/// the places. Reads all positions.
pub fn repeated(reader: &mut Reader<'_>, places: &[Id], slot: i64, end: f64, among: &[Id]) -> Result<bool> {
    Ok(reader.find(REPEATED, &params![places, slot, end, among], |_| Ok(()))?.is_some())
}

/// The totals of a column over the items in a list that one scope protects.
#[derive(Clone, Copy, Debug)]
pub struct ScopeTotals {
    /// The scope.
    pub scope: Id,
    /// Number of values.
    pub count: i64,
    /// Sum of the numbers; infinite if it is too large.
    pub sum: f64,
    /// The smallest number.
    pub min: Option<f64>,
    /// The largest number.
    pub max: Option<f64>,
}

/// A power of two by which numbers are multiplied before they are added: PostgreSQL refuses sums that are too large.
const SHRUNK: f64 = 1.0 / (1 << 21) as f64;

/// The totals of a column over the items in a list, by scope. Positions from `end` on are no values.
pub fn totals(reader: &mut Reader<'_>, list: Id, slot: i64, end: f64) -> Result<Vec<ScopeTotals>> {
    reader.query(TOTALS, &params![list, slot, end, SHRUNK], |row| {
        Ok(ScopeTotals {
            scope: row.get(0)?,
            count: row.get(1)?,
            sum: row.get::<Option<f64>>(2)?.unwrap_or(0.0) / SHRUNK,
            min: row.get(3)?,
            max: row.get(4)?,
        })
    })
}

/// Returns the slot of the entries of all values after the first in a field with several.
pub const fn further_slot(slot: i64) -> i64 {
    -slot
}

/// The slots of columns of a library or list.
pub fn slots_of(reader: &mut Reader<'_>, library: Id, columns: &[Id]) -> Result<Vec<(Id, i64)>> {
    reader.query(SLOTS_OF, &params![library, columns], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// The bytes of the stored fields of many items. Items without a record are missing.
pub fn sizes(reader: &mut Reader<'_>, items: &[Id]) -> Result<Vec<(Id, i64)>> {
    reader.query(SIZES, &params![items], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Passes the fields of many items to `f`, a few at a time, since one item can have much text.
pub fn for_each(reader: &mut Reader<'_>, items: &[Id], mut f: impl FnMut(Id, &Fields) -> Result<()>) -> Result<()> {
    for some in items.chunks(AT_ONCE) {
        for (item, fields) in find_many(reader, some)? {
            f(item, &fields)?;
        }
    }
    Ok(())
}

/// The values of an item, by column in the order of the columns; also those in columns of other libraries, which the
/// item brought along.
pub fn values(reader: &mut Reader<'_>, item: Id) -> Result<Vec<(Id, ColumnValue)>> {
    let Some(fields) = find(reader, item)? else { return Ok(Vec::new()) };
    let columns = column::of_slots(reader, &fields.slots())?;
    let mut values = Vec::new();
    for column in columns {
        values.extend(fields.get(column.slot, &column.kind)?.map(|value| (column.id, value)));
    }
    Ok(values)
}

/// The values of many items in the columns of one library: item, column and value.
pub fn values_of_many(reader: &mut Reader<'_>, items: &[Id], library: Id) -> Result<Vec<(Id, Id, ColumnValue)>> {
    let columns = column::list(reader, library)?;
    values_in(reader, items, &columns)
}

/// The values of many items in these columns: item, column and value.
pub fn values_in(reader: &mut Reader<'_>, items: &[Id], columns: &[ColumnRow]) -> Result<Vec<(Id, Id, ColumnValue)>> {
    Ok(values_within(reader, items, columns, usize::MAX)?.unwrap_or_default())
}

/// The values of many items in these columns, as [`values_in`] returns them; `None` if their records have more than
/// `most` bytes together.
pub fn values_within(
    reader: &mut Reader<'_>,
    items: &[Id],
    columns: &[ColumnRow],
    most: usize,
) -> Result<Option<Vec<(Id, Id, ColumnValue)>>> {
    let (mut bytes, mut values) = (0, Vec::new());
    reader.for_each(FIND_MANY, &params![items], |row| {
        let (item, stored): (Id, &str) = (row.get(0)?, row.get(1)?);
        bytes += stored.len();
        if bytes > most {
            return Ok(());
        }
        let fields = Fields::parse(stored)?;
        for column in columns {
            values.extend(fields.get(column.slot, &column.kind)?.map(|value| (item, column.id, value)));
        }
        Ok(())
    })?;
    Ok((bytes <= most).then_some(values))
}

/// The values of many items, as [`values_of_many`] returns them, with each of several values by itself.
pub fn each_value_of_many(reader: &mut Reader<'_>, items: &[Id], library: Id) -> Result<Vec<(Id, Id, ColumnValue)>> {
    let values = values_of_many(reader, items, library)?.into_iter();
    let each = |(item, column, value): (Id, Id, ColumnValue)| {
        value.into_each().into_iter().map(move |value| (item, column, value))
    };
    Ok(values.flat_map(each).collect())
}

/// Adds the records of items that have none, all in the same library or list, and returns the number of their index
/// entries.
pub fn insert_many(transaction: &mut Transaction<'_>, records: &[(&NodeRow, &Fields)]) -> Result<usize> {
    let Some((first, _)) = records.first() else { return Ok(0) };
    let slots = if first.kind == NodeKind::Row { slots(transaction, first.library_id)? } else { Vec::new() };
    let (mut rows, mut entries) = (Vec::with_capacity(records.len()), Vec::new());
    for (item, fields) in records {
        let place = Place::of(item);
        rows.push(params![item.id, fields.stored()].into());
        entries.extend(
            place
                .entries_in(&slots, fields)
                .into_iter()
                .map(|(slot, value)| params![place.parent, slot, value.number, value.text, place.node].into()),
        );
    }
    transaction.insert_all(&Inserts { one: INSERT_ENTRY, many: INSERT_ENTRIES, group: ENTRIES }, &entries)?;
    transaction.insert_all(&Inserts { one: INSERT, many: INSERT_MANY, group: RECORDS }, &rows)?;
    Ok(entries.len())
}

/// Sets or empties fields of an item, which has the fields `before`. Fields of removed columns go.
pub fn change(
    transaction: &mut Transaction<'_>,
    item: &NodeRow,
    before: &Fields,
    changes: &[(&ColumnRow, Option<&ColumnValue>)],
) -> Result<()> {
    let (place, mut after) = (Place::of(item), before.clone());
    if !before.is_empty() {
        let known = column::of_slots(transaction, &before.slots())?;
        after.retain(&known.iter().map(|column| column.slot).collect::<Vec<_>>());
    }
    for (column, value) in changes {
        after.set(column.slot, *value);
        let of = |fields: &Fields| place.entries_of(fields, column.slot).collect::<Vec<_>>();
        let (old, new) = (of(before), of(&after));
        for (slot, value) in old.iter().filter(|entry| !new.contains(entry)) {
            place.remove_entry(transaction, *slot, value)?;
        }
        for (slot, value) in new.iter().filter(|entry| !old.contains(entry)) {
            place.add_entry(transaction, *slot, value)?;
        }
    }
    transaction.execute_deferred(PUT, &params![item.id, after.stored()])
}

/// Moves the index entries of an item to another parent. Must run before the item itself moves.
pub(super) fn move_entries(transaction: &mut Transaction<'_>, item: Id, parent: Id) -> Result<()> {
    for (old, fields) in places(transaction, &[item])? {
        let new = Place { parent, ..old };
        for (slot, value) in old.entries(transaction, &fields)? {
            old.remove_entry(transaction, slot, &value)?;
            new.add_entry(transaction, slot, &value)?;
        }
    }
    Ok(())
}

/// Adds entries for a new column of a list, which is empty in all rows.
pub fn add_empty(transaction: &mut Transaction<'_>, list: Id, slot: i64) -> Result<()> {
    transaction.execute(ADD_EMPTY, &params![list, slot, SortValue::EMPTY.number]).map(drop)
}

/// Removes the entries of a column that is removed from its library or list. Its values stay in the records, unseen,
/// until they change next.
pub fn remove_slot(transaction: &mut Transaction<'_>, library: Id, slot: i64) -> Result<()> {
    transaction.execute(REMOVE_SLOT, &params![library, slot])?;
    transaction.execute(REMOVE_SLOT, &params![library, further_slot(slot)]).map(drop)
}

/// Deletes the records of these items, with their index entries.
pub fn delete(transaction: &mut Transaction<'_>, items: &[Id]) -> Result<()> {
    let mut slots_of = HashMap::new();
    for some in items.chunks(AT_ONCE) {
        delete_some(transaction, some, &mut slots_of)?;
    }
    Ok(())
}

fn delete_some(transaction: &mut Transaction<'_>, items: &[Id], slots_of: &mut HashMap<Id, Vec<i64>>) -> Result<()> {
    for (place, fields) in places(transaction, items)? {
        let slots = match slots_of.entry(place.library) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(slots(transaction, place.library)?),
        };
        for (slot, value) in place.entries_in(slots, &fields) {
            place.remove_entry(transaction, slot, &value)?;
        }
    }
    transaction.execute(DELETE, &params![items]).map(drop)
}

/// Deletes the records of an item and of everything below it.
pub(super) fn delete_below(transaction: &mut Transaction<'_>, top: Id) -> Result<()> {
    delete(transaction, &[top])?;
    transaction.execute(REMOVE_BELOW, &params![top])?;
    transaction.execute(DELETE_BELOW, &params![top]).map(drop)
}

fn places(reader: &mut Reader<'_>, items: &[Id]) -> Result<Vec<(Place, Fields)>> {
    reader.query(PLACES, &params![items], |row| {
        let place = Place { node: row.get(0)?, parent: row.get(1)?, library: row.get(2)?, kind: row.get(3)? };
        Ok((place, Fields::parse(row.get(4)?)?))
    })
}

fn slots(reader: &mut Reader<'_>, library: Id) -> Result<Vec<i64>> {
    reader.query(SLOTS, &params![library], |row| row.get(0))
}

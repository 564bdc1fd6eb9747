//! Dead properties: properties that clients store with an item and that the server does not interpret.

use model::{Id, Result};

use crate::{Reader, Transaction, params, statements};

statements! {
    OF_ITEMS = "SELECT node_id, namespace, name, value FROM dead_property WHERE node_id {in $1}
        ORDER BY node_id, namespace, name";
    SIZES = "SELECT node_id, CAST(SUM(OCTET_LENGTH(value)) AS BIGINT) FROM dead_property WHERE node_id {in $1} GROUP
        BY node_id";
    TOTALS = "SELECT COUNT(*), CAST(COALESCE(SUM(LENGTH(value)), 0) AS BIGINT) FROM dead_property WHERE node_id = $1";
    PUT = "INSERT INTO dead_property (node_id, namespace, name, value) VALUES ($1, $2, $3, $4)
        ON CONFLICT (node_id, namespace, name) DO UPDATE SET value = excluded.value";
    REMOVE = "DELETE FROM dead_property WHERE node_id = $1 AND namespace = $2 AND name = $3";
    CLEAR = "DELETE FROM dead_property WHERE node_id = $1";
    COPY = "INSERT INTO dead_property (node_id, namespace, name, value)
        SELECT CAST($2 AS BIGINT), namespace, name, value FROM dead_property WHERE node_id = $1";
}

/// A stored property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PropertyRow {
    /// The item.
    pub node_id: Id,
    /// Namespace of the name; may be empty.
    pub namespace: String,
    /// Local name.
    pub name: String,
    /// The whole element, as self-contained XML.
    pub value: String,
}

/// All properties of these items.
pub fn of_items(reader: &mut Reader<'_>, items: &[Id]) -> Result<Vec<PropertyRow>> {
    reader.query(OF_ITEMS, &params![items], |row| {
        Ok(PropertyRow { node_id: row.get(0)?, namespace: row.get(1)?, name: row.get(2)?, value: row.get(3)? })
    })
}

/// Total bytes of the property values, for those of the items that have any.
pub fn sizes(reader: &mut Reader<'_>, items: &[Id]) -> Result<Vec<(Id, i64)>> {
    reader.query(SIZES, &params![items], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Number of an item's properties, and total characters of their values.
pub fn totals(reader: &mut Reader<'_>, item: Id) -> Result<(i64, i64)> {
    Ok(reader.find(TOTALS, &params![item], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// Sets a property.
pub fn put(transaction: &mut Transaction<'_>, property: &PropertyRow) -> Result<()> {
    let values = params![property.node_id, &property.namespace, &property.name, &property.value];
    transaction.execute(PUT, &values).map(drop)
}

/// Removes a property. A property that does not exist is no error.
pub fn remove(transaction: &mut Transaction<'_>, item: Id, namespace: &str, name: &str) -> Result<()> {
    transaction.execute(REMOVE, &params![item, namespace, name]).map(drop)
}

/// Copies the properties of `from` to `to`, which must not have any yet.
pub fn copy(transaction: &mut Transaction<'_>, from: Id, to: Id) -> Result<()> {
    transaction.execute(COPY, &params![from, to]).map(drop)
}

/// Replaces the properties of `to` with those of `from`.
pub fn replace(transaction: &mut Transaction<'_>, from: Id, to: Id) -> Result<()> {
    transaction.execute(CLEAR, &params![to])?;
    copy(transaction, from, to)
}

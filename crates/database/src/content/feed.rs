//! Changes for the search index: events in their order, documents and rows of lists in the order of their identifiers,
//! and the places that decide who may find them. Both are leaves of the tree.

use std::collections::{HashMap, HashSet};

use model::{Id, NodeKind, Result, Timestamp};

use super::node::{NodeRow, node_columns, read};
use crate::{Reader, Row, params, statements};

statements! {
    AFTER = "SELECT sequence, at, node_id, action FROM event WHERE sequence > $1 ORDER BY sequence LIMIT $2";
    AT = "SELECT sequence, at, node_id, action FROM event WHERE sequence {in $1} ORDER BY sequence";
    LEAVES = concat!("SELECT ", node_columns!("node"), " FROM node WHERE id > $1 AND kind IN ('document', 'row')
        ORDER BY id LIMIT $2");
    COUNT_LEAVES = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM node
        WHERE id > $1 AND kind IN ('document', 'row')";
    LEAVES_BELOW = concat!("WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT ", node_columns!("n"), " FROM below b JOIN node n ON n.id = b.id
        WHERE n.kind IN ('document', 'row') AND n.id > $2 ORDER BY n.id LIMIT $3");
    VALUED_BELOW = concat!("WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT ", node_columns!("n"), " FROM below b JOIN node n ON n.id = b.id
        WHERE n.kind IN ('document', 'row') AND n.id > $2 AND EXISTS (SELECT 1 FROM record r WHERE r.node_id = n.id)
        ORDER BY n.id LIMIT $3");
    REACHABLE = concat!("SELECT ", node_columns!("n"), " FROM node n JOIN node p ON p.id = n.parent_id
        WHERE n.kind IN ('document', 'row') AND n.id {in $1}");
    ROWS = "SELECT id, parent_id FROM node WHERE kind = 'row' AND id {in $1}";
    OWN_SCOPES = "SELECT node_id FROM scope WHERE node_id {in $1}";
    TREES = "SELECT id, tree_version FROM collection ORDER BY id";
    CONTAINERS = "SELECT id, parent_id, scope_id, kind FROM node
        WHERE collection_id = $1 AND kind NOT IN ('document', 'row')";
    PLACE = "SELECT id, parent_id, scope_id, kind FROM node WHERE id = $1";
    LEAVES_WITH_SCOPE = "SELECT n.id, n.parent_id, n.scope_id, n.kind FROM scope s JOIN node n ON n.id = s.node_id
        WHERE s.collection_id = $1 AND n.kind IN ('document', 'row')";
    ROWS_ABOVE = "SELECT DISTINCT p.id, p.parent_id, p.scope_id, p.kind FROM scope s JOIN node n ON n.id = s.node_id
        JOIN node p ON p.id = n.parent_id WHERE s.collection_id = $1 AND n.kind = 'document' AND p.kind = 'row'";
}

/// An event, as far as the search index needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Position among the events of this content database.
    pub sequence: i64,
    /// Time at which it happened.
    pub at: Timestamp,
    /// The item.
    pub node_id: Id,
    /// The action.
    pub action: String,
}

fn change(row: &Row<'_>) -> Result<Change> {
    Ok(Change { sequence: row.get(0)?, at: row.get(1)?, node_id: row.get(2)?, action: row.get(3)? })
}

/// Events after a sequence, oldest first; at most `limit`.
pub fn after(reader: &mut Reader<'_>, sequence: i64, limit: usize) -> Result<Vec<Change>> {
    reader.query(AFTER, &params![sequence, limit as i64], change)
}

/// The events with these sequences, as far as they exist.
pub fn at(reader: &mut Reader<'_>, sequences: &[i64]) -> Result<Vec<Change>> {
    let sequences: Vec<Id> = sequences.iter().copied().map(Id::new).collect();
    reader.query(AT, &params![sequences.as_slice()], change)
}

/// Leaves with identifiers after `after`, in this order, those in recycle bins included; at most `limit`.
pub fn leaves(reader: &mut Reader<'_>, after: Id, limit: usize) -> Result<Vec<NodeRow>> {
    reader.query(LEAVES, &params![after, limit as i64], read)
}

/// Number and bytes of the leaves with identifiers after `after`. Rows have no bytes.
pub fn count_leaves(reader: &mut Reader<'_>, after: Id) -> Result<(u64, u64)> {
    let counts = |row: &Row<'_>| Ok((model::unsigned(row.get(0)?), model::unsigned(row.get(1)?)));
    Ok(reader.find(COUNT_LEAVES, &params![after], counts)?.unwrap_or_default())
}

/// Leaves below an item, or the item itself if it is one, with identifiers after `after`, in this order; at most
/// `limit`.
pub fn leaves_below(reader: &mut Reader<'_>, item: Id, after: Id, limit: usize) -> Result<Vec<NodeRow>> {
    reader.query(LEAVES_BELOW, &params![item, after, limit as i64], read)
}

/// Like [`leaves_below`], for leaves with values in columns.
pub fn valued_leaves_below(reader: &mut Reader<'_>, item: Id, after: Id, limit: usize) -> Result<Vec<NodeRow>> {
    reader.query(VALUED_BELOW, &params![item, after, limit as i64], read)
}

/// Leaves with these identifiers whose parent is in no recycle bin itself.
pub fn reachable(reader: &mut Reader<'_>, ids: &[Id]) -> Result<Vec<NodeRow>> {
    reader.query(REACHABLE, &params![ids], read)
}

/// The places of these leaves, by leaf: the leaf itself or its parent. A row without permissions of its own is no
/// place: its list is the place of its attachments, since there may be very many rows.
pub fn places_of(reader: &mut Reader<'_>, leaves: &[NodeRow]) -> Result<HashMap<Id, Id>> {
    let mut parents: Vec<Id> = leaves.iter().map(|leaf| leaf.parent_id).collect();
    parents.sort_unstable();
    parents.dedup();
    let lists: HashMap<Id, Id> =
        reader.query(ROWS, &params![parents.as_slice()], |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect();
    let asked: Vec<Id> = leaves.iter().map(|leaf| leaf.id).chain(lists.keys().copied()).collect();
    let own = own_scopes(reader, &asked)?;
    let place = |leaf: &NodeRow| match lists.get(&leaf.parent_id) {
        _ if own.contains(&leaf.id) => leaf.id,
        Some(list) if !own.contains(&leaf.parent_id) => *list,
        _ => leaf.parent_id,
    };
    Ok(leaves.iter().map(|leaf| (leaf.id, place(leaf))).collect())
}

/// Those of these items that have permissions of their own.
pub fn own_scopes(reader: &mut Reader<'_>, ids: &[Id]) -> Result<HashSet<Id>> {
    Ok(reader.query(OWN_SCOPES, &params![ids], |row| row.get(0))?.into_iter().collect())
}

/// The site collections of the content database, each with the version of its tree.
pub fn trees(reader: &mut Reader<'_>) -> Result<Vec<(Id, i64)>> {
    reader.query(TREES, &params![], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// An item whose scope decides about leaves: a container, or a leaf with permissions of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceRow {
    /// The item.
    pub id: Id,
    /// Its parent; the entry of the recycle bin for a deleted item.
    pub parent_id: Id,
    /// The scope in force.
    pub scope_id: Id,
    /// Its kind.
    pub kind: NodeKind,
}

fn place_row(row: &Row<'_>) -> Result<PlaceRow> {
    Ok(PlaceRow { id: row.get(0)?, parent_id: row.get(1)?, scope_id: row.get(2)?, kind: row.get(3)? })
}

/// An item as a place.
pub fn place(reader: &mut Reader<'_>, id: Id) -> Result<Option<PlaceRow>> {
    reader.find(PLACE, &params![id], place_row)
}

/// All places of a site collection.
pub fn places(reader: &mut Reader<'_>, collection: Id) -> Result<Vec<PlaceRow>> {
    let mut places = reader.query(CONTAINERS, &params![collection], place_row)?;
    places.append(&mut reader.query(LEAVES_WITH_SCOPE, &params![collection], place_row)?);
    // Attachments with permissions of their own lie in rows that may have none.
    places.append(&mut reader.query(ROWS_ABOVE, &params![collection], place_row)?);
    Ok(places)
}

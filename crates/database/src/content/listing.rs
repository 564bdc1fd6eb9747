//! Pages of the sites, libraries and folders below an item. Keyset paging only: a page begins after the last row of the
//! page before it.

use model::{Id, Result};

use super::node::{NodeRow, node_columns, read};
use crate::{Reader, Transaction, params, statements};

statements! {
    CONTAINERS = concat!("SELECT ", node_columns!("node"),
        " FROM node WHERE parent_id = $1 AND kind NOT IN ('document', 'row') AND folded > $2
        ORDER BY folded LIMIT $3");
    CONTAINERS_DOWN = concat!("SELECT ", node_columns!("node"),
        " FROM node WHERE parent_id = $1 AND kind NOT IN ('document', 'row') AND ($2 = '' OR folded < $2)
        ORDER BY folded DESC LIMIT $3");
    ANY_CHILD = "SELECT id FROM node WHERE parent_id = $1 LIMIT 1";
}

/// Folders, libraries and sites directly below `parent` whose folded name sorts after `after` (before it if `down`).
pub fn containers(reader: &mut Reader<'_>, parent: Id, after: &str, down: bool, limit: usize) -> Result<Vec<NodeRow>> {
    let statement = if down { CONTAINERS_DOWN } else { CONTAINERS };
    reader.query(statement, &params![parent, after, limit as i64], read)
}

/// Returns whether an item has no children.
pub fn is_empty(transaction: &mut Transaction<'_>, parent: Id) -> Result<bool> {
    Ok(transaction.find(ANY_CHILD, &params![parent], |_| Ok(()))?.is_none())
}

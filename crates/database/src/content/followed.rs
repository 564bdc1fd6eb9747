//! Followed documents, whose changes a user wants to see, and pinned places, which a user wants at hand.

use model::{Id, Result, Timestamp};

use super::node::{NodeRow, node_columns, read};
use crate::{Reader, Transaction, params, statements};

statements! {
    PUT = "INSERT INTO followed (principal_id, node_id, since) VALUES ($1, $2, $3)
        ON CONFLICT (principal_id, node_id) DO NOTHING";
    REMOVE = "DELETE FROM followed WHERE principal_id = $1 AND node_id = $2";
    HAS = "SELECT 1 FROM followed WHERE principal_id = $1 AND node_id = $2";
    COUNT = "SELECT COUNT(*) FROM followed WHERE principal_id = $1";
    IDS = "SELECT node_id FROM followed WHERE principal_id = $1";
    PLACES = "SELECT n.id FROM followed f JOIN node n ON n.id = f.node_id
        WHERE f.principal_id = $1 AND n.kind <> 'document' ORDER BY n.folded, n.id";
    LIST = concat!("SELECT ", node_columns!("n"), " FROM followed f JOIN node n ON n.id = f.node_id
        WHERE f.principal_id = $1 AND n.kind = 'document' ORDER BY n.modified_at DESC, n.id DESC LIMIT $2");
}

/// Records that a user follows an item.
pub fn put(transaction: &mut Transaction<'_>, principal: Id, node: Id, at: Timestamp) -> Result<()> {
    transaction.execute(PUT, &params![principal, node, at]).map(drop)
}

/// Records that a user no longer follows an item.
pub fn remove(transaction: &mut Transaction<'_>, principal: Id, node: Id) -> Result<()> {
    transaction.execute(REMOVE, &params![principal, node]).map(drop)
}

/// Returns whether a user follows an item.
pub fn has(reader: &mut Reader<'_>, principal: Id, node: Id) -> Result<bool> {
    Ok(reader.find(HAS, &params![principal, node], |_| Ok(()))?.is_some())
}

/// Number of items that a user follows.
pub fn count(reader: &mut Reader<'_>, principal: Id) -> Result<i64> {
    Ok(reader.find(COUNT, &params![principal], |row| row.get(0))?.unwrap_or(0))
}

/// Identifiers of all items that a user follows.
pub fn ids(reader: &mut Reader<'_>, principal: Id) -> Result<Vec<Id>> {
    reader.query(IDS, &params![principal], |row| row.get(0))
}

/// Sites, libraries, lists and folders that a user pinned, by name, including those in recycle bins.
pub fn places(reader: &mut Reader<'_>, principal: Id) -> Result<Vec<Id>> {
    reader.query(PLACES, &params![principal], |row| row.get(0))
}

/// Documents that a user follows, most recently changed first, including those in recycle bins.
pub fn list(reader: &mut Reader<'_>, principal: Id, limit: usize) -> Result<Vec<NodeRow>> {
    reader.query(LIST, &params![principal, limit as i64], read)
}

//! Documents that a client program moved aside in order to put a new state in their place.

use model::{Id, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT node_id, name FROM displaced WHERE parent_id = $1 AND folded = $2 AND by_id = $3 AND at > $4
        ORDER BY at DESC, node_id LIMIT 1";
    PUT = "INSERT INTO displaced (node_id, parent_id, name, folded, by_id, at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (node_id) DO UPDATE SET parent_id = excluded.parent_id, name = excluded.name, folded =
        excluded.folded,
        by_id = excluded.by_id, at = excluded.at";
    REMOVE = "DELETE FROM displaced WHERE node_id = $1";
    PURGE = "DELETE FROM displaced WHERE at <= $1";
}

/// Finds the document that `by` moved aside from this name in this folder after `since`. Returns its identifier and its
/// original name.
pub fn find(
    reader: &mut Reader<'_>,
    parent: Id,
    folded: &str,
    by: Id,
    since: Timestamp,
) -> Result<Option<(Id, String)>> {
    reader.find(FIND, &params![parent, folded, by, since], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Records that a document was moved aside.
pub fn put(transaction: &mut Transaction<'_>, item: Id, place: (Id, &str, &str), by: Id, now: Timestamp) -> Result<()> {
    let (parent, name, folded) = place;
    transaction.execute(PUT, &params![item, parent, name, folded, by, now]).map(drop)
}

/// Deletes the record that a document was moved aside.
pub fn remove(transaction: &mut Transaction<'_>, item: Id) -> Result<()> {
    transaction.execute(REMOVE, &params![item]).map(drop)
}

/// Deletes the records of documents moved aside at `limit` or before.
pub fn purge(transaction: &mut Transaction<'_>, limit: Timestamp) -> Result<()> {
    transaction.execute(PURGE, &params![limit]).map(drop)
}

//! Documents that a program put aside in order to put a new state in their place.

use model::{Id, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT node_id, name FROM displaced WHERE parent_id = $1 AND folded = $2 AND by_id = $3 AND at > $4
        ORDER BY at DESC, node_id LIMIT 1";
    PUT = "INSERT INTO displaced (node_id, parent_id, name, folded, by_id, at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (node_id) DO UPDATE SET parent_id = excluded.parent_id, name = excluded.name, folded = excluded.folded,
        by_id = excluded.by_id, at = excluded.at";
    REMOVE = "DELETE FROM displaced WHERE node_id = $1";
    PURGE = "DELETE FROM displaced WHERE at <= $1";
}

/// The document that `by` put aside from a place later than `since`, and the name that it had there.
pub fn find(
    reader: &mut Reader<'_>,
    parent: Id,
    folded: &str,
    by: Id,
    since: Timestamp,
) -> Result<Option<(Id, String)>> {
    reader.find(FIND, &params![parent, folded, by, since], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Notes that a document was put aside from a place.
pub fn put(transaction: &mut Transaction<'_>, item: Id, place: (Id, &str, &str), by: Id, now: Timestamp) -> Result<()> {
    let (parent, name, folded) = place;
    transaction.execute(PUT, &params![item, parent, name, folded, by, now]).map(drop)
}

/// Forgets that a document was put aside.
pub fn remove(transaction: &mut Transaction<'_>, item: Id) -> Result<()> {
    transaction.execute(REMOVE, &params![item]).map(drop)
}

/// Forgets what was put aside before a time.
pub fn purge(transaction: &mut Transaction<'_>, limit: Timestamp) -> Result<()> {
    transaction.execute(PURGE, &params![limit]).map(drop)
}

//! Locks on items. An expired lock counts as gone everywhere, but the most recent expired ones are kept for a while.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

/// The columns that [`read`] expects, in its order.
macro_rules! columns {
    () => {
        "token, collection_id, node_id, owner_id, owner, exclusive, deep, created_at, expires_at"
    };
}

statements! {
    FIND = concat!("SELECT ", columns!(), " FROM item_lock WHERE token = $1 AND expires_at > $2");
    COVERING = concat!("SELECT ", columns!(), " FROM item_lock
        WHERE node_id {in $2} AND (node_id = $1 OR deep) AND expires_at > $3 ORDER BY created_at, token");
    ON_ITEMS = concat!("SELECT ", columns!(), " FROM item_lock
        WHERE node_id {in $1} AND expires_at > $2 ORDER BY created_at, token");
    BELOW = concat!("WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        SELECT ", columns!(), "
        FROM below b JOIN item_lock l ON l.node_id = b.id WHERE l.expires_at > $2 ORDER BY l.created_at, l.token");
    COUNT = "SELECT COUNT(*) FROM item_lock WHERE collection_id = $1";
    COUNT_OF = "SELECT COUNT(*) FROM (SELECT token FROM item_lock WHERE collection_id = $1 AND owner_id = $2
        AND expires_at > $3 LIMIT $4) counted";
    INSERT = concat!("INSERT INTO item_lock (", columns!(), ")
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)");
    EXTEND = "UPDATE item_lock SET expires_at = $2 WHERE token = $1";
    DELETE = "DELETE FROM item_lock WHERE token = $1";
    DELETE_BELOW = "WITH RECURSIVE below (id) AS (
            SELECT id FROM node WHERE id = $1
            UNION ALL SELECT n.id FROM node n JOIN below b ON n.parent_id = b.id)
        DELETE FROM item_lock WHERE node_id IN (SELECT id FROM below)";
    DELETE_ENDED_OF = "DELETE FROM item_lock WHERE node_id = $1 AND expires_at <= $2 AND token NOT IN
        (SELECT token FROM item_lock WHERE node_id = $1 AND expires_at <= $2 ORDER BY expires_at DESC, token LIMIT $3)";
    DELETE_ENDED_IN = "DELETE FROM item_lock WHERE token IN
        (SELECT token FROM item_lock WHERE collection_id = $1 AND expires_at <= $2
        ORDER BY expires_at, token LIMIT $3)";
    PURGE = "DELETE FROM item_lock WHERE expires_at <= $1";
}

/// A stored lock.
#[derive(Clone, Debug)]
pub struct LockRow {
    /// Lock token, an unguessable URN.
    pub token: String,
    /// The site collection of the item.
    pub collection_id: Id,
    /// The locked item.
    pub node_id: Id,
    /// The user who locked the item.
    pub owner_id: Id,
    /// The owner as described by the client.
    pub owner: String,
    /// Set for an exclusive lock, which excludes any other lock on the item.
    pub exclusive: bool,
    /// Set if the lock also covers everything below the item.
    pub deep: bool,
    /// Time of creation.
    pub created_at: Timestamp,
    /// Expiry time.
    pub expires_at: Timestamp,
}

fn read(row: &Row<'_>) -> Result<LockRow> {
    Ok(LockRow {
        token: row.get(0)?,
        collection_id: row.get(1)?,
        node_id: row.get(2)?,
        owner_id: row.get(3)?,
        owner: row.get(4)?,
        exclusive: row.get(5)?,
        deep: row.get(6)?,
        created_at: row.get(7)?,
        expires_at: row.get(8)?,
    })
}

/// The lock with this token, unless it has expired.
pub fn find(reader: &mut Reader<'_>, token: &str, now: Timestamp) -> Result<Option<LockRow>> {
    reader.find(FIND, &params![token, now], read)
}

/// Locks on an item, and deep locks on the items above it. `way` lists the ancestors and must include the item itself.
pub fn covering(reader: &mut Reader<'_>, item: Id, way: &[Id], now: Timestamp) -> Result<Vec<LockRow>> {
    reader.query(COVERING, &params![item, way, now], read)
}

/// Locks directly on any of these items.
pub fn on_items(reader: &mut Reader<'_>, items: &[Id], now: Timestamp) -> Result<Vec<LockRow>> {
    reader.query(ON_ITEMS, &params![items, now], read)
}

/// Locks on an item and on everything below it.
pub fn below(reader: &mut Reader<'_>, item: Id, now: Timestamp) -> Result<Vec<LockRow>> {
    reader.query(BELOW, &params![item, now], read)
}

/// Number of locks in a site collection, including expired ones.
pub fn count(reader: &mut Reader<'_>, collection: Id) -> Result<i64> {
    Ok(reader.find(COUNT, &params![collection], |row| row.get(0))?.unwrap_or(0))
}

/// Number of unexpired locks of one user in a site collection, capped at `most`.
pub fn count_of(reader: &mut Reader<'_>, collection: Id, owner: Id, now: Timestamp, most: i64) -> Result<i64> {
    Ok(reader.find(COUNT_OF, &params![collection, owner, now, most], |row| row.get(0))?.unwrap_or(0))
}

/// Adds a lock.
pub fn insert(transaction: &mut Transaction<'_>, lock: &LockRow) -> Result<()> {
    let values = params![
        &lock.token,
        lock.collection_id,
        lock.node_id,
        lock.owner_id,
        &lock.owner,
        lock.exclusive,
        lock.deep,
        lock.created_at,
        lock.expires_at
    ];
    transaction.execute(INSERT, &values).map(drop)
}

/// Changes the expiry time of a lock.
pub fn extend(transaction: &mut Transaction<'_>, token: &str, until: Timestamp) -> Result<()> {
    transaction.execute(EXTEND, &params![token, until]).map(drop)
}

/// Removes a lock.
pub fn delete(transaction: &mut Transaction<'_>, token: &str) -> Result<()> {
    transaction.execute(DELETE, &params![token]).map(drop)
}

/// Removes all locks on an item and on everything below it.
pub fn delete_below(transaction: &mut Transaction<'_>, item: Id) -> Result<()> {
    transaction.execute(DELETE_BELOW, &params![item]).map(drop)
}

/// Removes the locks on an item that expired at `now` or before, except the `kept` most recent ones.
pub fn delete_ended_of(transaction: &mut Transaction<'_>, item: Id, now: Timestamp, kept: usize) -> Result<()> {
    transaction.execute(DELETE_ENDED_OF, &params![item, now, kept as i64]).map(drop)
}

/// Removes up to `most` locks in a site collection that expired at `now` or before, oldest first. Returns their number.
pub fn delete_ended_in(transaction: &mut Transaction<'_>, collection: Id, now: Timestamp, most: usize) -> Result<u64> {
    transaction.execute(DELETE_ENDED_IN, &params![collection, now, most as i64])
}

/// Removes locks that expired at `limit` or before.
pub fn purge(transaction: &mut Transaction<'_>, limit: Timestamp) -> Result<()> {
    transaction.execute(PURGE, &params![limit]).map(drop)
}

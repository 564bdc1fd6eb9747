//! Site collections: the version of their tree and permissions, their quota and their usage.

use model::{Id, Result, Timestamp};

use crate::statement::count_columns;
use crate::{Reader, Transaction, params, statements};

/// The columns that [`read`] expects, in its order. `$of` is the table or its alias.
macro_rules! collection_columns {
    ($of:literal) => {
        concat!(
            $crate::statement::column_list!($of: id, path, tree_version, quota_bytes, audit_reads),
            ", EXISTS (SELECT 1 FROM item_lock held WHERE held.collection_id = ",
            $of,
            ".id)"
        )
    };
}

pub(super) use collection_columns;

/// Number of columns of a site collection in a row.
pub(super) const WIDTH: usize = count_columns(collection_columns!("collection"));

statements! {
    FIND = concat!("SELECT ", collection_columns!("collection"), " FROM collection WHERE id = $1");
    LOCK = concat!("SELECT ", collection_columns!("collection"), " FROM collection WHERE id = $1 {for_update}");
    INSERT = "INSERT INTO collection (id, path, tree_version, quota_bytes, audit_reads, created_at)
        VALUES ($1, $2, 1, NULL, $3, $4)";
    CHANGE_TREE = "UPDATE collection SET tree_version = tree_version + 1 WHERE id = $1";
    SET_QUOTA = "UPDATE collection SET quota_bytes = $2 WHERE id = $1";
    SET_AUDIT_READS = "UPDATE collection SET audit_reads = $2 WHERE id = $1";
    USAGE = "SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT), CAST(COALESCE(SUM(documents), 0) AS BIGINT)
        FROM collection_usage WHERE collection_id = $1";
    ADD_USAGE = "INSERT INTO collection_usage (collection_id, slot, bytes, documents) VALUES ($1, $2, $3, $4)
        ON CONFLICT (collection_id, slot) DO UPDATE SET bytes = collection_usage.bytes + excluded.bytes,
        documents = collection_usage.documents + excluded.documents";
    CREATED_BEFORE = "SELECT id FROM collection WHERE created_at < $1 ORDER BY id";
    DELETE = "DELETE FROM collection WHERE id = $1";
}

/// Number of rows over which the counters of a site collection are spread, so that concurrent uploads to one site do
/// not wait for each other.
const USAGE_SLOTS: i64 = 16;

/// A site collection as stored in its content database.
#[derive(Clone, Debug)]
pub struct CollectionRow {
    /// Identifier; the root site has the same one.
    pub id: Id,
    /// Address in the farm.
    pub path: String,
    /// Counter that rises with every change of scopes and grants, and with every move or deletion of a site, library or
    /// folder.
    pub tree_version: i64,
    /// Limit on the bytes of all versions together; `None` for no limit.
    pub quota_bytes: Option<i64>,
    /// Set when opening a document is recorded in the audit log.
    pub audit_reads: bool,
    /// Set if the collection may contain locks. If not, no look-up of locks is needed.
    pub has_locks: bool,
}

/// Reads a site collection from the first columns of a row.
pub(crate) fn read(row: &crate::Row<'_>) -> Result<CollectionRow> {
    Ok(CollectionRow {
        id: row.get(0)?,
        path: row.get(1)?,
        tree_version: row.get(2)?,
        quota_bytes: row.get(3)?,
        audit_reads: row.get(4)?,
        has_locks: row.get(5)?,
    })
}

/// The site collection with this identifier.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<CollectionRow>> {
    reader.find(FIND, &params![id], read)
}

/// Reads the site collection and locks its row until the transaction ends.
pub fn lock(transaction: &mut Transaction<'_>, id: Id) -> Result<Option<CollectionRow>> {
    transaction.find(LOCK, &params![id], read)
}

/// Adds a site collection without quota.
pub fn insert(transaction: &mut Transaction<'_>, id: Id, path: &str, now: Timestamp) -> Result<()> {
    transaction.execute(INSERT, &params![id, path, false, now]).map(drop)
}

/// Raises the tree version. Rights and locations that were read under an older version must be read again.
pub fn change_tree(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(CHANGE_TREE, &params![id]).map(drop)
}

/// Sets or removes the quota, in bytes.
pub fn set_quota(transaction: &mut Transaction<'_>, id: Id, bytes: Option<i64>) -> Result<()> {
    transaction.execute(SET_QUOTA, &params![id, bytes]).map(drop)
}

/// Sets whether opening a document is recorded as an event.
pub fn set_audit_reads(transaction: &mut Transaction<'_>, id: Id, on: bool) -> Result<()> {
    transaction.execute(SET_AUDIT_READS, &params![id, on]).map(drop)
}

/// Bytes of all versions and number of documents, including those in the recycle bin.
pub fn usage(reader: &mut Reader<'_>, id: Id) -> Result<(i64, i64)> {
    Ok(reader.find(USAGE, &params![id], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// Adds to the usage counters; negative values subtract. `salt` selects one of the counter rows.
pub fn add_usage(transaction: &mut Transaction<'_>, id: Id, salt: Id, bytes: i64, documents: i64) -> Result<()> {
    let slot = salt.get().rem_euclid(USAGE_SLOTS);
    transaction.execute_deferred(ADD_USAGE, &params![id, slot, bytes, documents])
}

/// Site collections created before a time.
pub fn created_before(reader: &mut Reader<'_>, time: Timestamp) -> Result<Vec<Id>> {
    reader.query(CREATED_BEFORE, &params![time], |row| row.get(0))
}

/// Removes a site collection's row and counters.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

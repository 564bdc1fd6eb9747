//! Copies of BLOBs in stores that nothing refers to any more, on their way to deletion.
//!
//! A row is quarantined first and deleting afterwards. While it is deleting, no reference to that copy may be added: the
//! bytes may be gone at any moment. A transaction that adds one is in the place [`REFERENCES`] when it looks for such a row, and
//! stays there to its end; so whoever has marked a copy and then waited until that place was empty once knows all references to it.

use model::{Code, Digest, Error, Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

use super::blob::{self, BlobRow};

statements! {
    QUARANTINE = "INSERT INTO reclaim (store_id, digest, size, reason, state, since) VALUES ($1, $2, $3, $4, 'quarantined', $5)
        ON CONFLICT (store_id, digest) DO NOTHING";
    BEGIN = "INSERT INTO reclaim (store_id, digest, size, reason, state, since) VALUES ($1, $2, $3, $4, 'deleting', $5)
        ON CONFLICT (store_id, digest) DO UPDATE SET state = 'deleting'";
    RESUME = "UPDATE reclaim SET state = 'deleting' WHERE store_id = $1 AND digest = $2";
    IS_WATCHED = "SELECT 1 FROM reclaim WHERE store_id = $1 AND digest = $2 AND state = 'deleting'
        UNION ALL SELECT 1 FROM deleted_copy WHERE store_id = $1 AND digest = $2
        UNION ALL SELECT 1 FROM removed_store WHERE store_id = $1";
    REFER = "INSERT INTO blob (id, digest, size, store_id, locator, created_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (digest) DO NOTHING
        RETURNING EXISTS (SELECT 1 FROM reclaim r WHERE r.store_id = $4 AND r.digest = $2 AND r.state = 'deleting')
        OR EXISTS (SELECT 1 FROM deleted_copy d WHERE d.store_id = $4 AND d.digest = $2)
        OR EXISTS (SELECT 1 FROM removed_store s WHERE s.store_id = $4)";
    IS_DELETING = "SELECT 1 FROM reclaim WHERE store_id = $1 AND digest = $2 AND state = 'deleting'";
    DELETED = "INSERT INTO deleted_copy (store_id, digest, deleted_at) VALUES ($1, $2, $3)
        ON CONFLICT (store_id, digest) DO UPDATE SET deleted_at = excluded.deleted_at";
    FORGET_DELETED = "DELETE FROM deleted_copy WHERE deleted_at < $1";
    FORGET_STORE = "DELETE FROM deleted_copy WHERE store_id = $1";
    REMOVE = "DELETE FROM reclaim WHERE store_id = $1 AND digest = $2";
    IS_REMOVED = "SELECT 1 FROM removed_store WHERE store_id = $1";
    CLOSED_STORES = "SELECT store_id FROM removed_store ORDER BY store_id";
    CLOSE_STORE = "INSERT INTO removed_store (store_id) VALUES ($1) ON CONFLICT (store_id) DO NOTHING";
    REOPEN_STORE = "DELETE FROM removed_store WHERE store_id = $1";
    REMOVE_STORE = "DELETE FROM reclaim WHERE store_id = $1";
    STORES = "WITH RECURSIVE found (id) AS (
            SELECT MIN(store_id) FROM reclaim
            UNION ALL SELECT (SELECT MIN(r.store_id) FROM reclaim r WHERE r.store_id > f.id) FROM found f WHERE f.id IS NOT NULL)
        SELECT id FROM found WHERE id IS NOT NULL";
    DUE = "SELECT store_id, digest, size, reason, state, since FROM reclaim WHERE (since < $1 OR state = 'deleting')
        AND (store_id > $2 OR (store_id = $2 AND digest > $3)) ORDER BY store_id, digest LIMIT $4";
    COUNT_ORPHANS = "SELECT COUNT(*) FROM reclaim WHERE reason = 'orphan' AND since < $1";
    COUNT_SINCE = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM reclaim WHERE since >= $1 AND store_id <> $2
        AND state <> 'deleting'";
    TOTALS = "SELECT store_id, reason, COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT), MIN(since) FROM reclaim
        GROUP BY store_id, reason ORDER BY store_id, reason";
}

/// Where every transaction is that adds a reference. Site collections, the other places, have positive numbers.
const REFERENCES: Id = Id::new(-1);

/// Why a copy is not needed.
pub mod reason {
    /// No document has the bytes any more.
    pub const DELETED: &str = "deleted";
    /// The bytes are in another store now.
    pub const MOVED: &str = "moved";
    /// No database ever knew them, or none does any more.
    pub const ORPHAN: &str = "orphan";
}

/// A copy that waits for its deletion.
#[derive(Clone, Debug)]
pub struct ReclaimRow {
    /// The store.
    pub store_id: Id,
    /// Identity of the bytes.
    pub digest: Digest,
    /// Bytes.
    pub size: i64,
    /// Why, one of [`reason`].
    pub reason: String,
    /// Whether its deletion has begun.
    pub deleting: bool,
    /// Since when it waits.
    pub since: Timestamp,
}

fn read(row: &Row<'_>) -> Result<ReclaimRow> {
    Ok(ReclaimRow {
        store_id: row.get(0)?,
        digest: row.get(1)?,
        size: row.get(2)?,
        reason: row.get(3)?,
        deleting: row.get::<String>(4)? == "deleting",
        since: row.get(5)?,
    })
}

/// Puts a copy aside; one that is there already keeps its time. False then.
pub fn quarantine(transaction: &mut Transaction<'_>, row: &ReclaimRow) -> Result<bool> {
    let values = params![row.store_id, row.digest, row.size, &row.reason, row.since];
    Ok(transaction.execute(QUARANTINE, &values)? == 1)
}

/// Begins the deletion of a copy: from here on no reference to it can be added in this database.
pub fn begin(transaction: &mut Transaction<'_>, row: &ReclaimRow) -> Result<()> {
    let values = params![row.store_id, row.digest, row.size, &row.reason, row.since];
    transaction.execute(BEGIN, &values).map(drop)
}

/// Begins the deletion of a copy that waits for it; false when it does not wait any more.
pub fn resume(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<bool> {
    Ok(transaction.execute(RESUME, &params![store, *digest])? == 1)
}

/// Ends the waiting of a copy, because it is deleted or needed after all.
pub fn remove(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<()> {
    transaction.execute(REMOVE, &params![store, *digest]).map(drop)
}

/// Refuses all references to a store from now on, because the farm is about to forget it. Which references there are is known only after
/// [`wait_for_references`].
pub fn close_store(transaction: &mut Transaction<'_>, store: Id) -> Result<()> {
    transaction.execute(CLOSE_STORE, &params![store]).map(drop)
}

/// The stores to which references are refused.
pub fn closed_stores(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(CLOSED_STORES, &[], |row| row.get(0))
}

/// Takes references to a store again, because the farm keeps it after all.
pub fn reopen_store(transaction: &mut Transaction<'_>, store: Id) -> Result<()> {
    transaction.execute(REOPEN_STORE, &params![store]).map(drop)
}

/// Ends the waiting of all copies in a store that the farm has forgotten.
pub fn remove_store(transaction: &mut Transaction<'_>, store: Id) -> Result<()> {
    transaction.execute(FORGET_STORE, &params![store])?;
    transaction.execute(REMOVE_STORE, &params![store]).map(drop)
}

/// What is known of the deletion of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing: bytes that are in the store stay there.
    Free,
    /// It was deleted a short time ago. Bytes that were stored since may be a part of what was deleted; a reference to them counts only
    /// when they are found after it was added.
    DeletedLately,
}

/// Refuses a reference to a copy that is being deleted at this moment, or in a store that the farm forgot. The reference is added by the
/// same transaction.
///
/// Errors: `Unavailable` with code `blob_being_deleted` or `store_removed`; the bytes must be stored anew, a moment later.
pub fn require_not_deleting(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<Standing> {
    transaction.enter(REFERENCES)?;
    match transaction.find(IS_WATCHED, &params![store, *digest], |_| Ok(()))? {
        None => Ok(Standing::Free),
        Some(()) => deleted_lately(transaction, store, digest),
    }
}

/// Adds a reference to bytes that were stored, or finds the one that stands already. The row that stands afterwards is returned, with what is
/// known of the deletion of a copy that a new one leads to.
///
/// Errors: those of [`require_not_deleting`].
pub fn refer(transaction: &mut Transaction<'_>, row: &BlobRow, now: Timestamp) -> Result<(BlobRow, Standing)> {
    transaction.enter(REFERENCES)?;
    let values = params![row.id, row.digest, row.size, row.store_id, row.locator.as_deref(), now];
    match transaction.find(REFER, &values, |row| row.get::<bool>(0))? {
        None => Ok((blob::present(transaction, &row.digest)?, Standing::Free)),
        Some(false) => Ok((row.clone(), Standing::Free)),
        Some(true) => Ok((row.clone(), deleted_lately(transaction, row.store_id, &row.digest)?)),
    }
}

fn deleted_lately(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<Standing> {
    if transaction.find(IS_REMOVED, &params![store], |_| Ok(()))?.is_some() {
        return Err(Error::unavailable("the BLOB store of these bytes was removed meanwhile: try again")
            .with_code(Code::StoreRemoved));
    }
    match transaction.find(IS_DELETING, &params![store, *digest], |_| Ok(()))? {
        None => Ok(Standing::DeletedLately),
        Some(()) => {
            Err(Error::unavailable("an unused copy of the same bytes is being deleted at this moment: try again")
                .with_code(Code::BlobBeingDeleted))
        }
    }
}

/// Ends the waiting of a copy that is deleted now.
pub fn deleted(transaction: &mut Transaction<'_>, store: Id, digest: &Digest, now: Timestamp) -> Result<()> {
    remove(transaction, store, digest)?;
    transaction.execute(DELETED, &params![store, *digest, now]).map(drop)
}

/// Forgets copies that were deleted before a time. It must lie further back than any upload lasts from the end of its bytes to its
/// transaction.
pub fn forget_deleted(transaction: &mut Transaction<'_>, before: Timestamp) -> Result<u64> {
    transaction.execute(FORGET_DELETED, &params![before])
}

/// Waits until every transaction has ended that may not have seen the marks which were committed before.
pub fn wait_for_references(transaction: &mut Transaction<'_>) -> Result<()> {
    transaction.enter_alone(REFERENCES)
}

/// The stores in which copies wait. Costs a look at the index for each of them, however many copies there are.
pub fn stores(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(STORES, &[], |row| row.get(0))
}

/// Copies that wait since before `before`, and those whose deletion was cut short, behind a place in the order.
pub fn due(reader: &mut Reader<'_>, before: Timestamp, after: (Id, Vec<u8>), limit: usize) -> Result<Vec<ReclaimRow>> {
    reader.query(DUE, &params![before, after.0, after.1, limit as i64], read)
}

/// Number of copies that no database knew and that wait since before `before`.
pub fn count_orphans(reader: &mut Reader<'_>, before: Timestamp) -> Result<i64> {
    Ok(reader.find(COUNT_ORPHANS, &params![before], |row| row.get(0))?.unwrap_or(0))
}

/// Number and bytes of the copies that wait since `since` or later and whose deletion has not begun, but those in the store `but`.
pub fn count_since(reader: &mut Reader<'_>, since: Timestamp, but: Id) -> Result<(i64, i64)> {
    Ok(reader.find(COUNT_SINCE, &params![since, but], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// What waits in one store for one reason.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The store.
    pub store_id: Id,
    /// Why, one of [`reason`].
    pub reason: String,
    /// Copies.
    pub blobs: i64,
    /// Their bytes.
    pub bytes: i64,
    /// Since when the oldest waits.
    pub since: Timestamp,
}

/// Everything that waits, by store and reason.
pub fn totals(reader: &mut Reader<'_>) -> Result<Vec<Pending>> {
    reader.query(TOTALS, &[], |row| {
        Ok(Pending {
            store_id: row.get(0)?,
            reason: row.get(1)?,
            blobs: row.get(2)?,
            bytes: row.get(3)?,
            since: row.get(4)?,
        })
    })
}

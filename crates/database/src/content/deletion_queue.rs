//! Unreferenced copies of BLOBs in stores, on their way to deletion.
//!
//! A row is first in quarantine and then in the state `deleting`. While it is in that state, no reference to the copy
//! may be added, because the bytes may disappear at any moment. A transaction that adds a reference takes the lock
//! [`REFERENCES`] in shared mode before it looks for such a row, and holds it until it ends. A collector that has
//! committed a state and then acquired that lock exclusively once therefore sees every reference to the copy.

use model::{Code, Digest, Error, Id, ReclaimReason, ReclaimState, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

use super::blob::{self, BlobRow};

statements! {
    QUARANTINE = "INSERT INTO reclaim (store_id, digest, size, reason, state, since) VALUES ($1, $2, $3, $4,
        'quarantined', $5)
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
            UNION ALL SELECT (SELECT MIN(r.store_id) FROM reclaim r WHERE r.store_id > f.id) FROM found f WHERE f.id
            IS NOT NULL)
        SELECT id FROM found WHERE id IS NOT NULL";
    DUE = "SELECT store_id, digest, size, reason, state, since FROM reclaim WHERE (since < $1 OR state = 'deleting')
        AND (store_id > $2 OR (store_id = $2 AND digest > $3)) ORDER BY store_id, digest LIMIT $4";
    COUNT_ORPHANS = "SELECT COUNT(*) FROM reclaim WHERE reason = 'orphan' AND since < $1";
    COUNT_SINCE = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM reclaim WHERE since >= $1 AND
        store_id <> $2
        AND state <> 'deleting'";
    TOTALS = "SELECT store_id, reason, COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT), MIN(since) FROM reclaim
        GROUP BY store_id, reason ORDER BY store_id, reason";
}

/// Key of the lock that every transaction takes to add a reference. The other keys are the identifiers of site
/// collections, which are positive.
const REFERENCES: Id = Id::new(-1);

/// A copy that awaits deletion.
#[derive(Clone, Debug)]
pub struct ReclaimRow {
    /// The store.
    pub store_id: Id,
    /// Digest of the bytes.
    pub digest: Digest,
    /// Size in bytes.
    pub size: i64,
    /// The reason.
    pub reason: ReclaimReason,
    /// Progress towards the deletion.
    pub state: ReclaimState,
    /// Time when the copy was quarantined.
    pub since: Timestamp,
}

fn read(row: &Row<'_>) -> Result<ReclaimRow> {
    Ok(ReclaimRow {
        store_id: row.get(0)?,
        digest: row.get(1)?,
        size: row.get(2)?,
        reason: row.get(3)?,
        state: row.get(4)?,
        since: row.get(5)?,
    })
}

/// Puts a copy into quarantine. Returns false if the copy was there already; it then keeps its original time.
pub fn quarantine(transaction: &mut Transaction<'_>, row: &ReclaimRow) -> Result<bool> {
    let values = params![row.store_id, row.digest, row.size, row.reason, row.since];
    Ok(transaction.execute(QUARANTINE, &values)? == 1)
}

/// Begins the deletion of a copy. From here on no reference to it can be added in this database.
pub fn begin(transaction: &mut Transaction<'_>, row: &ReclaimRow) -> Result<()> {
    let values = params![row.store_id, row.digest, row.size, row.reason, row.since];
    transaction.execute(BEGIN, &values).map(drop)
}

/// Begins the deletion of a copy in quarantine. Returns false if it is no longer there.
pub fn resume(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<bool> {
    Ok(transaction.execute(RESUME, &params![store, *digest])? == 1)
}

/// Removes a copy from quarantine, because it has been deleted or is needed after all.
pub fn remove(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<()> {
    transaction.execute(REMOVE, &params![store, *digest]).map(drop)
}

/// Refuses all new references to a store from now on, because the farm is about to remove it. The set of existing
/// references is known only after [`wait_for_references`].
pub fn close_store(transaction: &mut Transaction<'_>, store: Id) -> Result<()> {
    transaction.execute(CLOSE_STORE, &params![store]).map(drop)
}

/// The stores to which new references are refused.
pub fn closed_stores(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(CLOSED_STORES, &[], |row| row.get(0))
}

/// Allows references to a store again, because the farm keeps it after all.
pub fn reopen_store(transaction: &mut Transaction<'_>, store: Id) -> Result<()> {
    transaction.execute(REOPEN_STORE, &params![store]).map(drop)
}

/// Deletes the quarantine and deletion records of all copies in a store that the farm has removed.
pub fn remove_store(transaction: &mut Transaction<'_>, store: Id) -> Result<()> {
    transaction.execute(FORGET_STORE, &params![store])?;
    transaction.execute(REMOVE_STORE, &params![store]).map(drop)
}

/// The deletion state of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeletionState {
    /// No deletion is known. Bytes in the store stay there.
    Free,
    /// The copy was deleted recently. Bytes that were stored since may have been deleted with it. A reference to them
    /// counts only if the bytes are found after the reference was added.
    DeletedLately,
}

/// Refuses a reference to a copy that is being deleted at this moment, or in a store that the farm has removed. The
/// caller adds the reference in the same transaction.
///
/// # Errors
/// `Unavailable` with code `blob_being_deleted` or `store_removed`. The bytes must then be stored again, a moment
/// later.
pub fn require_not_deleting(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<DeletionState> {
    transaction.lock_shared(REFERENCES)?;
    match transaction.find(IS_WATCHED, &params![store, *digest], |_| Ok(()))? {
        None => Ok(DeletionState::Free),
        Some(()) => deleted_lately(transaction, store, digest),
    }
}

/// Adds a reference to stored bytes, or finds the existing one. Returns the stored row. For a new reference it also
/// returns the deletion state of the copy.
///
/// # Errors
/// Those of [`require_not_deleting`].
pub fn add_reference(
    transaction: &mut Transaction<'_>,
    row: &BlobRow,
    now: Timestamp,
) -> Result<(BlobRow, DeletionState)> {
    transaction.lock_shared(REFERENCES)?;
    let values = params![row.id, row.digest, row.size, row.store_id, row.locator.as_deref(), now];
    match transaction.find(REFER, &values, |row| row.get::<bool>(0))? {
        None => Ok((blob::present(transaction, &row.digest)?, DeletionState::Free)),
        Some(false) => Ok((row.clone(), DeletionState::Free)),
        Some(true) => Ok((row.clone(), deleted_lately(transaction, row.store_id, &row.digest)?)),
    }
}

fn deleted_lately(transaction: &mut Transaction<'_>, store: Id, digest: &Digest) -> Result<DeletionState> {
    if transaction.find(IS_REMOVED, &params![store], |_| Ok(()))?.is_some() {
        return Err(Error::unavailable("the BLOB store that held these bytes was removed in the meantime: try again")
            .with_code(Code::StoreRemoved));
    }
    match transaction.find(IS_DELETING, &params![store, *digest], |_| Ok(()))? {
        None => Ok(DeletionState::DeletedLately),
        Some(()) => Err(Error::unavailable("an unused copy of the same bytes is being deleted: try again")
            .with_code(Code::BlobBeingDeleted)),
    }
}

/// Removes a copy from quarantine and records that it has been deleted now.
pub fn deleted(transaction: &mut Transaction<'_>, store: Id, digest: &Digest, now: Timestamp) -> Result<()> {
    remove(transaction, store, digest)?;
    transaction.execute(DELETED, &params![store, *digest, now]).map(drop)
}

/// Deletes the records of copies that were deleted before a time. That time must lie further back than the longest
/// upload takes from the end of its bytes to its transaction.
pub fn forget_deleted(transaction: &mut Transaction<'_>, before: Timestamp) -> Result<u64> {
    transaction.execute(FORGET_DELETED, &params![before])
}

/// Waits for the end of every transaction that may not have seen the states committed before this call.
pub fn wait_for_references(transaction: &mut Transaction<'_>) -> Result<()> {
    transaction.lock_exclusive(REFERENCES)
}

/// The stores with copies in quarantine. Costs one index look-up per store, however many copies there are.
pub fn stores(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(STORES, &[], |row| row.get(0))
}

/// Copies in quarantine since before `before`, and those whose deletion was interrupted, starting after the key
/// `after`.
pub fn due(reader: &mut Reader<'_>, before: Timestamp, after: (Id, Vec<u8>), limit: usize) -> Result<Vec<ReclaimRow>> {
    reader.query(DUE, &params![before, after.0, after.1, limit as i64], read)
}

/// Number of orphans in quarantine since before `before`.
pub fn count_orphans(reader: &mut Reader<'_>, before: Timestamp) -> Result<i64> {
    Ok(reader.find(COUNT_ORPHANS, &params![before], |row| row.get(0))?.unwrap_or(0))
}

/// Number and bytes of the copies in quarantine since `since` or later whose deletion has not begun, except in the
/// store `but`.
pub fn count_since(reader: &mut Reader<'_>, since: Timestamp, but: Id) -> Result<(i64, i64)> {
    Ok(reader.find(COUNT_SINCE, &params![since, but], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// Totals of the copies that await deletion in one store for one reason.
#[derive(Clone, Debug)]
pub struct Pending {
    /// The store.
    pub store_id: Id,
    /// The reason.
    pub reason: ReclaimReason,
    /// Number of copies.
    pub blobs: i64,
    /// Their size in bytes.
    pub bytes: i64,
    /// Time since which the oldest has been waiting.
    pub since: Timestamp,
}

/// Totals of all copies that await deletion, by store and reason.
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

//! References to BLOBs: for each digest, the store that has the bytes. Also the census that check, garbage collection
//! and migration share.

use model::{Digest, Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

/// The columns that [`read`] expects, in its order.
macro_rules! blob_columns {
    () => {
        "id, digest, size, store_id, locator"
    };
}

pub(super) use blob_columns;

statements! {
    FIND = concat!("SELECT ", blob_columns!(), " FROM blob WHERE digest = $1");
    INSERT = "INSERT INTO blob (id, digest, size, store_id, locator, created_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (digest) DO NOTHING";
    AFTER = concat!("SELECT ", blob_columns!(), " FROM blob WHERE id > $1 ORDER BY id LIMIT $2");
    MOVE = "UPDATE blob SET store_id = $3, locator = $4 WHERE id = $1 AND store_id = $2";
    IN_STORE = concat!("SELECT ", blob_columns!(),
        " FROM blob WHERE id > $1 AND store_id = $2 AND size >= $3 AND size <= $4
        AND created_at < $5 AND COALESCE(accessed_at, created_at) < $6
        AND ($7 = 0 OR EXISTS (SELECT 1 FROM version v JOIN node n ON n.id = v.node_id
        WHERE v.blob_id = blob.id AND (n.library_id = $7 OR n.collection_id = $7))) ORDER BY id LIMIT $8");
    COUNT_IN_STORE = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blob WHERE id > $1 AND store_id =
        $2 AND size >= $3
        AND size <= $4 AND created_at < $5 AND COALESCE(accessed_at, created_at) < $6
        AND ($7 = 0 OR EXISTS (SELECT 1 FROM version v JOIN node n ON n.id = v.node_id
        WHERE v.blob_id = blob.id AND (n.library_id = $7 OR n.collection_id = $7)))";
    LAST_OF_PAGE = "SELECT MAX(id) FROM (SELECT id FROM blob WHERE id > $1 ORDER BY id LIMIT $2) AS page";
    MARK = "UPDATE blob SET unreferenced_at = $3 WHERE id > $1 AND id <= $2 AND unreferenced_at IS NULL
        AND NOT EXISTS (SELECT 1 FROM version v WHERE v.blob_id = blob.id)";
    COUNT_UNMARKED = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blob WHERE id > $1 AND id <= $2
        AND unreferenced_at IS NULL AND NOT EXISTS (SELECT 1 FROM version v WHERE v.blob_id = blob.id)";
    UNMARK_USED = "UPDATE blob SET unreferenced_at = NULL WHERE unreferenced_at IS NOT NULL
        AND EXISTS (SELECT 1 FROM version v WHERE v.blob_id = blob.id)";
    UNMARK = "UPDATE blob SET unreferenced_at = NULL WHERE id = $1 AND unreferenced_at IS NOT NULL";
    KEEP_AWHILE = "UPDATE blob SET unreferenced_at = $2 WHERE id = $1 AND (unreferenced_at < $2
        OR (unreferenced_at IS NULL AND NOT EXISTS (SELECT 1 FROM version v WHERE v.blob_id = blob.id)))";
    INSERT_MARKED = "INSERT INTO blob (id, digest, size, store_id, locator, created_at, unreferenced_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (digest) DO NOTHING";
    MARKED_BEFORE = concat!("SELECT ", blob_columns!(),
        " FROM blob WHERE unreferenced_at < $1 AND id > $2 ORDER BY id LIMIT $3");
    COUNT_MARKED_BEFORE = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blob WHERE unreferenced_at <
        $1";
    COUNT_MARKED_SINCE = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blob WHERE unreferenced_at >=
        $1";
    DELETE_MARKED = "DELETE FROM blob WHERE id = $1 AND unreferenced_at < $2
        AND NOT EXISTS (SELECT 1 FROM version v WHERE v.blob_id = blob.id)";
    MARKED = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT), MIN(unreferenced_at) FROM blob
        WHERE unreferenced_at IS NOT NULL";
    IS_IN = "SELECT id FROM blob WHERE digest = $1 AND store_id = $2";
    TOUCH = "UPDATE blob SET accessed_at = $2 WHERE id = $1 AND COALESCE(accessed_at, 0) < $2";
    TOTALS = "SELECT store_id, COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blob GROUP BY store_id";
    DOCUMENTS_OF = "SELECT DISTINCT n.id, n.name FROM blob b JOIN version v ON v.blob_id = b.id JOIN node n ON n.id =
        v.node_id
        WHERE b.digest = $1 ORDER BY n.id LIMIT $2";
}

/// A reference from the content database to a BLOB.
#[derive(Clone, Debug)]
pub struct BlobRow {
    /// Identifier of the row.
    pub id: Id,
    /// Digest of the bytes.
    pub digest: Digest,
    /// Size in bytes.
    pub size: i64,
    /// The store that holds the bytes.
    pub store_id: Id,
    /// The store's last known locator of the bytes.
    pub locator: Option<Vec<u8>>,
}

pub(super) fn read(row: &Row<'_>) -> Result<BlobRow> {
    Ok(BlobRow { id: row.get(0)?, digest: row.get(1)?, size: row.get(2)?, store_id: row.get(3)?, locator: row.get(4)? })
}

/// The reference to these bytes, if there is one.
pub fn find(reader: &mut Reader<'_>, digest: &Digest) -> Result<Option<BlobRow>> {
    reader.find(FIND, &params![*digest], read)
}

/// Adds the reference unless there is one already. Returns the stored row.
pub fn insert(transaction: &mut Transaction<'_>, row: &BlobRow, now: Timestamp) -> Result<BlobRow> {
    let values = params![row.id, row.digest, row.size, row.store_id, row.locator.as_deref(), now];
    if transaction.execute(INSERT, &values)? == 1 {
        return Ok(row.clone());
    }
    present(transaction, &row.digest)
}

/// Returns the existing reference for use by another version.
pub(super) fn present(transaction: &mut Transaction<'_>, digest: &Digest) -> Result<BlobRow> {
    let present = transaction.find(FIND, &params![*digest], read)?.ok_or_else(removed_meanwhile)?;
    // A mark that was kept would make the next unreferenced period seem to have begun long ago.
    transaction.execute(UNMARK, &params![present.id])?;
    Ok(present)
}

/// Adds a reference that no version has yet, or prolongs the existing one. Neither is collected before `until`, however
/// short the garbage-collection window is. Never shortens an earlier pin. Returns the stored row.
pub fn pin(transaction: &mut Transaction<'_>, row: &BlobRow, now: Timestamp, until: Timestamp) -> Result<BlobRow> {
    let values = params![row.id, row.digest, row.size, row.store_id, row.locator.as_deref(), now, until];
    if transaction.execute(INSERT_MARKED, &values)? == 1 {
        return Ok(row.clone());
    }
    let present = transaction.find(FIND, &params![row.digest], read)?.ok_or_else(removed_meanwhile)?;
    transaction.execute(KEEP_AWHILE, &params![present.id, until])?;
    Ok(present)
}

fn removed_meanwhile() -> model::Error {
    model::Error::unavailable("the BLOB's row was removed while it was in use; try again")
}

/// Records that the bytes have moved to another store or locator. Returns false if they were no longer in `from`.
pub fn relocate(transaction: &mut Transaction<'_>, id: Id, from: Id, to: Id, locator: Option<&[u8]>) -> Result<bool> {
    Ok(transaction.execute(MOVE, &params![id, from, to, locator])? == 1)
}

/// A selection among the references of a store.
#[derive(Clone, Copy, Debug)]
pub struct Selection {
    /// The store that holds the bytes.
    pub store_id: Id,
    /// Minimum size in bytes.
    pub minimum_size: i64,
    /// Maximum size in bytes.
    pub maximum_size: i64,
    /// Only BLOBs stored before this time.
    pub created_before: Timestamp,
    /// Only BLOBs last read before this time. For a BLOB that was never read the time of storing counts.
    pub accessed_before: Timestamp,
    /// Only BLOBs of documents in this library or site collection; [`Id::NONE`] for all.
    pub within: Id,
}

/// References of a selection in order of identifier, starting after `after`.
pub fn select(reader: &mut Reader<'_>, which: &Selection, after: Id, limit: usize) -> Result<Vec<BlobRow>> {
    let Selection { store_id, minimum_size, maximum_size, created_before, accessed_before, within } = *which;
    let values =
        params![after, store_id, minimum_size, maximum_size, created_before, accessed_before, within, limit as i64];
    reader.query(IN_STORE, &values, read)
}

/// Number and bytes of the references of a selection after `after`.
pub fn count(reader: &mut Reader<'_>, which: &Selection, after: Id) -> Result<(i64, i64)> {
    let Selection { store_id, minimum_size, maximum_size, created_before, accessed_before, within } = *which;
    let values = params![after, store_id, minimum_size, maximum_size, created_before, accessed_before, within];
    Ok(reader.find(COUNT_IN_STORE, &values, |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// Last identifier of the page of `limit` references that follows `after`; `None` at the end.
pub fn last_of_page(reader: &mut Reader<'_>, after: Id, limit: usize) -> Result<Option<Id>> {
    Ok(reader.find(LAST_OF_PAGE, &params![after, limit as i64], |row| row.get::<Option<Id>>(0))?.flatten())
}

/// Marks the references between two identifiers that no version has and that have no mark yet. Returns their number.
pub fn mark(transaction: &mut Transaction<'_>, after: Id, last: Id, now: Timestamp) -> Result<u64> {
    transaction.execute(MARK, &params![after, last, now])
}

/// Number and bytes of what [`mark`] would mark.
pub fn count_unmarked(reader: &mut Reader<'_>, after: Id, last: Id) -> Result<(i64, i64)> {
    Ok(reader.find(COUNT_UNMARKED, &params![after, last], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// Removes the marks of references that a version has after all. Returns their number.
pub fn unmark_used(transaction: &mut Transaction<'_>) -> Result<u64> {
    transaction.execute(UNMARK_USED, &[])
}

/// References whose mark is older than `before`, in order of identifier, starting after `after`.
pub fn marked_before(reader: &mut Reader<'_>, before: Timestamp, after: Id, limit: usize) -> Result<Vec<BlobRow>> {
    reader.query(MARKED_BEFORE, &params![before, after, limit as i64], read)
}

/// Number and bytes of the references whose mark is older than `before`.
pub fn count_marked_before(reader: &mut Reader<'_>, before: Timestamp) -> Result<(i64, i64)> {
    Ok(reader.find(COUNT_MARKED_BEFORE, &params![before], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// Number and bytes of the references whose mark is not older than `since`.
pub fn count_marked_since(reader: &mut Reader<'_>, since: Timestamp) -> Result<(i64, i64)> {
    Ok(reader.find(COUNT_MARKED_SINCE, &params![since], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// Removes a reference if its mark is older than `before` and still no version has it. Returns whether it was removed.
pub fn delete_marked(transaction: &mut Transaction<'_>, id: Id, before: Timestamp) -> Result<bool> {
    Ok(transaction.execute(DELETE_MARKED, &params![id, before])? == 1)
}

/// Number and bytes of all marked references, and the oldest mark.
pub fn marked(reader: &mut Reader<'_>) -> Result<(i64, i64, Option<Timestamp>)> {
    let found = reader.find(MARKED, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    Ok(found.unwrap_or((0, 0, None)))
}

/// Returns whether this database has a reference to these bytes in this store.
pub fn is_in(reader: &mut Reader<'_>, digest: &Digest, store: Id) -> Result<bool> {
    Ok(reader.find(IS_IN, &params![*digest, store], |row| row.get::<Id>(0))?.is_some())
}

/// Returns whether this database needs these bytes in this store. It does if it has a reference to them there, or in a
/// store that is not among the `known` ones. In the latter case any other copy may be the last one.
pub fn needs(reader: &mut Reader<'_>, digest: &Digest, store: Id, known: &[Id]) -> Result<bool> {
    Ok(find(reader, digest)?.is_some_and(|row| row.store_id == store || !known.contains(&row.store_id)))
}

/// Records that the bytes were read on `day`.
pub fn touch(transaction: &mut Transaction<'_>, id: Id, day: Timestamp) -> Result<()> {
    transaction.execute(TOUCH, &params![id, day]).map(drop)
}

/// References in order of identifier, starting after `after`, in bounded pages.
pub fn after(reader: &mut Reader<'_>, after: Id, limit: usize) -> Result<Vec<BlobRow>> {
    reader.query(AFTER, &params![after, limit as i64], read)
}

/// For each store: its identifier, the number of BLOBs that this database references there, and their total size.
pub fn totals(reader: &mut Reader<'_>) -> Result<Vec<(Id, i64, i64)>> {
    reader.query(TOTALS, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// Documents that have a version with these bytes: identifiers and names, at most `limit`.
pub fn documents_of(reader: &mut Reader<'_>, digest: &Digest, limit: usize) -> Result<Vec<(Id, String)>> {
    reader.query(DOCUMENTS_OF, &params![*digest, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;
    use crate::content::version::{self, VersionRow};
    use crate::testing::each_engine;
    use model::VersionNumber;

    fn at(micros: i64) -> Timestamp {
        Timestamp::from_micros(micros)
    }

    fn row(id: i64) -> BlobRow {
        BlobRow { id: Id::new(id), digest: Digest::new([id as u8; 32]), size: 9, store_id: Id::new(5), locator: None }
    }

    /// Marked references whose mark is older than `before`.
    fn older(reader: &mut Reader<'_>, before: i64) -> Result<Vec<i64>> {
        Ok(marked_before(reader, at(before), Id::NONE, 10)?.iter().map(|row| row.id.get()).collect())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_pin_never_shortens_another() {
        each_engine(Schema::Content, |database| async move {
            let pins = |transaction: &mut Transaction<'_>| {
                pin(transaction, &row(1), at(10), at(1_000))?;
                pin(transaction, &row(1), at(20), at(500))?;
                let second = older(transaction, 1_000)?;
                pin(transaction, &row(1), at(30), at(2_000))?;
                Ok((second, older(transaction, 2_000)?, older(transaction, 2_001)?))
            };
            let marks = database.write(pins).await.unwrap();
            assert_eq!(marks, (vec![], vec![], vec![1]));
        })
        .await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_pin_marks_an_existing_reference_that_no_version_has() {
        each_engine(Schema::Content, |database| async move {
            let pins = |transaction: &mut Transaction<'_>| {
                for id in [1, 2] {
                    insert(transaction, &row(id), at(10))?;
                }
                add_version(transaction, &row(2))?;
                for id in [1, 2] {
                    pin(transaction, &row(id), at(20), at(1_000))?;
                }
                // A collection that begins meanwhile starts no shorter period.
                let marked = mark(transaction, Id::NONE, Id::new(9), at(30))?;
                Ok((marked, older(transaction, 1_000)?, older(transaction, 1_001)?))
            };
            let marks = database.write(pins).await.unwrap();
            assert_eq!(marks, (0, vec![], vec![1]));
        })
        .await;
    }

    fn add_version(transaction: &mut Transaction<'_>, blob: &BlobRow) -> Result<()> {
        let (number, text) = (VersionNumber::new(1, 0), String::new());
        let version = VersionRow {
            id: Id::new(40),
            node_id: Id::new(30),
            blob_id: blob.id,
            number,
            working: false,
            size: blob.size,
            media_type: text.clone(),
            created_at: at(10),
            created_by: Id::new(1),
            modified_at: at(10),
            comment: text,
            digest: blob.digest,
            store_id: blob.store_id,
            locator: None,
        };
        version::insert(transaction, &version)
    }
}

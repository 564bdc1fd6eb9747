//! BLOBs stored in the content database itself, in parts. A row without a digest is still being uploaded.

use model::{Digest, Error, Id, Result, Timestamp};

use crate::{Reader, Transaction, params, statements};

statements! {
    FIND = "SELECT id, size FROM stored_blob WHERE digest = $1";
    INSERT = "INSERT INTO stored_blob (id, digest, size, stored_at) VALUES ($1, $2, $3, $4) ON CONFLICT (digest) DO
        NOTHING";
    COMPLETE = "UPDATE stored_blob SET digest = $2, size = $3, stored_at = $4 WHERE id = $1";
    DELETE = "DELETE FROM stored_blob WHERE id = $1";
    ABANDONED = "SELECT id FROM stored_blob WHERE digest IS NULL AND stored_at < $1 LIMIT 100";
    CHUNK = "SELECT data, checksum FROM stored_chunk WHERE stored_id = $1 AND part = $2";
    INSERT_CHUNK = "INSERT INTO stored_chunk (stored_id, part, checksum, data) VALUES ($1, $2, $3, $4)";
    AFTER = "SELECT digest, size, stored_at FROM stored_blob WHERE digest > $1 ORDER BY digest LIMIT $2";
    TOTALS = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM stored_blob WHERE digest IS NOT NULL";
}

/// Identifier and size of a complete BLOB.
pub fn find(reader: &mut Reader<'_>, digest: &Digest) -> Result<Option<(Id, i64)>> {
    reader.find(FIND, &params![*digest], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Adds a BLOB: complete, or without a digest while it is still being uploaded. Returns false if its digest exists
/// already.
pub fn insert(
    transaction: &mut Transaction<'_>,
    id: Id,
    digest: Option<Digest>,
    size: i64,
    now: Timestamp,
) -> Result<bool> {
    Ok(transaction.execute(INSERT, &params![id, digest, size, now])? == 1)
}

/// Completes an uploaded BLOB by setting its digest.
///
/// # Errors
/// `Conflict` if the digest exists already; `Unavailable` if the BLOB was removed as abandoned.
pub fn complete(transaction: &mut Transaction<'_>, id: Id, digest: &Digest, size: i64, now: Timestamp) -> Result<()> {
    match transaction.execute(COMPLETE, &params![id, *digest, size, now])? {
        0 => Err(Error::unavailable("an upload was abandoned before it was complete: upload the document again")),
        _ => Ok(()),
    }
}

/// Removes a BLOB and its parts.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// BLOBs whose upload began before `time` and never completed, at most 100.
pub fn abandoned(reader: &mut Reader<'_>, time: Timestamp) -> Result<Vec<Id>> {
    reader.query(ABANDONED, &params![time], |row| row.get(0))
}

/// One part of a BLOB and its checksum.
pub fn chunk(reader: &mut Reader<'_>, id: Id, part: i64) -> Result<Option<(Vec<u8>, Vec<u8>)>> {
    reader.find(CHUNK, &params![id, part], |row| Ok((row.get(0)?, row.get(1)?)))
}

/// Adds one part of a BLOB with its checksum.
pub fn insert_chunk(transaction: &mut Transaction<'_>, id: Id, part: i64, checksum: &[u8], data: &[u8]) -> Result<()> {
    transaction.execute(INSERT_CHUNK, &params![id, part, checksum, data]).map(drop)
}

/// Complete BLOBs in order of digest, starting after `after`: digest, size, time of storing.
pub fn after(reader: &mut Reader<'_>, after: Option<Digest>, limit: usize) -> Result<Vec<(Digest, i64, Timestamp)>> {
    let after: Vec<u8> = after.map(|digest| digest.as_bytes().to_vec()).unwrap_or_default();
    reader.query(AFTER, &params![after, limit as i64], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// Number and bytes of all complete BLOBs.
pub fn totals(reader: &mut Reader<'_>) -> Result<(i64, i64)> {
    Ok(reader.find(TOTALS, &[], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

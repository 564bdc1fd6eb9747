//! The census in ascending order of digest: the BLOBs that documents need from other stores. A caller can merge it with
//! another list in the same order, in bounded memory.

use model::{Digest, Id, Result};

use super::blob::{BlobRow, blob_columns, read};
use crate::{Reader, params, statements};

statements! {
    NEEDED = concat!("SELECT ", blob_columns!(), " FROM blob WHERE digest > $1 AND store_id <> $2
        AND EXISTS (SELECT 1 FROM version v WHERE v.blob_id = blob.id) ORDER BY digest LIMIT $3");
    TOTAL = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blob WHERE store_id <> $1
        AND EXISTS (SELECT 1 FROM version v WHERE v.blob_id = blob.id)";
    HELD = concat!("SELECT ", blob_columns!(), " FROM blob WHERE digest > $1 AND (store_id <> $2
        OR EXISTS (SELECT 1 FROM reclaim r WHERE r.digest = blob.digest AND r.reason = 'moved')) ORDER BY digest
        LIMIT $3");
    HELD_TOTAL = "SELECT COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blob WHERE store_id <> $1
        OR EXISTS (SELECT 1 FROM reclaim r WHERE r.digest = blob.digest AND r.reason = 'moved')";
    VERSIONS = "SELECT v.id, v.node_id, b.digest, b.size, b.store_id FROM version v JOIN blob b ON b.id = v.blob_id
        WHERE v.id > $1
        ORDER BY v.id LIMIT $2";
}

/// References of versions to BLOBs in stores other than `own`, in order of digest, starting after `after`.
pub fn needed(reader: &mut Reader<'_>, after: Option<Digest>, own: Id, limit: usize) -> Result<Vec<BlobRow>> {
    let after: Vec<u8> = after.map(|digest| digest.as_bytes().to_vec()).unwrap_or_default();
    reader.query(NEEDED, &params![after, own, limit as i64], read)
}

/// Number and bytes of what [`needed`] lists.
pub fn total(reader: &mut Reader<'_>, own: Id) -> Result<(i64, i64)> {
    Ok(reader.find(TOTAL, &params![own], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// References to BLOBs in stores other than `own`, in order of digest, starting after `after`. The list includes
/// references that no version has any more. It also includes BLOBs that were moved into `own` while their old copy
/// still exists. As long as garbage collection is held back, the list is therefore complete for every version that
/// existed since the hold began.
pub fn held(reader: &mut Reader<'_>, after: Option<Digest>, own: Id, limit: usize) -> Result<Vec<BlobRow>> {
    let after: Vec<u8> = after.map(|digest| digest.as_bytes().to_vec()).unwrap_or_default();
    reader.query(HELD, &params![after, own, limit as i64], read)
}

/// Number and bytes of what [`held`] lists.
pub fn held_total(reader: &mut Reader<'_>, own: Id) -> Result<(i64, i64)> {
    Ok(reader.find(HELD_TOTAL, &params![own], |row| Ok((row.get(0)?, row.get(1)?)))?.unwrap_or((0, 0)))
}

/// A version of a document, with its BLOB.
#[derive(Clone, Copy, Debug)]
pub struct VersionBlob {
    /// The version.
    pub version_id: Id,
    /// The document.
    pub node_id: Id,
    /// Digest of its bytes.
    pub digest: Digest,
    /// Size in bytes.
    pub size: i64,
    /// The store that holds the bytes.
    pub store_id: Id,
}

/// All versions in order of identifier, starting after `after`.
pub fn versions(reader: &mut Reader<'_>, after: Id, limit: usize) -> Result<Vec<VersionBlob>> {
    reader.query(VERSIONS, &params![after, limit as i64], |row| {
        Ok(VersionBlob {
            version_id: row.get(0)?,
            node_id: row.get(1)?,
            digest: row.get(2)?,
            size: row.get(3)?,
            store_id: row.get(4)?,
        })
    })
}

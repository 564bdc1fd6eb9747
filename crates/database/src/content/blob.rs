//! References to BLOBs: which store has the bytes of a digest. The census that check, collection and migration share.

use model::{Digest, Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    FIND = "SELECT id, digest, size, store_id, locator FROM blob WHERE digest = $1";
    INSERT = "INSERT INTO blob (id, digest, size, store_id, locator, created_at) VALUES ($1, $2, $3, $4, $5, $6)
        ON CONFLICT (digest) DO NOTHING";
    MOVE = "UPDATE blob SET store_id = $2, locator = $3 WHERE id = $1";
    AFTER = "SELECT id, digest, size, store_id, locator FROM blob WHERE id > $1 ORDER BY id LIMIT $2";
    DELETE = "DELETE FROM blob WHERE id = $1";
    TOTALS = "SELECT store_id, COUNT(*), CAST(COALESCE(SUM(size), 0) AS BIGINT) FROM blob GROUP BY store_id";
    DOCUMENTS_OF = "SELECT DISTINCT n.id, n.name FROM blob b JOIN version v ON v.blob_id = b.id JOIN node n ON n.id = v.node_id
        WHERE b.digest = $1 ORDER BY n.id LIMIT $2";
}

/// A reference from the content database to a BLOB.
#[derive(Clone, Debug)]
pub struct BlobRow {
    /// Identifier of the row.
    pub id: Id,
    /// Identity of the bytes.
    pub digest: Digest,
    /// Bytes.
    pub size: i64,
    /// The store that holds them.
    pub store_id: Id,
    /// Where the store last had them.
    pub locator: Option<Vec<u8>>,
}

fn read(row: &Row<'_>) -> Result<BlobRow> {
    Ok(BlobRow { id: row.get(0)?, digest: row.get(1)?, size: row.get(2)?, store_id: row.get(3)?, locator: row.get(4)? })
}

/// The reference to these bytes, if there is one.
pub fn find(reader: &mut Reader<'_>, digest: &Digest) -> Result<Option<BlobRow>> {
    reader.find(FIND, &params![*digest], read)
}

/// Adds the reference, or finds the one that is there; the row that stands afterwards is returned.
pub fn insert(transaction: &mut Transaction<'_>, row: &BlobRow, now: Timestamp) -> Result<BlobRow> {
    let values = params![row.id, row.digest, row.size, row.store_id, row.locator.as_deref(), now];
    if transaction.execute(INSERT, &values)? == 1 {
        return Ok(row.clone());
    }
    let present = transaction.find(FIND, &params![row.digest], read)?;
    present.ok_or_else(|| model::Error::unavailable("the BLOB's row was removed while it was being used; try again"))
}

/// Notes that the bytes are in another store or place now.
pub fn relocate(transaction: &mut Transaction<'_>, id: Id, store: Id, locator: Option<&[u8]>) -> Result<()> {
    transaction.execute(MOVE, &params![id, store, locator]).map(drop)
}

/// References by identifier, behind `after`, in bounded pages.
pub fn after(reader: &mut Reader<'_>, after: Id, limit: usize) -> Result<Vec<BlobRow>> {
    reader.query(AFTER, &params![after, limit as i64], read)
}

/// Removes a reference.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// For each store: its identifier, the number of BLOBs that this database has there, and their bytes.
pub fn totals(reader: &mut Reader<'_>) -> Result<Vec<(Id, i64, i64)>> {
    reader.query(TOTALS, &[], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
}

/// Documents that have a version with these bytes: identifiers and names, at most `limit`.
pub fn documents_of(reader: &mut Reader<'_>, digest: &Digest, limit: usize) -> Result<Vec<(Id, String)>> {
    reader.query(DOCUMENTS_OF, &params![*digest, limit as i64], |row| Ok((row.get(0)?, row.get(1)?)))
}

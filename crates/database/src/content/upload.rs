//! Resumable uploads in progress.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    FIND = "SELECT id, owner_id, collection_id, parent_id, name, length, metadata, node_id, expires_at FROM
        resumable_upload
        WHERE id = $1";
    INSERT = "INSERT INTO resumable_upload (id, owner_id, collection_id, parent_id, name, length, metadata, created_at,
        expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    COMPLETE = "UPDATE resumable_upload SET node_id = $2 WHERE id = $1";
    DELETE = "DELETE FROM resumable_upload WHERE id = $1";
    EXPIRED = "SELECT id, owner_id, collection_id, parent_id, name, length, metadata, node_id, expires_at FROM
        resumable_upload
        WHERE expires_at < $1 ORDER BY expires_at LIMIT 1000";
    COUNT = "SELECT COUNT(*) FROM resumable_upload WHERE owner_id = $1 AND node_id IS NULL";
    ANNOUNCED = "SELECT length FROM resumable_upload WHERE owner_id = $1 AND node_id IS NULL";
}

/// An upload that is in progress or was completed recently.
#[derive(Clone, Debug)]
pub struct UploadRow {
    /// Random identifier, part of its URL.
    pub id: String,
    /// The user who began the upload. No other user may continue it.
    pub owner_id: Id,
    /// The site collection.
    pub collection_id: Id,
    /// The library or folder that will hold the document.
    pub parent_id: Id,
    /// The document's name.
    pub name: String,
    /// Announced length in bytes.
    pub length: i64,
    /// The client's metadata, verbatim.
    pub metadata: String,
    /// The resulting document, once the upload is complete.
    pub node_id: Option<Id>,
    /// Time at which it is removed.
    pub expires_at: Timestamp,
}

fn read(row: &Row<'_>) -> Result<UploadRow> {
    Ok(UploadRow {
        id: row.get(0)?,
        owner_id: row.get(1)?,
        collection_id: row.get(2)?,
        parent_id: row.get(3)?,
        name: row.get(4)?,
        length: row.get(5)?,
        metadata: row.get(6)?,
        node_id: row.get(7)?,
        expires_at: row.get(8)?,
    })
}

/// The upload with this identifier.
pub fn find(reader: &mut Reader<'_>, id: &str) -> Result<Option<UploadRow>> {
    reader.find(FIND, &params![id], read)
}

/// Adds an upload.
pub fn insert(transaction: &mut Transaction<'_>, upload: &UploadRow, now: Timestamp) -> Result<()> {
    let values = params![
        &upload.id,
        upload.owner_id,
        upload.collection_id,
        upload.parent_id,
        &upload.name,
        upload.length,
        &upload.metadata,
        now,
        upload.expires_at
    ];
    transaction.execute(INSERT, &values).map(drop)
}

/// Records the document that resulted from an upload.
pub fn complete(transaction: &mut Transaction<'_>, id: &str, node: Id) -> Result<()> {
    transaction.execute(COMPLETE, &params![id, node]).map(drop)
}

/// Deletes the record of an upload.
pub fn delete(transaction: &mut Transaction<'_>, id: &str) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// Uploads that have expired.
pub fn expired(reader: &mut Reader<'_>, now: Timestamp) -> Result<Vec<UploadRow>> {
    reader.query(EXPIRED, &params![now], read)
}

/// Number of a user's uploads in progress, without completed ones.
pub fn count(reader: &mut Reader<'_>, owner: Id) -> Result<i64> {
    Ok(reader.find(COUNT, &params![owner], |row| row.get(0))?.unwrap_or(0))
}

/// Total announced length of a user's uploads in progress.
pub fn announced(reader: &mut Reader<'_>, owner: Id) -> Result<i64> {
    let lengths = reader.query(ANNOUNCED, &params![owner], |row| row.get::<i64>(0))?;
    Ok(lengths.into_iter().fold(0, i64::saturating_add))
}

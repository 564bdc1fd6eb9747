//! Resumable uploads that are under way.

use model::{Id, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

statements! {
    FIND = "SELECT id, owner_id, collection_id, parent_id, name, length, metadata, node_id, expires_at FROM resumable_upload
        WHERE id = $1";
    INSERT = "INSERT INTO resumable_upload (id, owner_id, collection_id, parent_id, name, length, metadata, created_at,
        expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    COMPLETE = "UPDATE resumable_upload SET node_id = $2 WHERE id = $1";
    DELETE = "DELETE FROM resumable_upload WHERE id = $1";
    EXPIRED = "SELECT id, owner_id, collection_id, parent_id, name, length, metadata, node_id, expires_at FROM resumable_upload
        WHERE expires_at < $1 ORDER BY expires_at LIMIT 1000";
    COUNT = "SELECT COUNT(*) FROM resumable_upload WHERE owner_id = $1 AND node_id IS NULL";
    ANNOUNCED = "SELECT length FROM resumable_upload WHERE owner_id = $1 AND node_id IS NULL";
}

/// An upload that is under way, or was completed a short time ago.
#[derive(Clone, Debug)]
pub struct UploadRow {
    /// Random identifier, part of its URL.
    pub id: String,
    /// Who began it; nobody else may go on.
    pub owner_id: Id,
    /// The site collection.
    pub collection_id: Id,
    /// The library or folder that will hold the document.
    pub parent_id: Id,
    /// The document's name.
    pub name: String,
    /// Announced length in bytes.
    pub length: i64,
    /// The client's metadata as it came.
    pub metadata: String,
    /// The document that came of it, once complete.
    pub node_id: Option<Id>,
    /// When it is forgotten.
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

/// Notes the document that came of an upload.
pub fn complete(transaction: &mut Transaction<'_>, id: &str, node: Id) -> Result<()> {
    transaction.execute(COMPLETE, &params![id, node]).map(drop)
}

/// Forgets an upload.
pub fn delete(transaction: &mut Transaction<'_>, id: &str) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// Uploads whose time is over.
pub fn expired(reader: &mut Reader<'_>, now: Timestamp) -> Result<Vec<UploadRow>> {
    reader.query(EXPIRED, &params![now], read)
}

/// Number of uploads that a user has under way, without those that are complete.
pub fn count(reader: &mut Reader<'_>, owner: Id) -> Result<i64> {
    Ok(reader.find(COUNT, &params![owner], |row| row.get(0))?.unwrap_or(0))
}

/// Bytes that the uploads of a user which are under way have when they are complete.
pub fn announced(reader: &mut Reader<'_>, owner: Id) -> Result<i64> {
    let lengths = reader.query(ANNOUNCED, &params![owner], |row| row.get::<i64>(0))?;
    Ok(lengths.into_iter().fold(0, i64::saturating_add))
}

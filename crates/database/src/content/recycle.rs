//! Entries of the recycle bins: one for each deletion, regardless of how much was below the deleted item.

use model::{Id, NodeKind, RecycleStage, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

/// The columns that [`read`] expects, in its order.
macro_rules! columns {
    () => {
        "id, collection_id, node_id, parent_id, library_id, scope_id, kind, name, path, stage, size, documents,
        deleted_at, deleted_by"
    };
}

statements! {
    INSERT = concat!("INSERT INTO recycled (", columns!(),
        ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)");
    FIND = concat!("SELECT ", columns!(), " FROM recycled WHERE id = $1");
    OF_PERSON = concat!("SELECT ", columns!(), " FROM recycled
        WHERE collection_id = $1 AND deleted_by = $2 AND stage = 'person' AND id < $3 ORDER BY id DESC LIMIT $4");
    OF_SITE = concat!("SELECT ", columns!(),
        " FROM recycled WHERE collection_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3");
    TO_SITE = "UPDATE recycled SET stage = 'site' WHERE id = $1";
    DELETE = "DELETE FROM recycled WHERE id = $1";
    EXPIRED = concat!("SELECT ", columns!(), " FROM recycled WHERE deleted_at < $1 ORDER BY id LIMIT $2");
}

/// One deletion in a recycle bin.
#[derive(Clone, Debug)]
pub struct RecycledRow {
    /// Identifier. It is also the parent of the deleted item as long as the item is in the bin.
    pub id: Id,
    /// The site collection.
    pub collection_id: Id,
    /// The deleted item.
    pub node_id: Id,
    /// Former location.
    pub parent_id: Id,
    /// The original library.
    pub library_id: Id,
    /// The original scope. A user who could not see the item before cannot see it in the bin.
    pub scope_id: Id,
    /// Its kind.
    pub kind: NodeKind,
    /// Name of the deleted item.
    pub name: String,
    /// Original path in the site collection, for display.
    pub path: String,
    /// The bin that the entry is in.
    pub stage: RecycleStage,
    /// Total bytes of all its versions.
    pub size: i64,
    /// Number of documents.
    pub documents: i64,
    /// Time of the deletion.
    pub deleted_at: Timestamp,
    /// User who deleted it.
    pub deleted_by: Id,
}

fn read(row: &Row<'_>) -> Result<RecycledRow> {
    Ok(RecycledRow {
        id: row.get(0)?,
        collection_id: row.get(1)?,
        node_id: row.get(2)?,
        parent_id: row.get(3)?,
        library_id: row.get(4)?,
        scope_id: row.get(5)?,
        kind: row.get(6)?,
        name: row.get(7)?,
        path: row.get(8)?,
        stage: row.get(9)?,
        size: row.get(10)?,
        documents: row.get(11)?,
        deleted_at: row.get(12)?,
        deleted_by: row.get(13)?,
    })
}

/// Adds an entry.
pub fn insert(transaction: &mut Transaction<'_>, entry: &RecycledRow) -> Result<()> {
    let values = params![
        entry.id,
        entry.collection_id,
        entry.node_id,
        entry.parent_id,
        entry.library_id,
        entry.scope_id,
        entry.kind,
        &entry.name,
        &entry.path,
        entry.stage,
        entry.size,
        entry.documents,
        entry.deleted_at,
        entry.deleted_by
    ];
    transaction.execute(INSERT, &values).map(drop)
}

/// The entry with this identifier.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<RecycledRow>> {
    reader.find(FIND, &params![id], read)
}

/// Entries of a user's personal bin older than `before`, newest first.
pub fn of_person(
    reader: &mut Reader<'_>,
    collection: Id,
    person: Id,
    before: Option<Id>,
    limit: usize,
) -> Result<Vec<RecycledRow>> {
    let before = before.unwrap_or(Id::new(i64::MAX));
    reader.query(OF_PERSON, &params![collection, person, before, limit as i64], read)
}

/// Entries of all bins in a site collection older than `before`, newest first.
pub fn of_site(reader: &mut Reader<'_>, collection: Id, before: Option<Id>, limit: usize) -> Result<Vec<RecycledRow>> {
    let before = before.unwrap_or(Id::new(i64::MAX));
    reader.query(OF_SITE, &params![collection, before, limit as i64], read)
}

/// Moves an entry from the personal bin to the site's bin.
pub fn to_site(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(TO_SITE, &params![id]).map(drop)
}

/// Removes an entry.
pub fn delete(transaction: &mut Transaction<'_>, id: Id) -> Result<()> {
    transaction.execute(DELETE, &params![id]).map(drop)
}

/// Entries deleted before `time`, oldest first.
pub fn expired(reader: &mut Reader<'_>, time: Timestamp, limit: usize) -> Result<Vec<RecycledRow>> {
    reader.query(EXPIRED, &params![time, limit as i64], read)
}

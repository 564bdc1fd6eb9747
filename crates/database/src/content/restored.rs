//! What a content database that comes from a backup must forget or have put right before it is used.

use model::{Id, Result};

use crate::{Reader, Transaction, params, statements};

statements! {
    DROP_UNREFERENCED = "DELETE FROM blob WHERE store_id <> $1 AND NOT EXISTS (SELECT 1 FROM version v WHERE v.blob_id = blob.id)";
    DROP_RECLAIM = "DELETE FROM reclaim";
    DROP_UPLOADS = "DELETE FROM resumable_upload";
    STORES = "SELECT DISTINCT store_id FROM blob ORDER BY store_id";
    MOVE_ALL = "UPDATE blob SET store_id = $2, locator = NULL WHERE store_id = $1";
    COLLECTIONS = "SELECT id FROM collection ORDER BY id";
}

/// Forgets references that no version has (a backup has no bytes for them), copies that waited for deletion and uploads
/// that were under way; `own` is the store of what lies in the database itself.
pub fn forget(transaction: &mut Transaction<'_>, own: Id) -> Result<u64> {
    let dropped = transaction.execute(DROP_UNREFERENCED, &params![own])?;
    transaction.execute(DROP_RECLAIM, &[])?;
    transaction.execute(DROP_UPLOADS, &[])?;
    Ok(dropped)
}

/// The stores that the database refers to.
pub fn stores(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(STORES, &[], |row| row.get(0))
}

/// Lets all references to one store lead to another.
pub fn move_all(transaction: &mut Transaction<'_>, from: Id, to: Id) -> Result<u64> {
    transaction.execute(MOVE_ALL, &params![from, to])
}

/// The site collections that are in the database.
pub fn collections(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(COLLECTIONS, &[], |row| row.get(0))
}

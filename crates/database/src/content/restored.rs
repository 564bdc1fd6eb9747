//! Corrections to a content database that was restored from a backup, made before it is used.

use model::{Id, Result};

use crate::{Reader, Transaction, params, statements};

statements! {
    DROP_UNREFERENCED = "DELETE FROM blob WHERE store_id <> $1 AND NOT EXISTS (SELECT 1 FROM version v WHERE
        v.blob_id = blob.id)";
    DROP_RECLAIM = "DELETE FROM reclaim";
    OPEN_STORES = "DELETE FROM removed_store";
    DROP_UPLOADS = "DELETE FROM resumable_upload";
    STORES = "SELECT DISTINCT store_id FROM blob ORDER BY store_id";
    MOVE_ALL = "UPDATE blob SET store_id = $2, locator = NULL WHERE store_id = $1";
    COLLECTIONS = "SELECT id FROM collection ORDER BY id";
}

/// Deletes references without a version (a backup has no bytes for them), quarantined copies, the records of stores
/// closed for a removal, and unfinished uploads. References into `own`, the database's own store, stay. Returns the
/// number of references deleted.
pub fn drop_unrestorable(transaction: &mut Transaction<'_>, own: Id) -> Result<u64> {
    let dropped = transaction.execute(DROP_UNREFERENCED, &params![own])?;
    transaction.execute(DROP_RECLAIM, &[])?;
    transaction.execute(OPEN_STORES, &[])?;
    transaction.execute(DROP_UPLOADS, &[])?;
    Ok(dropped)
}

/// The stores that the database refers to.
pub fn stores(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(STORES, &[], |row| row.get(0))
}

/// Points all references to one store at another.
pub fn move_all(transaction: &mut Transaction<'_>, from: Id, to: Id) -> Result<u64> {
    transaction.execute(MOVE_ALL, &params![from, to])
}

/// The site collections in the database.
pub fn collections(reader: &mut Reader<'_>) -> Result<Vec<Id>> {
    reader.query(COLLECTIONS, &[], |row| row.get(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Schema;
    use crate::content::deletion_queue;
    use crate::testing::each_engine;

    #[tokio::test(flavor = "multi_thread")]
    async fn what_comes_from_a_backup_refuses_no_store() {
        each_engine(Schema::Content, |database| async move {
            let (own, store) = (Id::new(1), Id::new(7));
            let digest = model::Digest::new([7; 32]);
            database.write(move |transaction| deletion_queue::close_store(transaction, store)).await.unwrap();
            database.write(move |transaction| drop_unrestorable(transaction, own)).await.unwrap();
            assert!(database.read(deletion_queue::closed_stores).await.unwrap().is_empty());
            let look = move |transaction: &mut Transaction<'_>| {
                deletion_queue::require_not_deleting(transaction, store, &digest).map(drop)
            };
            database.write(look).await.unwrap();
        })
        .await;
    }
}

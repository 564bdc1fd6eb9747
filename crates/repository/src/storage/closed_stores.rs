//! Reopening of stores that a content database refuses although the farm keeps them. The database was absent when the
//! store was activated, or could not be written when a removal was abandoned.

use async_recursion::async_recursion as boxed;
use database::configuration::farm;
use database::content::deletion_queue;
use database::{Database, Reader};
use model::{Id, Result};

use crate::farm::repository::Inner;
use crate::storage::store_states::STORES_LOCK;
use crate::{Storage, StorageDatabase};

impl Inner {
    /// Makes a content database accept references again to stores that the farm keeps and that no removal is
    /// processing. If a change of stores is running elsewhere, this is left to the next call.
    pub(crate) async fn reopen_kept_stores(&self, name: &str, database: &Database) -> Result<()> {
        if self.kept_and_closed(database).await?.is_empty() {
            return Ok(());
        }
        // Without this lock, a store could be reopened while a removal that has just begun is closing it.
        let Some(stores_lock) = self.configuration.try_exclusive(STORES_LOCK).await? else { return Ok(()) };
        for store in self.kept_and_closed(database).await? {
            stores_lock.require().await?;
            database.write_vital(move |transaction| deletion_queue::reopen_store(transaction, store)).await?;
            tracing::info!(
                database = name,
                store = store.get(),
                "a content database takes references to a store again"
            );
        }
        stores_lock.release().await;
        Ok(())
    }

    /// Returns the stores that a content database refuses although the farm knows them and has no running or
    /// interrupted removal for them.
    async fn kept_and_closed(&self, database: &Database) -> Result<Vec<Id>> {
        let closed = database.read(deletion_queue::closed_stores).await?;
        if closed.is_empty() {
            return Ok(closed);
        }
        let keep = move |reader: &mut Reader<'_>| {
            let known = farm::stores(reader)?;
            let mut kept = Vec::new();
            for store in closed {
                if known.iter().any(|row| row.id == store) && farm::removal(reader, store)?.is_none() {
                    kept.push(store);
                }
            }
            Ok(kept)
        };
        self.configuration.read(keep).await
    }
}

impl Storage {
    /// Makes the content databases accept references again to stores that the farm keeps. Failures are logged.
    ///
    /// # Errors
    /// Those of finding the databases.
    #[boxed]
    pub async fn reopen_kept_stores(&self) -> Result<()> {
        for StorageDatabase { name, database, .. } in self.databases()? {
            if let Err(error) = self.repository.inner.reopen_kept_stores(&name, &database).await {
                tracing::warn!(
                    database = name,
                    error = error.report(),
                    "closed stores cannot be compared with the farm"
                );
            }
        }
        Ok(())
    }
}

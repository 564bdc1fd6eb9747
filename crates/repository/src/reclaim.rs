//! What waits to be deleted, and since when.

use database::content::blob;
use database::content::reclaim::{self, Pending};
use model::{Result, Timestamp};

use crate::Session;

/// What waits to be deleted.
#[derive(Clone, Debug)]
pub struct PendingReclaim {
    /// Name of the content database that knows of it.
    pub database: String,
    /// Name of the store that it lies in; empty for what still has its reference, in whichever store.
    pub store: String,
    /// `unreferenced` (no document has it), `deleted`, `moved` or `orphan`.
    pub reason: String,
    /// BLOBs.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Since when the oldest of them waits.
    pub since: Timestamp,
}

impl Session {
    /// Everything that waits to be deleted, and since when.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn pending_reclaim(&self) -> Result<Vec<PendingReclaim>> {
        let storage = self.storage().await?;
        let mut pending = Vec::new();
        for database in storage.databases()? {
            let (blobs, bytes, since) = database.database.read_long(blob::marked).await?;
            if let Some(since) = since {
                pending.push(PendingReclaim {
                    database: database.name.clone(),
                    store: String::new(),
                    reason: "unreferenced".to_owned(),
                    blobs: blobs.max(0) as u64,
                    bytes: bytes.max(0) as u64,
                    since,
                });
            }
            for Pending { store_id, reason, blobs, bytes, since } in
                database.database.read_long(reclaim::totals).await?
            {
                pending.push(PendingReclaim {
                    database: database.name.clone(),
                    store: storage.store_name(store_id),
                    reason,
                    blobs: blobs.max(0) as u64,
                    bytes: bytes.max(0) as u64,
                    since,
                });
            }
        }
        Ok(pending)
    }
}

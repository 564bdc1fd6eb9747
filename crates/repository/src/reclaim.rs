//! What waits to be deleted: since when, until when, and what holds it back.

use std::time::Duration;

use database::configuration::backup;
use database::content::blob;
use database::content::reclaim::{self, Pending, reason};
use model::{Result, Timestamp};

use crate::jobs::{DEFAULT_WINDOW_DAYS, QUARANTINE_DAYS};
use crate::{Session, Storage};

/// A backup that gave no sign of life for so long has died.
const BACKUP_ALIVE: Duration = Duration::from_secs(600);
/// What still has its reference, which no version has.
const UNREFERENCED: &str = "unreferenced";

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
    /// From when on a collection with the usual windows deletes the oldest of them.
    pub due: Timestamp,
    /// Whether a backup that runs, or is kept without a copy of the BLOBs, still needs all of them.
    pub held: bool,
}

impl Session {
    /// Everything that waits to be deleted, and since when.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn pending_reclaim(&self) -> Result<Vec<PendingReclaim>> {
        let storage = self.storage().await?;
        let held = storage.held_since().await?;
        let mut found = Vec::new();
        for database in storage.databases()? {
            let pending = |store: String, reason: &str, blobs: i64, bytes: i64, since: Timestamp| PendingReclaim {
                database: database.name.clone(),
                store,
                reason: reason.to_owned(),
                blobs: crate::view::size(blobs),
                bytes: crate::view::size(bytes),
                since,
                due: since.after(window(reason)),
                held: held.is_some_and(|held| since >= held),
            };
            let (blobs, bytes, since) = database.database.read_long(blob::marked).await?;
            found.extend(since.map(|since| pending(String::new(), UNREFERENCED, blobs, bytes, since)));
            for Pending { store_id, reason, blobs, bytes, since } in
                database.database.read_long(reclaim::totals).await?
            {
                found.push(pending(storage.store_name(store_id), &reason, blobs, bytes, since));
            }
        }
        Ok(found)
    }
}

/// How long a collection with the usual settings keeps what waits for this reason.
fn window(why: &str) -> Duration {
    let days = match why {
        UNREFERENCED => DEFAULT_WINDOW_DAYS,
        reason::ORPHAN => QUARANTINE_DAYS,
        _ => 0,
    };
    Duration::from_secs(u64::from(days) * 24 * 60 * 60)
}

impl Storage {
    /// What was referred to at this time is kept for a backup that runs, or that holds no copy of it; none when there is no
    /// such backup.
    pub async fn held_since(&self) -> Result<Option<Timestamp>> {
        let alive = Timestamp::now().before(BACKUP_ALIVE);
        self.configuration().read(move |reader| backup::holds_since(reader, alive)).await
    }
}

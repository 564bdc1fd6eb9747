//! What waits to be deleted: since when, until when, and what holds it back.

use std::time::Duration;

use database::Reader;
use database::configuration::backup;
use database::content::blob;
use database::content::reclaim::{self, Pending, reason};
use model::{Code, Error, Id, Result, Timestamp};

use crate::jobs::{DEFAULT_WINDOW_DAYS, QUARANTINE_DAYS};
use crate::{DATABASE_STORE, Session, Storage};

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

/// A backup that keeps BLOBs from being deleted, because it runs, or is kept without a copy of them.
#[derive(Clone, Debug)]
pub struct BackupHold {
    /// Identifier of the set.
    pub id: Id,
    /// Where it is, as the farm noted it when it was taken.
    pub destination: String,
    /// The point in time that it shows.
    pub as_of: Timestamp,
    /// Whether it runs at this moment, or was killed while it ran and still holds back what it needed.
    pub is_running: bool,
    /// When a running one holds nothing back any more, unless it gives another sign of life before.
    pub lapses_at: Option<Timestamp>,
    /// BLOBs that wait to be deleted and that it needs. What several backups need is counted for each.
    pub blobs: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// A backup as the farm remembers it.
#[derive(Clone, Debug)]
pub struct NotedBackup {
    /// Identifier of the set.
    pub id: Id,
    /// Where it is, as the farm noted it when it was taken.
    pub destination: String,
    /// The point in time that it shows.
    pub as_of: Timestamp,
}

impl Session {
    /// The backups that keep BLOBs from being deleted, oldest first.
    ///
    /// Errors: `Forbidden` for others than farm administrators.
    pub async fn backup_holds(&self) -> Result<Vec<BackupHold>> {
        self.storage().await?.backup_holds().await
    }

    /// A backup that the farm counts as kept.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound`; `Conflict` with code `backup_not_kept` when it runs, failed
    /// or is gone already.
    pub async fn kept_backup(&self, id: Id) -> Result<NotedBackup> {
        let storage = self.storage().await?;
        let row = storage.configuration().read(move |reader| backup::find(reader, id)).await?;
        let row = row.ok_or_else(|| {
            Error::not_found(format!(
                "this farm knows of no backup {id}: `strongroom blobs status` names those that hold something back"
            ))
        })?;
        let why = match row.state.as_str() {
            "kept" => return Ok(NotedBackup { id, destination: row.destination, as_of: row.started_at }),
            "running" => {
                "has not ended: one that was cut short holds nothing back ten minutes after its last sign of life"
            }
            "removed" => "is forgotten already, or was removed from its place: it holds nothing back",
            _ => "failed: it holds nothing back",
        };
        Err(Error::conflict(format!("the backup {id} {why}")).with_code(Code::BackupNotKept))
    }

    /// Everything that waits to be deleted, and since when, but for what is in a database of
    /// [`Session::databases_away`].
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
                blobs: model::unsigned(blobs),
                bytes: model::unsigned(bytes),
                since,
                due: since.after(window(reason)),
                held: held.is_some_and(|held| since >= held),
            };
            let read = |reader: &mut Reader<'_>| Ok((blob::marked(reader)?, reclaim::totals(reader)?));
            let ((blobs, bytes, since), totals) = match database.database.read_long(read).await {
                // It is named as a whole.
                Err(_) if database.database.damage().is_some() => continue,
                read => read?,
            };
            found.extend(since.map(|since| pending(String::new(), UNREFERENCED, blobs, bytes, since)));
            for Pending { store_id, reason, blobs, bytes, since } in totals {
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

    /// The backups that keep BLOBs from being deleted, oldest first.
    ///
    /// # Errors
    /// None but those of the databases.
    pub async fn backup_holds(&self) -> Result<Vec<BackupHold>> {
        let alive = Timestamp::now().before(BACKUP_ALIVE);
        let rows = self.configuration().read(move |reader| backup::holding(reader, alive)).await?;
        let mut holds = Vec::with_capacity(rows.len());
        for row in rows {
            let (mut blobs, mut bytes, since) = (0, 0, row.started_at);
            for database in self.databases()? {
                let count = move |reader: &mut Reader<'_>| {
                    Ok([
                        blob::count_marked_since(reader, since)?,
                        // What lies in a database itself is in each backup of that database.
                        reclaim::count_since(reader, since, DATABASE_STORE)?,
                    ])
                };
                let counted = match database.database.read_long(count).await {
                    Err(_) if database.database.damage().is_some() => continue,
                    counted => counted?,
                };
                for (count, size) in counted {
                    blobs += model::unsigned(count);
                    bytes += model::unsigned(size);
                }
            }
            let is_running = row.state == "running";
            holds.push(BackupHold {
                id: row.id,
                destination: row.destination,
                as_of: since,
                is_running,
                lapses_at: is_running.then(|| row.seen_at.after(BACKUP_ALIVE)),
                blobs,
                bytes,
            });
        }
        Ok(holds)
    }
}

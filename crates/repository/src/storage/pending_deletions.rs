//! Pending deletions of BLOBs: since when they are pending, when they are due, and what delays them.

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::configuration::backup;
use database::content::blob;
use database::content::deletion_queue::{self, Pending};
use model::{BackupState, Code, Error, Id, PendingReason, Result, Timestamp};

use crate::jobs::{DEFAULT_WINDOW_DAYS, QUARANTINE_DAYS};
use crate::{DATABASE_STORE, Session, Storage};

/// A group of BLOBs that are pending deletion.
#[derive(Clone, Debug)]
pub struct PendingReclaim {
    /// Name of the content database that records them.
    pub database: String,
    /// Name of the store that holds them; empty for BLOBs that still have a reference, in any store.
    pub store: String,
    /// The reason.
    pub reason: PendingReason,
    /// Number of BLOBs.
    pub blobs: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Time since which the oldest of them has been pending.
    pub since: Timestamp,
    /// Time from which a collection with the default windows deletes the oldest of them.
    pub due: Timestamp,
    /// Set when a backup that is running, or is kept without a copy of the BLOBs, still needs all of them.
    pub held: bool,
}

/// A backup that delays the deletion of BLOBs, because it is running or is kept without a copy of them.
#[derive(Clone, Debug)]
pub struct BackupHold {
    /// Identifier of the backup set.
    pub id: Id,
    /// Location of the backup, as recorded when it was taken.
    pub destination: String,
    /// The point in time that the backup represents.
    pub as_of: Timestamp,
    /// Set when it is running, or was killed while running and still delays deletions.
    pub is_running: bool,
    /// Time at which a running backup stops delaying deletions, unless it sends another heartbeat before.
    pub lapses_at: Option<Timestamp>,
    /// Pending BLOBs that the backup needs. BLOBs needed by several backups count for each.
    pub blobs: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// A backup as recorded by the farm.
#[derive(Clone, Debug)]
pub struct NotedBackup {
    /// Identifier of the backup set.
    pub id: Id,
    /// Location of the backup, as recorded when it was taken.
    pub destination: String,
    /// The point in time that the backup represents.
    pub as_of: Timestamp,
}

impl Session {
    /// Returns the backups that delay the deletion of BLOBs, oldest first.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn backup_holds(&self) -> Result<Vec<BackupHold>> {
        self.storage().await?.backup_holds().await
    }

    /// Returns a backup that is recorded as kept.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`; `Conflict` with code `backup_not_kept` when
    /// it is running, failed or was already removed.
    #[boxed]
    pub async fn kept_backup(&self, id: Id) -> Result<NotedBackup> {
        let storage = self.storage().await?;
        let row = storage.configuration().read(move |reader| backup::find(reader, id)).await?;
        let row = row.ok_or_else(|| {
            Error::not_found(format!(
                "this farm has no record of a backup {id}: `strongroom blobs status` lists the backups that hold \
                 something back"
            ))
        })?;
        let why = match row.state {
            BackupState::Kept => return Ok(NotedBackup { id, destination: row.destination, as_of: row.started_at }),
            BackupState::Running => {
                "has not ended: a backup that was interrupted holds nothing back ten minutes after its last sign of \
                 life"
            }
            BackupState::Removed => "is already forgotten, or was removed from its destination: it holds nothing back",
            BackupState::Failed => "failed: it holds nothing back",
        };
        Err(Error::conflict(format!("the backup {id} {why}")).with_code(Code::BackupNotKept))
    }

    /// Returns all pending deletions, except those in the databases listed by [`Session::databases_away`].
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn pending_reclaim(&self) -> Result<Vec<PendingReclaim>> {
        let storage = self.storage().await?;
        let held = storage.held_since().await?;
        let mut found = Vec::new();
        for database in storage.databases()? {
            let pending =
                |store: String, reason: PendingReason, blobs: i64, bytes: i64, since: Timestamp| PendingReclaim {
                    database: database.name.clone(),
                    store,
                    reason,
                    blobs: model::unsigned(blobs),
                    bytes: model::unsigned(bytes),
                    since,
                    due: since.after(window(reason)),
                    held: held.is_some_and(|held| since >= held),
                };
            let read = |reader: &mut Reader<'_>| Ok((blob::marked(reader)?, deletion_queue::totals(reader)?));
            let ((blobs, bytes, since), totals) = match database.database.read_long(read).await {
                // A damaged database is reported as a whole.
                Err(_) if database.database.damage().is_some() => continue,
                read => read?,
            };
            found.extend(since.map(|since| pending(String::new(), PendingReason::Unreferenced, blobs, bytes, since)));
            for Pending { store_id, reason, blobs, bytes, since } in totals {
                found.push(pending(storage.store_name(store_id), reason.into(), blobs, bytes, since));
            }
        }
        Ok(found)
    }
}

/// Returns the default time for which a collection keeps BLOBs that are pending for this reason.
fn window(why: PendingReason) -> Duration {
    let days = match why {
        PendingReason::Unreferenced => DEFAULT_WINDOW_DAYS,
        PendingReason::Orphan => QUARANTINE_DAYS,
        PendingReason::Deleted | PendingReason::Moved => 0,
    };
    Duration::from_secs(u64::from(days) * 24 * 60 * 60)
}

impl Storage {
    /// Returns the time from which deletions are delayed. BLOBs still referred to at this time are kept for a backup
    /// that is running or holds no copy of them; `None` when there is no such backup.
    #[boxed]
    pub async fn held_since(&self) -> Result<Option<Timestamp>> {
        let alive = Timestamp::now().before(backup::ALIVE);
        self.configuration().read(move |reader| backup::holds_since(reader, alive)).await
    }

    /// Returns the backups that delay the deletion of BLOBs, oldest first.
    ///
    /// # Errors
    /// Only those of the databases.
    #[boxed]
    pub async fn backup_holds(&self) -> Result<Vec<BackupHold>> {
        let alive = Timestamp::now().before(backup::ALIVE);
        let rows = self.configuration().read(move |reader| backup::holding(reader, alive)).await?;
        let mut holds = Vec::with_capacity(rows.len());
        for row in rows {
            let (mut blobs, mut bytes, since) = (0, 0, row.started_at);
            for database in self.databases()? {
                let count = move |reader: &mut Reader<'_>| {
                    Ok([
                        blob::count_marked_since(reader, since)?,
                        // BLOBs inside a database are in every backup of that database.
                        deletion_queue::count_since(reader, since, DATABASE_STORE)?,
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
            let is_running = row.state == BackupState::Running;
            holds.push(BackupHold {
                id: row.id,
                destination: row.destination,
                as_of: since,
                is_running,
                lapses_at: is_running.then(|| row.seen_at.after(backup::ALIVE)),
                blobs,
                bytes,
            });
        }
        Ok(holds)
    }
}

//! Course of one backup: its record in the farm, heartbeats, the databases, the BLOBs, the manifest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use blobs::digest_of;
use database::Transaction;
use database::configuration::backup::{self, Ended};
use database::configuration::farm::StoreRow;
use futures_util::future::BoxFuture;
use model::{BackupState, Error, Id, Result, Timestamp};
use repository::{Session, Storage};

use super::census::{Census, State};
use super::clusters::Clusters;
use super::copying::{Copied, Copying};
use super::databases::{Snapshots, attribute_copy_error, name_source_error, store_files};
use super::options::{BackupOptions, PostgresMethod};
use crate::Progress;
use crate::backup::format::list::List;
use crate::backup::format::manifest::{Manifest, StorePart};
use crate::backup::keep::prune::{self, Pruned};
use crate::backup::place::TemporaryDirectory;
use crate::backup::place::destination::Destination;
use crate::backup::place::location::BackupLocation;

/// Heartbeat interval of a running backup.
const SIGN_OF_LIFE: Duration = Duration::from_secs(30);

/// Result of a backup.
#[derive(Clone, Debug)]
pub struct BackupSummary {
    /// Identifier of the backup set.
    pub id: Id,
    /// Start of the backup. Every change that was acknowledged before is in the set.
    pub started_at: Timestamp,
    /// Number of databases, including the configuration database, and their total bytes.
    pub databases: (u64, u64),
    /// Number of BLOBs outside of databases, and their total bytes.
    pub blobs: (u64, u64),
    /// Bytes that a restore of the set brings back.
    pub bytes: u64,
    /// Bytes that the set added to the destination.
    pub new_bytes: u64,
    /// Number of BLOBs whose loss had been accepted, so that the set has none of their bytes.
    pub lost: u64,
    /// Result of pruning afterwards, if requested.
    pub pruned: Option<Pruned>,
    /// Error of pruning. The backup is complete nevertheless.
    pub prune_error: Option<String>,
}

/// Makes a backup of the whole farm while the farm is in use.
///
/// # Errors
/// `Forbidden` for callers other than farm administrators; `Conflict` when the destination is in use, belongs to
/// another farm or is a part of the farm itself; `Corrupt`, naming the documents whose bytes are missing; `Exhausted`
/// when the destination is full. After an error there is no new set, and the next backup reuses the objects that were
/// stored.
pub fn backup<'a>(
    session: &'a Session,
    options: &'a BackupOptions,
    progress: Arc<Progress>,
) -> BoxFuture<'a, Result<BackupSummary>> {
    Box::pin(async move {
        let storage = session.storage().await?;
        // A set that lacks one of the databases could displace a complete set when pruning, so an unavailable database
        // is an error.
        storage.all_databases()?;
        let place = options.destination.require_separate(&storage).await?;
        let known = kept_in(&storage, &place).await?;
        let key_file = options.key_file.as_deref();
        let destination = Destination::create_or_open(&place, storage.farm_id(), key_file, &known).await?;
        let set = storage.next_id();
        let mut outcome = run_recorded(&storage, &destination, set, options, progress).await;
        if let (Ok(summary), Some(rules)) = (&mut outcome, options.retain.as_ref()) {
            match prune::run(&destination, Some(&storage), rules, Some(set), false).await {
                Ok(pruned) => summary.pruned = Some(pruned),
                Err(error) => summary.prune_error = Some(error.report()),
            }
        }
        destination.close().await;
        outcome
    })
}

/// Returns the backups that the farm's records list as kept in a location.
async fn kept_in(storage: &Storage, place: &BackupLocation) -> Result<Vec<Id>> {
    let place = place.files()?.place();
    let rows = storage.configuration().read(|reader| backup::list(reader, None, 1_000)).await?;
    Ok(rows.iter().filter(|row| row.state == BackupState::Kept && row.destination == place).map(|row| row.id).collect())
}

/// Makes the backup, and records its start and its end in the farm.
async fn run_recorded(
    storage: &Storage,
    destination: &Destination,
    set: Id,
    options: &BackupOptions,
    progress: Arc<Progress>,
) -> Result<BackupSummary> {
    let place = destination.files.place();
    close_interrupted(storage, destination, &place).await?;
    let (started, needs_stores, shown) = (Timestamp::now(), options.databases_only, place.clone());
    let actor = storage.clone();
    let insert = move |transaction: &mut Transaction<'_>| {
        backup::insert(transaction, set, &shown, needs_stores, started)?;
        actor.record(transaction, "backup.start", &shown, &set.to_string())
    };
    storage.configuration().write(insert).await?;
    let alive = Heartbeat::start(storage, set);
    let made = make(storage, destination, set, started, options, progress).await;
    let ended = match made {
        Ok(manifest) if !alive.was_ended() => commit(storage, destination, set, &manifest).await.map(|()| manifest),
        Ok(_) => {
            Err(Error::conflict(format!("another process recorded the end of the backup {set} before it was complete")))
        }
        Err(error) => Err(error),
    };
    drop(alive);
    match ended {
        Ok(manifest) => Ok(summary(set, started, &manifest)),
        Err(error) => {
            let message = error.message().chars().take(2_000).collect();
            let ended = Ended { state: BackupState::Failed, bytes: 0, new_bytes: 0, message };
            // The first error is the one that matters. If the end cannot be recorded now, the next backup records it.
            if let Err(second) = end(storage, set, ended, "backup.fail").await {
                tracing::warn!(error = second.report(), "the end of a failed backup could not be recorded");
            }
            Err(error)
        }
    }
}

/// Closes the farm's records of earlier backups to this location that were interrupted. The lock on the location
/// guarantees that none of them is running.
async fn close_interrupted(storage: &Storage, destination: &Destination, place: &str) -> Result<()> {
    let rows = storage.configuration().read(|reader| backup::list(reader, None, 1_000)).await?;
    let sets = destination.sets().await?;
    for row in rows.into_iter().filter(|row| row.state == BackupState::Running && row.destination == place) {
        let is_kept = sets.iter().any(|set| set.id == row.id);
        let (state, message) = match is_kept {
            true => (BackupState::Kept, ""),
            false => (BackupState::Failed, "the backup was interrupted"),
        };
        let ended = Ended { state, bytes: row.bytes, new_bytes: row.new_bytes, message: message.to_owned() };
        end(storage, row.id, ended, if is_kept { "backup.end" } else { "backup.fail" }).await?;
    }
    Ok(())
}

async fn end(storage: &Storage, set: Id, ended: Ended, action: &'static str) -> Result<()> {
    let actor = storage.clone();
    let write = move |transaction: &mut Transaction<'_>| {
        backup::end(transaction, set, &ended, Timestamp::now())?;
        actor.record(transaction, action, &set.to_string(), &ended.message)
    };
    storage.configuration().write(write).await
}

/// Writes the manifest and records that the set is kept.
async fn commit(storage: &Storage, destination: &Destination, set: Id, manifest: &Manifest) -> Result<()> {
    let (bytes, new_bytes) = (signed(manifest.bytes), signed(manifest.new_bytes));
    let ended = Ended { state: BackupState::Kept, bytes, new_bytes, message: String::new() };
    if manifest.needs_stores {
        // The farm must hold back garbage collection before the set exists.
        end(storage, set, ended, "backup.end").await?;
        if let Err(error) = destination.finish(manifest).await {
            // A manifest whose answer was lost may be there. Its set needs the BLOBs until it is removed or forgotten.
            if destination.sets().await.is_ok_and(|sets| sets.iter().all(|kept| kept.id != set)) {
                storage.configuration().write(move |transaction| backup::remove(transaction, set)).await?;
            }
            return Err(error);
        }
    } else {
        destination.finish(manifest).await?;
        end(storage, set, ended, "backup.end").await?;
    }
    destination.forget_damage().await?;
    for name in destination.unfinished().await?.into_iter().map(|(name, _)| name) {
        destination.files.remove(&name).await?;
    }
    Ok(())
}

async fn make(
    storage: &Storage,
    destination: &Destination,
    set: Id,
    started: Timestamp,
    options: &BackupOptions,
    progress: Arc<Progress>,
) -> Result<Manifest> {
    let earlier = latest(destination).await?;
    // The directory name is derived from the location. The lock on the location excludes another backup that would use
    // the same directory.
    let name = digest_of(destination.files.place().as_bytes()).to_string();
    let beside = || storage.directory().join(format!("backup-incoming-{}", &name[..16]));
    let scratch = destination.incoming().unwrap_or_else(beside);
    let scratch = TemporaryDirectory::new(scratch).await?;
    let vault = &destination.vault;
    let whole = options.postgres == PostgresMethod::BaseBackup;
    let mut clusters = Clusters::new(vault, earlier.as_ref(), &progress);
    let snapshots = Snapshots::take(storage, &scratch, &options.configuration, whole.then_some(&mut clusters)).await?;
    let (clusters, cluster_bytes) = (clusters.parts, clusters.new_bytes);
    progress.count(0, snapshots.bytes());
    let stores = snapshots.known.1.iter().map(described).collect();
    let (configuration, content, mut new_bytes) =
        snapshots.store(storage, vault, earlier.as_ref(), &options.configuration, &progress).await?;
    let (parts, taken): (Vec<_>, Vec<_>) = content.into_iter().unzip();
    let mut copied = Copied::default();
    if !options.databases_only {
        for taken in &taken {
            let (name, location) = (Some(taken.database.name.as_str()), &taken.database.location);
            let (blobs, bytes) = match (taken.state.total().await, &taken.state) {
                (Ok(total), _) => total,
                (Err(error), State::Copy(_, path)) => {
                    return Err(attribute_copy_error(path, name, location, error).await);
                }
                (Err(error), _) => return Err(name_source_error(name, location, error)),
            };
            progress.count(blobs, bytes);
        }
        progress.counted_all();
        let census = Census::new(taken.iter().map(|taken| taken.state.clone()).collect());
        let databases = taken.iter().map(|taken| taken.database.clone()).collect();
        let mut known: Vec<List> = earlier.iter().map(|set| List::new(set.blobs.index.clone())).collect();
        known.extend(destination.unfinished().await?.into_iter().map(|(_, parts)| List::new(parts)));
        let storage = storage.refreshed().await?;
        let copying = Copying { destination, set, storage, databases, progress, known, is_live: whole };
        copied = copying.run(census).await?;
    }
    let (files, added) = store_files(vault, &storage.directory()).await?;
    new_bytes += copied.new_bytes + added + cluster_bytes;
    let databases = parts.iter().chain(&clusters).chain([&configuration]);
    let database_bytes: u64 = databases.map(|part| part.bytes).sum();
    let bytes = database_bytes + copied.blobs.bytes + files.iter().map(|file| file.entry.size).sum::<u64>();
    Ok(Manifest {
        format: Manifest::format_with(&clusters),
        id: set.to_string(),
        farm: storage.farm_id().to_string(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
        started: started.micros(),
        finished: Timestamp::now().micros(),
        needs_stores: options.databases_only,
        configuration,
        databases: parts,
        clusters,
        stores,
        files,
        blobs: copied.blobs,
        bytes,
        new_bytes,
    })
}

/// Returns the latest readable set whose objects can be reused. A set with BLOBs is preferred.
async fn latest(destination: &Destination) -> Result<Option<Manifest>> {
    let mut latest = None;
    for set in destination.sets().await?.iter().rev() {
        match destination.manifest(set).await {
            // A set without BLOBs has no BLOB list to reuse.
            Ok(manifest) if !manifest.needs_stores => return Ok(Some(manifest)),
            Ok(manifest) => latest = latest.or(Some(manifest)),
            Err(error) => tracing::warn!(error = error.report(), "an earlier backup cannot be built upon"),
        }
    }
    Ok(latest)
}

fn described(row: &StoreRow) -> StorePart {
    let (name, kind) = (row.name.clone(), row.kind.as_str().to_owned());
    StorePart { id: row.id.to_string(), name, kind, location: row.location.clone() }
}

fn summary(id: Id, started_at: Timestamp, manifest: &Manifest) -> BackupSummary {
    let database_bytes = manifest.parts().map(|part| part.bytes).sum();
    BackupSummary {
        id,
        started_at,
        databases: (manifest.databases.len() as u64 + 1, database_bytes),
        blobs: (manifest.blobs.count, manifest.blobs.bytes),
        bytes: manifest.bytes,
        new_bytes: manifest.new_bytes,
        lost: manifest.blobs.lost.len() as u64,
        pruned: None,
        prune_error: None,
    }
}

fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Sends heartbeats for the backup until dropped.
struct Heartbeat {
    ended: Arc<AtomicBool>,
    teller: tokio::task::JoinHandle<()>,
}

impl Heartbeat {
    fn start(storage: &Storage, set: Id) -> Self {
        let (ended, configuration) = (Arc::new(AtomicBool::new(false)), storage.configuration().clone());
        let flag = ended.clone();
        let teller = tokio::spawn(async move {
            let mut last = Instant::now();
            loop {
                tokio::time::sleep(SIGN_OF_LIFE).await;
                let told = configuration.write_vital(move |t| backup::seen(t, set, Timestamp::now())).await;
                match told {
                    Ok(true) => last = Instant::now(),
                    Ok(false) => flag.store(true, Ordering::Relaxed),
                    Err(error) => {
                        let silent = last.elapsed().as_secs();
                        tracing::warn!(
                            error = error.report(),
                            silent,
                            "the heartbeat of a backup could not be recorded"
                        );
                    }
                }
            }
        });
        Self { ended, teller }
    }

    fn was_ended(&self) -> bool {
        self.ended.load(Ordering::Relaxed)
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.teller.abort();
    }
}

#[cfg(test)]
mod tests;

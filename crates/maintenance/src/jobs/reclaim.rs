//! Deleting copies of BLOBs that nothing refers to any more.
//!
//! Deletion takes three steps, so that neither a crash nor an upload of the same bytes at the same moment loses anything: every
//! content database that might refer to the copy is asked and from then on refuses new references to it; the store deletes
//! it; the databases forget it. What was cut short is taken up again by the next run.

use blobs::BlobStore;
use database::content::blob;
use database::content::reclaim::{self, ReclaimRow, reason};
use database::{Reader, Transaction};
use futures_util::stream::{self, StreamExt};
use model::{Digest, Id, Result, Timestamp};
use repository::{DATABASE_STORE, Storage, StorageDatabase};

use super::throttle::Throttle;
use super::ticket::{Flow, Ticket};

/// Copies of one page.
const PAGE: usize = 256;
/// Deletions that a store is asked for at once.
const AT_ONCE: usize = 16;

/// Until when something must have been unneeded to be deleted now: `wanted`, or earlier when a backup needs what was
/// referred to since.
pub(super) async fn limit(storage: &Storage, wanted: Timestamp) -> Result<Timestamp> {
    let held = storage.held_since().await?;
    Ok(held.map_or(wanted, |held| wanted.min(held)))
}

/// Deletes copies in quarantine since before a time, which differs by reason, and those whose deletion was cut short.
pub(super) async fn release(
    ticket: &Ticket,
    throttle: &mut Throttle,
    moved_before: Timestamp,
    orphans_before: Timestamp,
) -> Flow<()> {
    let storage = ticket.storage().clone();
    let wanted = moved_before.max(orphans_before);
    let held = limit(&storage, wanted).await?;
    let due = move |row: &ReclaimRow| {
        let wanted = if row.reason == reason::MOVED { moved_before } else { orphans_before };
        // What lies in a database itself is in each backup of that database.
        let before = if row.store_id == DATABASE_STORE { wanted } else { wanted.min(held) };
        row.deleting || row.since < before
    };
    for database in storage.databases()? {
        let mut after = (Id::NONE, Vec::new());
        loop {
            ticket.go_on()?;
            let from = after.clone();
            let read = move |reader: &mut Reader<'_>| reclaim::due(reader, wanted, from, PAGE);
            let page = database.database.read(read).await?;
            let Some(last) = page.last() else { break };
            after = (last.store_id, last.digest.as_bytes().to_vec());
            let is_last = page.len() < PAGE;
            let page: Vec<ReclaimRow> = page.into_iter().filter(due).collect();
            let bytes = page.iter().map(|row| row.size.max(0) as u64).sum();
            delete(ticket, &storage, &database, page).await?;
            throttle.after(ticket, bytes).await?;
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

/// Old copies of moved BLOBs that are still there, because a backup needs them.
pub(super) async fn held_copies(storage: &Storage) -> Result<u64> {
    let mut held = 0;
    for database in storage.databases()? {
        let waiting = database.database.read_long(reclaim::totals).await?;
        held +=
            waiting.iter().filter(|row| row.reason == reason::MOVED).map(|row| row.blobs.max(0) as u64).sum::<u64>();
    }
    Ok(held)
}

/// Deletes copies that `database` does not need, if no other one does either. Adds to the results `deleted_blobs`,
/// `deleted_bytes` and `kept_blobs`.
pub(super) async fn delete(
    ticket: &Ticket,
    storage: &Storage,
    database: &StorageDatabase,
    rows: Vec<ReclaimRow>,
) -> Flow<()> {
    if rows.is_empty() {
        return Ok(());
    }
    // What lies in a content database can only be referred to by that one.
    let (own, shared): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.store_id == DATABASE_STORE);
    let all = storage.databases()?;
    for (rows, askers) in [(own, std::slice::from_ref(database)), (shared, &all[..])] {
        let mut agreed = rows.clone();
        for asker in askers {
            agreed = begin(asker, agreed).await?;
        }
        let deleted: Vec<(ReclaimRow, Result<()>)> = stream::iter(agreed)
            .map(|row| async move {
                let deleted = match storage.store(row.store_id, database) {
                    Ok(store) => delete_one(&store, row.digest).await,
                    Err(error) => Err(error),
                };
                (row, deleted)
            })
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        let (mut gone, mut bytes) = (Vec::new(), 0);
        for (row, outcome) in deleted {
            match outcome {
                Ok(()) => {
                    bytes += row.size.max(0) as u64;
                    gone.push((row.store_id, row.digest));
                }
                Err(error) => ticket.fail(format!("{} in {}", row.digest, storage.store_name(row.store_id)), &error),
            }
        }
        ticket.count("deleted_blobs", gone.len() as u64);
        ticket.count("deleted_bytes", bytes);
        metrics::counter!("strongroom_blobs_deleted_total").increment(gone.len() as u64);
        for asker in askers {
            let gone = gone.clone();
            let forget = move |transaction: &mut Transaction<'_>| {
                gone.iter().try_for_each(|(store, digest)| reclaim::remove(transaction, *store, digest))
            };
            asker.database.write_vital(forget).await?;
        }
    }
    Ok(())
}

async fn delete_one(store: &BlobStore, digest: Digest) -> Result<()> {
    store.delete(digest).await
}

/// Asks one database: what it refers to is kept, everywhere; for the rest it takes no new reference from now on.
async fn begin(database: &StorageDatabase, rows: Vec<ReclaimRow>) -> Result<Vec<ReclaimRow>> {
    let ask = move |transaction: &mut Transaction<'_>| {
        let mut agreed = Vec::with_capacity(rows.len());
        for row in &rows {
            // First the mark, then the question: a reference that is added meanwhile either sees the mark or is seen here.
            reclaim::begin(transaction, row)?;
            if blob::is_in(transaction, &row.digest, row.store_id)? {
                reclaim::remove(transaction, row.store_id, &row.digest)?;
            } else {
                agreed.push(row.clone());
            }
        }
        Ok(agreed)
    };
    database.database.write_vital(ask).await
}

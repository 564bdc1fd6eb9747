//! Deletion of unreferenced BLOB copies.
//!
//! A deletion takes three steps, so that neither a crash nor a concurrent upload of the same bytes loses data. First,
//! every content database that might refer to the copy is queried and refuses new references to it from then on.
//! Second, the store deletes the copy. Third, the databases forget it. The next run completes an interrupted deletion.
//! Only one process of the farm deletes at a time: a second one, which had queried the databases before the first was
//! done, would delete bytes that were stored again in between.

use std::collections::HashMap;
use std::time::Duration;

use blobs::{BoxFuture, Consent};
use database::content::blob;
use database::content::deletion_queue::{self, ReclaimRow};
use database::{ExclusiveRight, Reader, Transaction};
use model::{Digest, Error, Id, ReclaimReason, ReclaimState, Result, Timestamp};
use repository::{DATABASE_STORE, Storage, StorageDatabase};

use super::running_job::{JobResult, RunningJob};
use super::throttle::Throttle;

/// Number of copies per page.
const PAGE: usize = 256;
/// Maximum number of copies deleted by one request to a store.
const MAX_COPIES_PER_REQUEST: usize = 64;

/// Period for which a deletion is remembered. It is longer than the time from the end of any upload's bytes to its
/// transaction.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Returns the time before which a BLOB must have become unneeded to be deleted now: `wanted`, or an earlier time if a
/// backup needs BLOBs that were referenced since.
pub(super) async fn cutoff(storage: &Storage, wanted: Timestamp) -> Result<Timestamp> {
    let held = storage.held_since().await?;
    Ok(held.map_or(wanted, |held| wanted.min(held)))
}

/// Selects the quarantined copies to delete.
struct Due {
    moved_before: Timestamp,
    orphans_before: Timestamp,
    /// A backup needs copies that were quarantined after this time.
    held: Timestamp,
}

/// Last copy before a page: store and digest.
type PageCursor = (Id, Vec<u8>);

impl Due {
    async fn of(storage: &Storage, moved_before: Timestamp, orphans_before: Timestamp) -> Result<Self> {
        let held = cutoff(storage, moved_before.max(orphans_before)).await?;
        Ok(Self { moved_before, orphans_before, held })
    }

    fn includes(&self, row: &ReclaimRow) -> bool {
        let wanted = if row.reason == ReclaimReason::Moved { self.moved_before } else { self.orphans_before };
        // BLOBs inside a database are in every backup of that database.
        let before = if row.store_id == DATABASE_STORE { wanted } else { wanted.min(self.held) };
        row.state == ReclaimState::Deleting || row.since < before
    }

    /// Returns a page of copies due for deletion and the position of the next page, or none at the end.
    async fn page(
        &self,
        database: &StorageDatabase,
        after: PageCursor,
    ) -> Result<Option<(Vec<ReclaimRow>, Option<PageCursor>)>> {
        let wanted = self.moved_before.max(self.orphans_before);
        let read = move |reader: &mut Reader<'_>| deletion_queue::due(reader, wanted, after, PAGE);
        let page = database.database.read(read).await?;
        let Some(last) = page.last() else { return Ok(None) };
        let next = (page.len() == PAGE).then(|| (last.store_id, last.digest.as_bytes().to_vec()));
        Ok(Some((page.into_iter().filter(|row| self.includes(row)).collect(), next)))
    }
}

/// Counts the copies that [`delete_quarantined`] would delete, in the results `would_delete_blobs` and
/// `would_delete_bytes`.
pub(super) async fn count_due(job: &RunningJob, moved_before: Timestamp, orphans_before: Timestamp) -> JobResult<()> {
    let storage = job.storage().clone();
    let due = Due::of(&storage, moved_before, orphans_before).await?;
    for database in storage.all_databases()? {
        let mut after = Some((Id::NONE, Vec::new()));
        while let Some(from) = after {
            job.check_stop()?;
            let Some((page, next)) = due.page(&database, from).await? else { break };
            job.count("would_delete_blobs", page.len() as u64);
            job.count("would_delete_bytes", page.iter().map(|row| row.size.max(0) as u64).sum());
            after = next;
        }
    }
    Ok(())
}

/// Deletes copies quarantined before a time that depends on the reason, and completes interrupted deletions.
pub(super) async fn delete_quarantined(
    job: &RunningJob,
    throttle: &mut Throttle,
    moved_before: Timestamp,
    orphans_before: Timestamp,
) -> JobResult<()> {
    let storage = job.storage().clone();
    let due = Due::of(&storage, moved_before, orphans_before).await?;
    for database in storage.all_databases()? {
        let long_ago = storage.old_enough(REMEMBERED).await?;
        database.database.write_vital(move |transaction| deletion_queue::forget_deleted(transaction, long_ago)).await?;
        let mut after = (Id::NONE, Vec::new());
        loop {
            let deletion_lock = job.deletion_lock().await?;
            let from = after.clone();
            let Some((page, next)) = due.page(&database, from).await? else { break };
            let is_last = next.is_none();
            after = next.unwrap_or(after);
            let bytes = page.iter().map(|row| row.size.max(0) as u64).sum();
            delete(job, &deletion_lock, &storage, &database, page).await?;
            deletion_lock.release().await;
            throttle.after(job, bytes).await?;
            if is_last {
                break;
            }
        }
    }
    Ok(())
}

/// Returns the number of old copies of moved BLOBs that still exist because a backup needs them.
pub(super) async fn held_copies(storage: &Storage) -> Result<u64> {
    let mut held = 0;
    for database in storage.all_databases()? {
        let waiting = database.database.read_long(deletion_queue::totals).await?;
        held += waiting
            .iter()
            .filter(|row| row.reason == ReclaimReason::Moved)
            .map(|row| row.blobs.max(0) as u64)
            .sum::<u64>();
    }
    Ok(held)
}

/// Deletes copies that `database` has queued for deletion, unless another database needs them. Adds to the results
/// `deleted_blobs` and `deleted_bytes`.
pub(super) async fn delete(
    job: &RunningJob,
    deletion_lock: &ExclusiveRight,
    storage: &Storage,
    database: &StorageDatabase,
    rows: Vec<ReclaimRow>,
) -> JobResult<()> {
    // The list of databases is refreshed only here: while `deletion_lock` is held, no database can be added until the
    // copies are deleted.
    let storage = &storage.with_new_databases().await?;
    let done = delete_unneeded(deletion_lock, storage, database, rows).await?;
    for (row, error) in &done.failed {
        job.fail(format!("{} in {}", row.digest, storage.store_name(row.store_id)), error);
    }
    job.count("deleted_blobs", done.blobs);
    job.count("deleted_bytes", done.bytes);
    Ok(())
}

/// Result of deleting copies. Copies that are still needed count neither as deleted nor as failed.
#[derive(Default)]
pub(super) struct Deletions {
    pub(super) blobs: u64,
    bytes: u64,
    pub(super) failed: Vec<(ReclaimRow, Error)>,
}

/// Deletes those of `rows` that no content database needs, and removes their entries. Entries of a store that the farm
/// has forgotten stay unchanged, because the bytes may belong to another store by now.
pub(super) async fn delete_unneeded(
    deletion_lock: &ExclusiveRight,
    storage: &Storage,
    database: &StorageDatabase,
    rows: Vec<ReclaimRow>,
) -> Result<Deletions> {
    let mut done = Deletions::default();
    // Only the content database itself can refer to BLOBs stored inside it.
    let (own, shared): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.store_id == DATABASE_STORE);
    let others: Vec<StorageDatabase> =
        storage.all_databases()?.into_iter().filter(|other| other.id != database.id).collect();
    for (mut rows, others) in [(own, &[][..]), (shared, &others[..])] {
        // No store is forgotten while `deletion_lock` is held.
        let known = storage.stores_now().await?;
        rows.retain(|row| known.contains(&row.store_id));
        if rows.is_empty() {
            continue;
        }
        let asked = rows.len();
        let mut agreed = prepare_deletion(database, rows.clone(), true, &known).await?;
        for other in others {
            agreed = prepare_deletion(other, agreed, false, &known).await?;
        }
        if agreed.len() < asked {
            let needed = rows.into_iter().filter(|row| {
                agreed.iter().all(|agreed| (agreed.store_id, agreed.digest) != (row.store_id, row.digest))
            });
            forget(database, others, needed.map(|row| (row.store_id, row.digest)).collect(), false).await?;
        }
        let mut deleted = Vec::with_capacity(agreed.len());
        // The rows are sorted by store.
        for rows in agreed
            .chunk_by(|one, next| one.store_id == next.store_id)
            .flat_map(|rows| rows.chunks(MAX_COPIES_PER_REQUEST))
        {
            deleted.extend(delete_group(deletion_lock, storage, database, rows).await);
        }
        let mut gone = Vec::new();
        for (row, outcome) in deleted {
            match outcome {
                Ok(()) => {
                    done.bytes += row.size.max(0) as u64;
                    gone.push((row.store_id, row.digest));
                }
                Err(error) => done.failed.push((row, error)),
            }
        }
        done.blobs += gone.len() as u64;
        metrics::counter!("strongroom_blobs_deleted_total").increment(gone.len() as u64);
        forget(database, others, gone, true).await?;
    }
    Ok(done)
}

/// Removes the deletion entries from all databases, for copies that were deleted or are still needed.
async fn forget(
    database: &StorageDatabase,
    others: &[StorageDatabase],
    rows: Vec<(Id, Digest)>,
    deleted: bool,
) -> Result<()> {
    for database in others.iter().chain([database]) {
        let rows = rows.clone();
        let forget = move |transaction: &mut Transaction<'_>| {
            let now = Timestamp::now();
            rows.iter().try_for_each(|(store, digest)| match deleted {
                true => deletion_queue::deleted(transaction, *store, digest, now),
                false => deletion_queue::remove(transaction, *store, digest),
            })
        };
        database.database.write_vital(forget).await?;
    }
    Ok(())
}

/// The exclusive right to delete. A store confirms it immediately before it deletes, after any waiting.
struct DeletionConsent<'a>(&'a ExclusiveRight);

impl Consent for DeletionConsent<'_> {
    fn ask(&self) -> BoxFuture<'_, ()> {
        Box::pin(self.0.require())
    }
}

/// Deletes a group of copies in one store, and returns the outcome for each.
async fn delete_group(
    deletion_lock: &ExclusiveRight,
    storage: &Storage,
    database: &StorageDatabase,
    rows: &[ReclaimRow],
) -> Vec<(ReclaimRow, Result<()>)> {
    let ask = async {
        let Some(first) = rows.first() else { return Ok(Vec::new()) };
        let store = storage.store(first.store_id, database)?;
        store.delete_all(rows.iter().map(|row| row.digest).collect(), &DeletionConsent(deletion_lock)).await
    };
    match ask.await {
        Ok(outcomes) => {
            let mut outcomes: HashMap<Digest, Result<()>> = outcomes.into_iter().collect();
            let untold = || Err(Error::unavailable("the store did not report whether it deleted the BLOB"));
            rows.iter().map(|row| (row.clone(), outcomes.remove(&row.digest).unwrap_or_else(untold))).collect()
        }
        Err(error) => {
            let failed = || Err(Error::new(error.kind(), error.message().to_owned()).with_code(error.code()));
            rows.iter().map(|row| (row.clone(), failed())).collect()
        }
    }
}

/// Prepares the deletion in one database. The database refuses new references to these copies from now on; copies that
/// it refers to are kept. Returns the copies that it does not need. The `first` database is the one that queued the
/// copies; a copy that is no longer queued there is not deleted. A copy is also kept if the database refers to its
/// digest in a store that is not among the `known` ones, because it may be the last copy.
async fn prepare_deletion(
    database: &StorageDatabase,
    rows: Vec<ReclaimRow>,
    first: bool,
    known: &[Id],
) -> Result<Vec<ReclaimRow>> {
    let mark = move |transaction: &mut Transaction<'_>| {
        let mut marked = Vec::with_capacity(rows.len());
        for row in &rows {
            let waits = if first {
                deletion_queue::resume(transaction, row.store_id, &row.digest)?
            } else {
                deletion_queue::begin(transaction, row)?;
                true
            };
            if waits {
                marked.push(row.clone());
            }
        }
        Ok(marked)
    };
    let marked = database.database.write_vital(mark).await?;
    // The deletion entries must be committed before the query. A reference that is added concurrently then either sees
    // the entry or is seen by the query.
    database.database.write_vital(deletion_queue::wait_for_references).await?;
    let known = known.to_vec();
    let ask = move |reader: &mut Reader<'_>| {
        let mut agreed = Vec::with_capacity(marked.len());
        for row in marked {
            if !blob::needs(reader, &row.digest, row.store_id, &known)? {
                agreed.push(row);
            }
        }
        Ok(agreed)
    };
    database.database.read_long(ask).await
}

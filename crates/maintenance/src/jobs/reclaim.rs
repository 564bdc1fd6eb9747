//! Deleting copies of BLOBs that nothing refers to any more.
//!
//! Deletion takes three steps, so that neither a crash nor an upload of the same bytes at the same moment loses anything: every
//! content database that might refer to the copy is asked and from then on refuses new references to it; the store deletes
//! it; the databases forget it. What was cut short is taken up again by the next run. One process of the farm does this at a time:
//! another one, which asked before the first was done, would delete what was stored anew in between.

use std::collections::HashMap;
use std::time::Duration;

use blobs::{Consent, Pending};
use database::content::blob;
use database::content::reclaim::{self, ReclaimRow, reason};
use database::{Alone, Reader, Transaction};
use model::{Digest, Error, Id, Result, Timestamp};
use repository::{DATABASE_STORE, Storage, StorageDatabase};

use super::throttle::Throttle;
use super::ticket::{Flow, Ticket};

/// Copies of one page.
const PAGE: usize = 256;
/// Most copies that one request to a store deletes.
const GROUP: usize = 64;

/// How long it is remembered that a copy was deleted: longer than any upload lasts from the end of its bytes to its transaction.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// Until when something must have been unneeded to be deleted now: `wanted`, or earlier when a backup needs what was
/// referred to since.
pub(super) async fn limit(storage: &Storage, wanted: Timestamp) -> Result<Timestamp> {
    let held = storage.held_since().await?;
    Ok(held.map_or(wanted, |held| wanted.min(held)))
}

/// Which copies in quarantine are deleted now.
struct Due {
    moved_before: Timestamp,
    orphans_before: Timestamp,
    /// What waits since later than this is needed by a backup.
    held: Timestamp,
}

/// Behind which copy a page begins.
type Place = (Id, Vec<u8>);

impl Due {
    async fn of(storage: &Storage, moved_before: Timestamp, orphans_before: Timestamp) -> Result<Self> {
        let held = limit(storage, moved_before.max(orphans_before)).await?;
        Ok(Self { moved_before, orphans_before, held })
    }

    fn includes(&self, row: &ReclaimRow) -> bool {
        let wanted = if row.reason == reason::MOVED { self.moved_before } else { self.orphans_before };
        // What lies in a database itself is in each backup of that database.
        let before = if row.store_id == DATABASE_STORE { wanted } else { wanted.min(self.held) };
        row.deleting || row.since < before
    }

    /// A page of what is due, and where the next one begins; none at the end.
    async fn page(&self, database: &StorageDatabase, after: Place) -> Result<Option<(Vec<ReclaimRow>, Option<Place>)>> {
        let wanted = self.moved_before.max(self.orphans_before);
        let read = move |reader: &mut Reader<'_>| reclaim::due(reader, wanted, after, PAGE);
        let page = database.database.read(read).await?;
        let Some(last) = page.last() else { return Ok(None) };
        let next = (page.len() == PAGE).then(|| (last.store_id, last.digest.as_bytes().to_vec()));
        Ok(Some((page.into_iter().filter(|row| self.includes(row)).collect(), next)))
    }
}

/// Counts what [`release`] would delete, in the results `would_delete_blobs` and `would_delete_bytes`.
pub(super) async fn foretell(ticket: &Ticket, moved_before: Timestamp, orphans_before: Timestamp) -> Flow<()> {
    let storage = ticket.storage().clone();
    let due = Due::of(&storage, moved_before, orphans_before).await?;
    for database in storage.all_databases()? {
        let mut after = Some((Id::NONE, Vec::new()));
        while let Some(from) = after {
            ticket.go_on()?;
            let Some((page, next)) = due.page(&database, from).await? else { break };
            ticket.count("would_delete_blobs", page.len() as u64);
            ticket.count("would_delete_bytes", page.iter().map(|row| row.size.max(0) as u64).sum());
            after = next;
        }
    }
    Ok(())
}

/// Deletes copies in quarantine since before a time, which differs by reason, and those whose deletion was cut short.
pub(super) async fn release(
    ticket: &Ticket,
    throttle: &mut Throttle,
    moved_before: Timestamp,
    orphans_before: Timestamp,
) -> Flow<()> {
    let storage = ticket.storage().clone();
    let due = Due::of(&storage, moved_before, orphans_before).await?;
    for database in storage.all_databases()? {
        let long_ago = storage.old_enough(REMEMBERED).await?;
        database.database.write_vital(move |transaction| reclaim::forget_deleted(transaction, long_ago)).await?;
        let mut after = (Id::NONE, Vec::new());
        loop {
            let alone = ticket.deleting().await?;
            let from = after.clone();
            let Some((page, next)) = due.page(&database, from).await? else { break };
            let is_last = next.is_none();
            after = next.unwrap_or(after);
            let bytes = page.iter().map(|row| row.size.max(0) as u64).sum();
            delete(ticket, &alone, &storage, &database, page).await?;
            alone.release().await;
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
    for database in storage.all_databases()? {
        let waiting = database.database.read_long(reclaim::totals).await?;
        held +=
            waiting.iter().filter(|row| row.reason == reason::MOVED).map(|row| row.blobs.max(0) as u64).sum::<u64>();
    }
    Ok(held)
}

/// Deletes copies that wait for it in `database`, if no other database needs them. Adds to the results `deleted_blobs` and
/// `deleted_bytes`.
pub(super) async fn delete(
    ticket: &Ticket,
    alone: &Alone,
    storage: &Storage,
    database: &StorageDatabase,
    rows: Vec<ReclaimRow>,
) -> Flow<()> {
    // Which databases there are is read again only now that none can be added before the copies are gone.
    let storage = &storage.with_new_databases().await?;
    let done = delete_agreed(alone, storage, database, rows).await?;
    for (row, error) in &done.failed {
        ticket.fail(format!("{} in {}", row.digest, storage.store_name(row.store_id)), error);
    }
    ticket.count("deleted_blobs", done.blobs);
    ticket.count("deleted_bytes", done.bytes);
    Ok(())
}

/// What became of copies that were to be deleted; those that are needed are in neither number.
#[derive(Default)]
pub(super) struct Done {
    pub(super) blobs: u64,
    bytes: u64,
    pub(super) failed: Vec<(ReclaimRow, Error)>,
}

/// Deletes those of `rows` that no content database needs, and forgets them. What waits in a store that the farm has
/// forgotten stays as it is: its bytes may be those of another store by now.
pub(super) async fn delete_agreed(
    alone: &Alone,
    storage: &Storage,
    database: &StorageDatabase,
    rows: Vec<ReclaimRow>,
) -> Result<Done> {
    let mut done = Done::default();
    // What lies in a content database can only be referred to by that one.
    let (own, shared): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.store_id == DATABASE_STORE);
    let others: Vec<StorageDatabase> =
        storage.all_databases()?.into_iter().filter(|other| other.id != database.id).collect();
    for (mut rows, others) in [(own, &[][..]), (shared, &others[..])] {
        // None is forgotten as long as `alone` is held.
        let known = storage.stores_now().await?;
        rows.retain(|row| known.contains(&row.store_id));
        if rows.is_empty() {
            continue;
        }
        let asked = rows.len();
        let mut agreed = begin(database, rows.clone(), true, &known).await?;
        for other in others {
            agreed = begin(other, agreed, false, &known).await?;
        }
        if agreed.len() < asked {
            let needed = rows.into_iter().filter(|row| {
                agreed.iter().all(|agreed| (agreed.store_id, agreed.digest) != (row.store_id, row.digest))
            });
            forget(database, others, needed.map(|row| (row.store_id, row.digest)).collect(), false).await?;
        }
        let mut deleted = Vec::with_capacity(agreed.len());
        // Their order is that of the stores.
        for rows in agreed.chunk_by(|one, next| one.store_id == next.store_id).flat_map(|rows| rows.chunks(GROUP)) {
            deleted.extend(delete_group(alone, storage, database, rows).await);
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

/// Ends the waiting of copies everywhere, because they were deleted or are needed.
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
                true => reclaim::deleted(transaction, *store, digest, now),
                false => reclaim::remove(transaction, *store, digest),
            })
        };
        database.database.write_vital(forget).await?;
    }
    Ok(())
}

/// The right to delete. A store asks for it after whatever it waits for, right before it deletes.
struct Right<'a>(&'a Alone);

impl Consent for Right<'_> {
    fn ask(&self) -> Pending<'_, ()> {
        Box::pin(self.0.require())
    }
}

/// Has one store delete some copies in it, and says of each what became of it.
async fn delete_group(
    alone: &Alone,
    storage: &Storage,
    database: &StorageDatabase,
    rows: &[ReclaimRow],
) -> Vec<(ReclaimRow, Result<()>)> {
    let ask = async {
        let Some(first) = rows.first() else { return Ok(Vec::new()) };
        let store = storage.store(first.store_id, database)?;
        store.delete_all(rows.iter().map(|row| row.digest).collect(), &Right(alone)).await
    };
    match ask.await {
        Ok(outcomes) => {
            let mut outcomes: HashMap<Digest, Result<()>> = outcomes.into_iter().collect();
            let untold = || Err(Error::unavailable("the store does not say whether it deleted the BLOB"));
            rows.iter().map(|row| (row.clone(), outcomes.remove(&row.digest).unwrap_or_else(untold))).collect()
        }
        Err(error) => {
            let failed = || Err(Error::new(error.kind(), error.message().to_owned()).with_code(error.code()));
            rows.iter().map(|row| (row.clone(), failed())).collect()
        }
    }
}

/// Asks one database: what it refers to is kept; for the rest it takes no new reference from now on. The `first`
/// database is the one in which the copies wait, and what does not wait there any more is not deleted. What it refers
/// to in a store that is not among the `known` ones is kept, too: the copy may be the last one.
async fn begin(
    database: &StorageDatabase,
    rows: Vec<ReclaimRow>,
    first: bool,
    known: &[Id],
) -> Result<Vec<ReclaimRow>> {
    let mark = move |transaction: &mut Transaction<'_>| {
        let mut marked = Vec::with_capacity(rows.len());
        for row in &rows {
            let waits = if first {
                reclaim::resume(transaction, row.store_id, &row.digest)?
            } else {
                reclaim::begin(transaction, row)?;
                true
            };
            if waits {
                marked.push(row.clone());
            }
        }
        Ok(marked)
    };
    let marked = database.database.write_vital(mark).await?;
    // First the mark, then the question: a reference that is added meanwhile either sees the mark or is seen by the question.
    database.database.write_vital(reclaim::wait_for_references).await?;
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

//! Deleting copies of BLOBs that nothing refers to any more.
//!
//! Deletion takes three steps, so that neither a crash nor an upload of the same bytes at the same moment loses anything: every
//! content database that might refer to the copy is asked and from then on refuses new references to it; the store deletes
//! it; the databases forget it. What was cut short is taken up again by the next run. One process of the farm does this at a time:
//! another one, which asked before the first was done, would delete what was stored anew in between.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use blobs::{Consent, Pending};
use database::content::blob;
use database::content::reclaim::{self, ReclaimRow, reason};
use database::{Alone, Reader, Transaction};
use model::{Digest, Error, ErrorKind, Id, Result, Timestamp};
use repository::{DATABASE_STORE, DELETING, Storage, StorageDatabase};

use super::throttle::Throttle;
use super::ticket::{Flow, Ticket};

/// Copies of one page.
const PAGE: usize = 256;
/// Most copies that one request to a store deletes.
const GROUP: usize = 64;
/// Copies of one page of deletions that are resumed. Few, since a silent store makes the whole page wait.
const RESUMED_AT_ONCE: usize = 16;
/// Groups of deletions in a row that a store may refuse as a whole before it is asked for no more of them in the same
/// run.
const REFUSED: u32 = 3;
/// One byte longer than a digest, so behind every row of a store.
const BEHIND_ALL_DIGESTS: [u8; 33] = [0xff; 33];

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

/// Takes up deletions that were begun and not done, because the store did not answer or the process ended: uploads of the same bytes are
/// refused meanwhile. Answers how many copies were deleted; none while another process deletes.
///
/// # Errors
/// Those of the databases; what a store says is logged.
pub(crate) async fn resume_deletions(storage: &Storage) -> Result<u64> {
    let Some(alone) = storage.configuration().alone(DELETING).await? else { return Ok(0) };
    let storage = storage.with_new_databases().await?;
    let never = Timestamp::from_micros(0);
    let (mut deleted, mut refusals) = (0, Refusals::default());
    for database in storage.all_databases()? {
        let mut after = (Id::NONE, Vec::new());
        loop {
            // What cannot be deleted now is met again the next time.
            let from = after.clone();
            let mut begun =
                database.database.read(move |reader| reclaim::due(reader, never, from, RESUMED_AT_ONCE)).await?;
            let Some(last) = begun.last() else { break };
            after = (last.store_id, last.digest.as_bytes().to_vec());
            begun.retain(|row| !refusals.is_silent(&database, row.store_id));
            if !begun.is_empty() {
                let asked = begun.clone();
                let done = delete_agreed(&alone, &storage, &database, begun).await?;
                deleted += done.blobs;
                if let Some((_, error)) = done.failed.iter().find(|(_, error)| error.code() == "right_lost") {
                    tracing::warn!(error = error.report(), "deletions that were begun are taken up later");
                    return Ok(deleted);
                }
                for asked in asked.chunk_by(|one, next| one.store_id == next.store_id) {
                    refusals.note(&storage, &database, asked, &done.failed).await;
                }
            }
            // A store that gives no answer is asked for nothing more, and keeps no other one waiting.
            if refusals.is_silent(&database, after.0) {
                after.1 = BEHIND_ALL_DIGESTS.to_vec();
            }
        }
    }
    alone.release().await;
    Ok(deleted)
}

/// Refusals of stores while deletions are resumed.
#[derive(Default)]
struct Refusals {
    /// Stores that give no answer.
    silent: HashSet<(Id, Id)>,
    /// Groups in a row that a store refused.
    in_a_row: HashMap<(Id, Id), u32>,
    /// Stores of which a failure was logged.
    told: HashSet<(Id, Id)>,
}

impl Refusals {
    /// Key of a store. The stores inside of databases all have the same identifier.
    fn key(database: &StorageDatabase, store: Id) -> (Id, Id) {
        (if store == DATABASE_STORE { database.id } else { Id::NONE }, store)
    }

    fn is_silent(&self, database: &StorageDatabase, store: Id) -> bool {
        self.silent.contains(&Self::key(database, store))
    }

    /// Notes what one store did with a group. A BLOB that fails by itself keeps no other one waiting; a store that
    /// fails with all of them is asked whether it answers at all.
    async fn note(
        &mut self,
        storage: &Storage,
        database: &StorageDatabase,
        asked: &[ReclaimRow],
        failed: &[(ReclaimRow, Error)],
    ) {
        let Some(store) = asked.first().map(|row| row.store_id) else { return };
        let key = Self::key(database, store);
        let errors: Vec<&Error> =
            failed.iter().filter(|(row, _)| row.store_id == store).map(|(_, error)| error).collect();
        if let Some(error) = errors.first()
            && self.told.insert(key)
        {
            let (store, text) = (storage.store_name(store), error.report());
            tracing::warn!(store, error = text, "copies of BLOBs whose deletion was begun are not deleted yet");
        }
        if errors.len() < asked.len() || errors.iter().any(|error| error.kind() != ErrorKind::Unavailable) {
            self.in_a_row.remove(&key);
            return;
        }
        let in_a_row = self.in_a_row.entry(key).or_default();
        *in_a_row += 1;
        let answers = async { storage.store(store, database)?.answers().await };
        if *in_a_row >= REFUSED || answers.await.is_err() {
            self.silent.insert(key);
        }
    }
}

/// What became of copies that were to be deleted; those that are needed are in neither number.
#[derive(Default)]
struct Done {
    blobs: u64,
    bytes: u64,
    failed: Vec<(ReclaimRow, Error)>,
}

async fn delete_agreed(
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
    for (rows, others) in [(own, &[][..]), (shared, &others[..])] {
        if rows.is_empty() {
            continue;
        }
        let asked = rows.len();
        let known = storage.stores_now().await?;
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

/// The right to delete, asked for before each deletion, or at least after whatever the store had to wait for.
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bytes::Bytes;
    use repository::{NewStore, Options, Repository, Session};

    use super::*;

    async fn farm(directory: &Path) -> (Repository, Session) {
        let options = Options {
            directory: directory.to_path_buf(),
            configuration: None,
            content: None,
            administrator_password: Some("correct horse battery".to_owned()),
            create: true,
        };
        let (repository, _) = Repository::open(&options).await.unwrap();
        let session = repository.as_caller(repository.farm_administrator().await.unwrap());
        (repository, session)
    }

    fn row(store_id: Id, digest: Digest) -> ReclaimRow {
        let reason = reason::DELETED.to_owned();
        ReclaimRow { store_id, digest, size: 1, reason, deleting: true, since: Timestamp::now() }
    }

    async fn begin_all(database: &StorageDatabase, rows: Vec<ReclaimRow>) {
        let begin =
            move |transaction: &mut Transaction<'_>| rows.iter().try_for_each(|row| reclaim::begin(transaction, row));
        database.database.write(begin).await.unwrap();
    }

    async fn left(database: &StorageDatabase) -> Vec<ReclaimRow> {
        let never = Timestamp::from_micros(0);
        let read = move |reader: &mut Reader<'_>| reclaim::due(reader, never, (Id::NONE, Vec::new()), 10_000);
        database.database.read(read).await.unwrap()
    }

    #[tokio::test]
    async fn a_store_that_does_not_delete_keeps_no_other_one_waiting() {
        let place = tempfile::tempdir().unwrap();
        let (repository, session) = farm(place.path()).await;
        for name in ["lost", "good"] {
            let kind = "directory".to_owned();
            let store = NewStore { name: name.to_owned(), kind, location: name.to_owned(), ..NewStore::default() };
            session.add_store(store).await.unwrap();
        }
        let storage = session.storage().await.unwrap();
        let [lost, good] = ["lost", "good"].map(|name| storage.store_named(name).unwrap().id);
        assert!(lost < good, "the rows of the store that is lost come first");
        let database = storage.all_databases().unwrap().remove(0);
        let mut rows: Vec<_> =
            (0..2 * PAGE as u64).map(|number| row(lost, blobs::digest_of(&number.to_le_bytes()))).collect();
        let store = storage.store(good, &database).unwrap();
        let content = Bytes::from_static(b"not needed any more");
        let digest = blobs::digest_of(&content);
        store.put(digest, content.clone()).await.unwrap();
        rows.push(row(good, digest));
        begin_all(&database, rows).await;
        std::fs::remove_dir_all(place.path().join("lost")).unwrap();
        assert_eq!(resume_deletions(&storage).await.unwrap(), 1);
        let gone = store.confirm(digest, content.len() as u64).await.unwrap_err();
        assert_eq!(gone.kind(), model::ErrorKind::NotFound);
        let left = left(&database).await;
        assert!(left.len() == 2 * PAGE && left.iter().all(|row| row.store_id == lost), "{} rows", left.len());
        repository.close().await;
    }

    #[tokio::test]
    async fn a_blob_that_cannot_be_deleted_keeps_no_other_one_waiting() {
        let place = tempfile::tempdir().unwrap();
        let (repository, session) = farm(place.path()).await;
        let storage = session.storage().await.unwrap();
        let database = storage.all_databases().unwrap().remove(0);
        let id = storage.store_named("files").unwrap().id;
        let store = storage.store(id, &database).unwrap();
        let mut digests = Vec::new();
        for number in 0..3 * RESUMED_AT_ONCE as u64 {
            let content = Bytes::from(number.to_le_bytes().to_vec());
            let digest = blobs::digest_of(&content);
            store.put(digest, content).await.unwrap();
            digests.push(digest);
        }
        digests.sort_by_key(|digest| *digest.as_bytes());
        // In the way of the first one is what no deletion takes away. It is alone in its page, too.
        let stuck = digests[0];
        let large = place.path().join("blobs/large").join(format!("{:02x}", stuck.as_bytes()[0]));
        std::fs::create_dir_all(large.join(stuck.to_string())).unwrap();
        for count in [1, digests.len()] {
            begin_all(&database, digests[..count].iter().map(|digest| row(id, *digest)).collect()).await;
            assert_eq!(resume_deletions(&storage).await.unwrap(), count as u64 - 1);
            let left = left(&database).await;
            assert!(left.len() == 1 && left[0].digest == stuck, "{} rows", left.len());
        }
        repository.close().await;
    }
}

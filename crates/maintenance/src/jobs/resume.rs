//! Completion of deletions that were begun and not finished, because the store did not respond or the process ended.

use std::collections::{HashMap, HashSet};

use database::content::deletion_queue::{self, ReclaimRow};
use model::{Code, Error, ErrorKind, Id, Result, Timestamp};
use repository::{DATABASE_STORE, DELETION_LOCK, Storage, StorageDatabase};

use super::delete_copies::delete_unneeded;

/// Number of copies per page. The number is small because an unresponsive store delays the whole page.
const PAGE: usize = 16;
/// Number of consecutive groups that a store may refuse entirely before it is skipped for the rest of the run.
const REFUSED: u32 = 3;
/// Sorts after every digest of a store, because it is one byte longer than a digest.
const BEHIND_ALL_DIGESTS: [u8; 33] = [0xff; 33];

/// Completes all deletions that were begun, because uploads of the same bytes are refused until then. Returns the
/// number of deleted copies, which is 0 while another process deletes.
///
/// # Errors
/// Those of the databases. Errors of a store are logged.
pub(crate) async fn resume_deletions(storage: &Storage) -> Result<u64> {
    let Some(deletion_lock) = storage.configuration().try_exclusive(DELETION_LOCK).await? else { return Ok(0) };
    let storage = storage.with_new_databases().await?;
    let never = Timestamp::from_micros(0);
    let (mut deleted, mut refusals) = (0, Refusals::default());
    for database in storage.all_databases()? {
        remove_unknown_stores(&storage, &database).await?;
        let mut after = (Id::NONE, Vec::new());
        loop {
            // Copies that cannot be deleted now are retried in the next run.
            let from = after.clone();
            let mut begun =
                database.database.read(move |reader| deletion_queue::due(reader, never, from, PAGE)).await?;
            let Some(last) = begun.last() else { break };
            after = (last.store_id, last.digest.as_bytes().to_vec());
            begun.retain(|row| !refusals.is_silent(&database, row.store_id));
            if !begun.is_empty() {
                let asked = begun.clone();
                let done = delete_unneeded(&deletion_lock, &storage, &database, begun).await?;
                deleted += done.blobs;
                if let Some((_, error)) = done.failed.iter().find(|(_, error)| error.code() == Code::RightLost) {
                    tracing::warn!(error = error.report(), "interrupted deletions will be resumed later");
                    return Ok(deleted);
                }
                for asked in asked.chunk_by(|one, next| one.store_id == next.store_id) {
                    refusals.note(&storage, &database, asked, &done.failed).await;
                }
            }
            // The remaining rows of an unresponsive store are skipped, so that it does not delay other stores.
            if refusals.is_silent(&database, after.0) {
                after.1 = BEHIND_ALL_DIGESTS.to_vec();
            }
        }
    }
    deletion_lock.release().await;
    Ok(deleted)
}

/// Removes the deletion entries of stores that the farm does not know. An interrupted removal of a store leaves such
/// entries.
async fn remove_unknown_stores(storage: &Storage, database: &StorageDatabase) -> Result<()> {
    let found = database.database.read(deletion_queue::stores).await?;
    // The list of stores is read afterwards, because a store is known before entries exist for it.
    let known = storage.stores_now().await?;
    for store in found.into_iter().filter(|store| !known.contains(store)) {
        database.database.write_vital(move |transaction| deletion_queue::remove_store(transaction, store)).await?;
    }
    Ok(())
}

/// Refusals by stores during a run.
#[derive(Default)]
struct Refusals {
    /// Stores that are skipped for the rest of the run.
    skipped: HashSet<(Id, Id)>,
    /// Number of consecutive groups that a store refused.
    in_a_row: HashMap<(Id, Id), u32>,
    /// Stores for which a failure has been logged.
    logged: HashSet<(Id, Id)>,
}

impl Refusals {
    /// Returns the key of a store. The stores inside databases all have the same identifier, so the key includes the
    /// database.
    fn key(database: &StorageDatabase, store: Id) -> (Id, Id) {
        (if store == DATABASE_STORE { database.id } else { Id::NONE }, store)
    }

    fn is_silent(&self, database: &StorageDatabase, store: Id) -> bool {
        self.skipped.contains(&Self::key(database, store))
    }

    /// Records the outcome of a group in one store. The failure of a single BLOB does not delay others. A store that
    /// fails for the whole group is checked for responsiveness.
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
            && self.logged.insert(key)
        {
            let (store, text) = (storage.store_name(store), error.report());
            tracing::warn!(store, error = text, "copies of BLOBs whose deletion has begun could not be deleted yet");
        }
        if errors.len() < asked.len() || errors.iter().any(|error| error.kind() != ErrorKind::Unavailable) {
            self.in_a_row.remove(&key);
            return;
        }
        let in_a_row = self.in_a_row.entry(key).or_default();
        *in_a_row += 1;
        let answers = async { storage.store(store, database)?.ping().await };
        if *in_a_row >= REFUSED || answers.await.is_err() {
            self.skipped.insert(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use bytes::Bytes;
    use database::configuration::farm;
    use database::{Reader, Transaction};
    use model::{Digest, ReclaimReason, ReclaimState};
    use repository::{NewStore, Options, Repository, Session};

    use super::*;

    async fn opened(directory: &Path) -> (Repository, Session) {
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
        let (reason, state) = (ReclaimReason::Deleted, ReclaimState::Deleting);
        ReclaimRow { store_id, digest, size: 1, reason, state, since: Timestamp::now() }
    }

    async fn begin_all(database: &StorageDatabase, rows: Vec<ReclaimRow>) {
        let begin = move |transaction: &mut Transaction<'_>| {
            rows.iter().try_for_each(|row| deletion_queue::begin(transaction, row))
        };
        database.database.write(begin).await.unwrap();
    }

    async fn left(database: &StorageDatabase) -> Vec<ReclaimRow> {
        let never = Timestamp::from_micros(0);
        let read = move |reader: &mut Reader<'_>| deletion_queue::due(reader, never, (Id::NONE, Vec::new()), 10_000);
        database.database.read(read).await.unwrap()
    }

    #[tokio::test]
    async fn a_store_that_does_not_delete_keeps_no_other_one_waiting() {
        let place = tempfile::tempdir().unwrap();
        let (repository, session) = opened(place.path()).await;
        for name in ["lost", "good"] {
            let kind = "directory".to_owned();
            let store = NewStore { name: name.to_owned(), kind, location: name.to_owned(), ..NewStore::default() };
            session.add_store(store).await.unwrap();
        }
        let storage = session.storage().await.unwrap();
        let [lost, good] = ["lost", "good"].map(|name| storage.store_named(name).unwrap().id);
        assert!(lost < good, "the rows of the store that is lost come first");
        let database = storage.all_databases().unwrap().remove(0);
        let mut rows: Vec<_> = (0..512_u64).map(|number| row(lost, blobs::digest_of(&number.to_le_bytes()))).collect();
        let store = storage.store(good, &database).unwrap();
        let content = Bytes::from_static(b"not needed any more");
        let digest = blobs::digest_of(&content);
        store.put(digest, content.clone()).await.unwrap();
        rows.push(row(good, digest));
        begin_all(&database, rows).await;
        std::fs::remove_dir_all(place.path().join("lost")).unwrap();
        assert_eq!(resume_deletions(&storage).await.unwrap(), 1);
        let gone = store.ensure_present(digest, content.len() as u64).await.unwrap_err();
        assert_eq!(gone.kind(), ErrorKind::NotFound);
        let left = left(&database).await;
        assert!(left.len() == 512, "{} rows", left.len());
        assert!(left.iter().all(|row| row.store_id == lost), "{} rows", left.len());
        repository.close().await;
    }

    #[tokio::test]
    async fn a_store_that_answers_and_refuses_several_groups_in_a_row_is_asked_for_nothing_more() {
        let place = tempfile::tempdir().unwrap();
        let (repository, session) = opened(place.path()).await;
        let storage = session.storage().await.unwrap();
        let database = storage.all_databases().unwrap().remove(0);
        let id = storage.store_named("files").unwrap().id;
        let asked: Vec<_> = (0..2_u64).map(|number| row(id, blobs::digest_of(&number.to_le_bytes()))).collect();
        let refused = |count: usize| asked[..count].iter().map(|row| (row.clone(), Error::unavailable("no"))).collect();
        let mut refusals = Refusals::default();
        // A single successful deletion resets the count of refused groups.
        for (failed, is_silent) in [(2, false), (2, false), (1, false), (2, false), (2, false), (2, true)] {
            let failed: Vec<_> = refused(failed);
            refusals.note(&storage, &database, &asked, &failed).await;
            assert_eq!(refusals.is_silent(&database, id), is_silent);
        }
        repository.close().await;
    }

    #[tokio::test]
    async fn what_waits_in_a_store_that_the_farm_forgot_is_forgotten_and_not_deleted() {
        let place = tempfile::tempdir().unwrap();
        let (repository, session) = opened(place.path()).await;
        let (name, kind) = ("passing".to_owned(), "directory".to_owned());
        session.add_store(NewStore { name: name.clone(), kind, location: name, ..NewStore::default() }).await.unwrap();
        let storage = session.storage().await.unwrap();
        let id = storage.store_named("passing").unwrap().id;
        let database = storage.all_databases().unwrap().remove(0);
        let store = storage.store(id, &database).unwrap();
        let content = Bytes::from_static(b"another store's by now");
        let digest = blobs::digest_of(&content);
        store.put(digest, content.clone()).await.unwrap();
        begin_all(&database, vec![row(id, digest)]).await;
        let forget = move |transaction: &mut Transaction<'_>| farm::delete_store(transaction, id);
        storage.configuration().write(forget).await.unwrap();

        // A process that still knows the store.
        let deletion_lock = storage.configuration().try_exclusive(DELETION_LOCK).await.unwrap().unwrap();
        let done = delete_unneeded(&deletion_lock, &storage, &database, left(&database).await).await.unwrap();
        assert_eq!((done.blobs, left(&database).await.len()), (0, 1));
        deletion_lock.release().await;
        assert_eq!(resume_deletions(&storage).await.unwrap(), 0);
        assert!(left(&database).await.is_empty());
        store.ensure_present(digest, content.len() as u64).await.unwrap();
        repository.close().await;
    }

    #[tokio::test]
    async fn a_blob_that_cannot_be_deleted_keeps_no_other_one_waiting() {
        let place = tempfile::tempdir().unwrap();
        let (repository, session) = opened(place.path()).await;
        let storage = session.storage().await.unwrap();
        let database = storage.all_databases().unwrap().remove(0);
        let id = storage.store_named("files").unwrap().id;
        let store = storage.store(id, &database).unwrap();
        let mut digests = Vec::new();
        for number in 0..3 * PAGE as u64 {
            let content = Bytes::from(number.to_le_bytes().to_vec());
            let digest = blobs::digest_of(&content);
            store.put(digest, content).await.unwrap();
            digests.push(digest);
        }
        digests.sort_by_key(|digest| *digest.as_bytes());
        // A directory in the place of its file makes the first BLOB undeletable. In the first round this BLOB is alone
        // in its page.
        let stuck = digests[0];
        let large = place.path().join("blobs/large").join(format!("{:02x}", stuck.as_bytes()[0]));
        std::fs::create_dir_all(large.join(stuck.to_string())).unwrap();
        for count in [1, digests.len()] {
            begin_all(&database, digests[..count].iter().map(|digest| row(id, *digest)).collect()).await;
            assert_eq!(resume_deletions(&storage).await.unwrap(), count as u64 - 1);
            let left = left(&database).await;
            assert!(left.len() == 1, "{} rows", left.len());
            assert!(left[0].digest == stuck, "{} rows", left.len());
        }
        repository.close().await;
    }
}

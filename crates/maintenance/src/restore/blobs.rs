//! Restore of a content database's BLOBs from a backup into the stores that the database names.

use std::collections::BTreeSet;
use std::sync::Arc;

use ::blobs::{BlobHasher, BlobStore, Locator, Stored};
use async_recursion::async_recursion as boxed;
use database::content::blob::{self, BlobRow};
use database::content::census;
use database::content::fault::{self, FaultRow};
use database::{Database, Reader, Transaction};
use model::{Digest, Error, ErrorKind, FaultState, Id, Result, Timestamp};
use repository::DATABASE_STORE;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::stores::Store;
use crate::Progress;
use crate::backup::format::index::Entry;
use crate::backup::format::list::List;
use crate::backup::format::manifest::Manifest;
use crate::backup::format::vault::{BackupObjects, MAX_IN_MEMORY};
use crate::documents::Addresses;

const PAGE: usize = 2_000;
/// Maximum number of BLOBs, and of bytes in memory, that are copied concurrently.
const AT_ONCE: usize = 192;
const MEMORY: u32 = 64 << 20;
/// Number of references updated per transaction.
const BATCH: usize = 500;

/// A BLOB that neither its store nor the backup has intact.
#[derive(Clone, Debug)]
pub(super) struct Missing {
    pub database: String,
    pub digest: Digest,
    pub why: String,
    /// Paths of some documents that need the BLOB.
    pub documents: Vec<String>,
}

/// Result of restoring BLOBs.
#[derive(Default)]
pub(super) struct RestoredBlobs {
    pub copied: (u64, u64),
    pub present: (u64, u64),
    /// Missing BLOBs whose loss was not accepted.
    pub missing: Vec<Missing>,
    /// Number of BLOBs whose loss had been accepted when the backup was taken.
    pub lost: u64,
}

/// Restores the BLOBs of one database.
pub(super) struct BlobRestore<'a> {
    pub vault: &'a BackupObjects,
    pub name: &'a str,
    pub database: &'a Database,
    pub stores: &'a [Store],
    /// Digests of BLOBs whose loss had been accepted when the set was made.
    pub lost: &'a BTreeSet<Digest>,
    pub addresses: &'a Addresses,
    pub progress: &'a Arc<Progress>,
}

/// Returns the digests whose loss had been accepted when a set was made.
pub(super) fn lost(manifest: &Manifest) -> BTreeSet<Digest> {
    manifest.blobs.lost.iter().filter_map(|text| text.parse().ok()).collect()
}

enum BlobOutcome {
    Present,
    Copied(Stored),
    Missing(String),
}

impl BlobRestore<'_> {
    /// Copies every BLOB that documents need into its store, unless the store has it.
    #[boxed]
    pub async fn run(&self, index: Vec<Entry>, outcome: &mut RestoredBlobs) -> Result<()> {
        let mut index = List::new(index);
        let mut after = None;
        loop {
            let find = move |reader: &mut Reader<'_>| census::needed(reader, after, DATABASE_STORE, PAGE);
            let page = self.database.read_long(find).await?;
            after = page.last().map(|row| row.digest);
            if after.is_none() {
                return Ok(());
            }
            let mut wanted = Vec::with_capacity(page.len());
            for row in page {
                let entry = index.seek(self.vault, &row.digest).await?;
                wanted.push((row, entry));
            }
            // BLOBs are copied in the order in which they were originally stored, because they will be read in that
            // order.
            wanted.sort_unstable_by_key(|(row, _)| row.id);
            self.page(wanted, outcome).await?;
        }
    }

    async fn page(&self, wanted: Vec<(BlobRow, Option<Entry>)>, outcome: &mut RestoredBlobs) -> Result<()> {
        let memory = Arc::new(Semaphore::new(MEMORY as usize));
        let mut running: JoinSet<(BlobRow, Result<BlobOutcome>)> = JoinSet::new();
        let mut moved = Vec::new();
        let mut waiting = wanted.into_iter();
        loop {
            let next = waiting.next();
            while next.is_none() && !running.is_empty() || running.len() >= AT_ONCE {
                let Some(done) = running.join_next().await else { break };
                let (row, done) =
                    done.map_err(|e| Error::unavailable("restoring a BLOB was interrupted").with_source(e))?;
                self.record_outcome(row, done?, &mut moved, outcome).await?;
            }
            let Some((row, entry)) = next else { break };
            let held = (row.size.max(1) as u64).min(MAX_IN_MEMORY) as u32 * 2;
            let room = memory.clone().acquire_many_owned(held.min(MEMORY)).await;
            let store = self.stores.iter().find(|store| store.id == row.store_id).and_then(|store| store.open.clone());
            let (vault, progress) = (self.vault.clone(), self.progress.clone());
            running.spawn(async move {
                let done = match store {
                    Some(store) => one(&vault, &store, &row, entry).await,
                    None => Err(Error::unavailable(format!("the farm has no store {}", row.store_id))),
                };
                drop(room);
                progress.add_files(1);
                progress.add_bytes(row.size.max(0) as u64);
                (row, done)
            });
        }
        self.note(&mut moved, 0).await
    }

    async fn record_outcome(
        &self,
        row: BlobRow,
        done: BlobOutcome,
        moved: &mut Vec<(Id, Id, Locator)>,
        outcome: &mut RestoredBlobs,
    ) -> Result<()> {
        let size = row.size.max(0) as u64;
        match done {
            BlobOutcome::Present => outcome.present = (outcome.present.0 + 1, outcome.present.1 + size),
            BlobOutcome::Copied(stored) => {
                outcome.copied = (outcome.copied.0 + 1, outcome.copied.1 + size);
                moved.push((row.id, row.store_id, stored.locator));
                self.note(moved, BATCH).await?;
            }
            BlobOutcome::Missing(why) => {
                if self.note_loss(&row, &why).await? {
                    outcome.lost += 1;
                    return Ok(());
                }
                let digest = row.digest;
                let documents = self.addresses.of(self.database, digest, 5).await?;
                outcome.missing.push(Missing { database: self.name.to_owned(), digest, why, documents });
            }
        }
        Ok(())
    }

    /// Records that a BLOB is missing. Returns whether its loss was accepted before.
    async fn note_loss(&self, row: &BlobRow, why: &str) -> Result<bool> {
        let now = Timestamp::now();
        let noted = FaultRow {
            store_id: row.store_id,
            digest: row.digest,
            state: FaultState::Missing,
            detail: format!("restored without it: {why}"),
            found_at: now,
            accepted_at: None,
            accepted_by: None,
        };
        let is_lost = self.lost.contains(&row.digest);
        let write = move |transaction: &mut Transaction<'_>| {
            if fault::find(transaction, &noted.digest)?.iter().any(|fault| fault.accepted_at.is_some()) {
                return Ok(true);
            }
            fault::put(transaction, &noted)?;
            if is_lost {
                // The loss was accepted in another content database, or between the snapshot of this database and the
                // end of the backup.
                fault::accept(transaction, &noted.digest, now, Id::NONE)?;
            }
            Ok(is_lost)
        };
        self.database.write(write).await
    }

    /// Saves the new locators of BLOBs if there are more than `most`.
    async fn note(&self, moved: &mut Vec<(Id, Id, Locator)>, most: usize) -> Result<()> {
        if moved.len() <= most {
            return Ok(());
        }
        let places = std::mem::take(moved);
        let write = move |transaction: &mut Transaction<'_>| {
            for (id, store, locator) in &places {
                blob::relocate(transaction, *id, *store, *store, Some(locator.as_bytes()))?;
            }
            Ok(())
        };
        self.database.write(write).await
    }
}

async fn one(vault: &BackupObjects, store: &BlobStore, row: &BlobRow, entry: Option<Entry>) -> Result<BlobOutcome> {
    let size = row.size.max(0) as u64;
    let locator = row.locator.as_deref().and_then(|bytes| Locator::from_bytes(bytes).ok());
    let mut why = match verify(store, row.digest, size, locator.as_ref()).await {
        Ok(()) => return Ok(BlobOutcome::Present),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => error.message().to_owned(),
        Err(error) => return Err(error),
    };
    if let Some(entry) = entry {
        match copy(vault, store, &entry).await {
            Err(error) if error.kind() == ErrorKind::Corrupt => why = error.message().to_owned(),
            copied => return copied.map(BlobOutcome::Copied),
        }
    }
    Ok(BlobOutcome::Missing(why))
}

/// Reads a BLOB to its end and compares its digest. The whole BLOB is read because one that counts as present is not
/// copied from the backup.
async fn verify(store: &BlobStore, digest: Digest, size: u64, locator: Option<&Locator>) -> Result<()> {
    let mut reader = store.open(digest, size, locator).await?;
    let mut hasher = BlobHasher::new();
    while let Some(bytes) = reader.next_chunk().await? {
        hasher.update(&bytes);
    }
    match hasher.finish() == digest {
        true => Ok(()),
        false => Err(Error::corrupt(format!("the bytes of the BLOB {digest} in its store do not match its digest"))),
    }
}

/// Opens a BLOB and reads its beginning, because opening alone need not verify any bytes. The read verifies a short
/// BLOB as a whole, and the first chunk of a long one.
pub(super) async fn probe(store: &BlobStore, digest: Digest, size: u64, locator: Option<&Locator>) -> Result<()> {
    let mut reader = store.open(digest, size, locator).await?;
    reader.set_range(0..1);
    reader.next_chunk().await.map(drop)
}

/// Copies one BLOB into a store. Its bytes are verified before the store commits them.
pub(super) async fn copy(vault: &BackupObjects, store: &BlobStore, entry: &Entry) -> Result<Stored> {
    if entry.size <= MAX_IN_MEMORY {
        let bytes = vault.get_all(entry, MAX_IN_MEMORY).await?;
        return store.put(entry.digest, bytes).await;
    }
    let mut opened = vault.open(entry).await?;
    let mut writer = store.writer(Some(entry.size)).await?;
    while let Some(piece) = opened.next().await? {
        writer.write(piece).await?;
    }
    writer.finish().await
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use ::blobs::{DirectoryOptions, Owner, digest_of};
    use bytes::Bytes;

    use super::*;

    #[tokio::test]
    async fn a_damaged_blob_is_not_there_whatever_was_opened_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let options = DirectoryOptions { writers: 1, zero_fill: false, ..Default::default() };
        let store = BlobStore::open_directory(dir.path(), &Owner::new("farm").unwrap(), options).await.unwrap();
        let contents: Vec<Bytes> = (1..=2u8).map(|fill| Bytes::from(vec![fill; 150_000])).collect();
        let mut stored = Vec::new();
        for bytes in &contents {
            stored.push(store.put(digest_of(bytes), bytes.clone()).await.unwrap());
        }
        let files = walk(dir.path());
        let (holder, at) = files.iter().find_map(|path| Some((path, place_of(path, &contents[1])?))).unwrap();
        let mut bytes = std::fs::read(holder).unwrap();
        bytes[at + 75_000] ^= 1;
        std::fs::write(holder, bytes).unwrap();
        // Reading the first BLOB caches the segment, which also contains the second.
        for _ in 0..2 {
            probe(&store, stored[0].digest, stored[0].size, Some(&stored[0].locator)).await.unwrap();
        }
        let found = probe(&store, stored[1].digest, stored[1].size, Some(&stored[1].locator)).await;
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Corrupt);
        store.close().await;
    }

    #[tokio::test]
    async fn damage_far_into_a_long_blob_is_no_presence() {
        let dir = tempfile::tempdir().unwrap();
        let options = DirectoryOptions { writers: 1, zero_fill: false, ..Default::default() };
        let store = BlobStore::open_directory(dir.path(), &Owner::new("farm").unwrap(), options).await.unwrap();
        let content = Bytes::from((0..3_000_000u32).map(|i| ((i * 31) >> 3) as u8).collect::<Vec<_>>());
        let stored = store.put(digest_of(&content), content.clone()).await.unwrap();
        let (digest, size) = (stored.digest, stored.size);
        verify(&store, digest, size, Some(&stored.locator)).await.unwrap();
        store.close().await;
        let files = walk(dir.path());
        let (holder, at) = files.iter().find_map(|path| Some((path, place_of(path, &content)?))).unwrap();
        let mut bytes = std::fs::read(holder).unwrap();
        bytes[at + 2_900_000] ^= 1;
        std::fs::write(holder, bytes).unwrap();
        let options = DirectoryOptions { writers: 1, zero_fill: false, ..Default::default() };
        let store = BlobStore::open_directory(dir.path(), &Owner::new("farm").unwrap(), options).await.unwrap();
        probe(&store, digest, size, Some(&stored.locator)).await.unwrap();
        let found = verify(&store, digest, size, Some(&stored.locator)).await;
        assert_eq!(found.unwrap_err().kind(), ErrorKind::Corrupt);
        store.close().await;
    }

    fn walk(directory: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
        entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
    }

    fn place_of(path: &Path, content: &Bytes) -> Option<usize> {
        let found = std::fs::read(path).unwrap();
        found.windows(content.len()).position(|window| window == &content[..])
    }
}

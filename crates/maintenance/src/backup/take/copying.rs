//! Copying of BLOBs into a backup. BLOBs of earlier sets are taken from their index. The others are read from their
//! current store, many concurrently, in the order in which they were stored.

use std::sync::Arc;

use database::content::{blob, fault};
use model::{Code, Digest, Error, ErrorKind, Id, Result, counted};
use repository::{Storage, StorageDatabase};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::Progress;
use crate::backup::format::index::{Entry, PART};
use crate::backup::format::list::{List, store_part};
use crate::backup::format::manifest::BlobsPart;
use crate::backup::format::vault::{BackupObjects, MAX_IN_MEMORY};
use crate::backup::place::destination::Destination;
use crate::documents::{Addresses, listed};

use super::census::{Census, Needed};
use super::pace::Throttle;

/// Bytes of new BLOBs after which progress is recorded, so that an interrupted backup need not store them again.
const BYTES_PER_SAVE: u64 = 1 << 30;
/// Maximum number of BLOBs, and of bytes in memory, that are copied concurrently.
const AT_ONCE: usize = 192;
const MEMORY: u32 = 64 << 20;
/// Maximum number of BLOBs named in the error of an incomplete set.
const NAMED: usize = 20;

/// A BLOB that could not be copied.
struct Missing {
    digest: Digest,
    why: String,
}

/// The BLOBs that could not be copied: the first ones, and the number of all.
#[derive(Default)]
struct MissingBlobs {
    named: Vec<Missing>,
    count: u64,
}

impl MissingBlobs {
    fn add(&mut self, missing: Missing) {
        self.count += 1;
        if self.named.len() < NAMED {
            self.named.push(missing);
        }
    }
}

/// Copies the BLOBs of one set.
pub(crate) struct Copying<'a> {
    pub destination: &'a Destination,
    pub set: Id,
    pub storage: Storage,
    pub databases: Vec<StorageDatabase>,
    pub progress: Arc<Progress>,
    /// BLOB lists of the earlier set and of interrupted sets, each sorted by digest.
    pub known: Vec<List>,
    /// Set when the census reads live databases. It may then list BLOBs that no document needs.
    pub is_live: bool,
}

/// Content copied so far.
#[derive(Default)]
pub(crate) struct Copied {
    pub blobs: BlobsPart,
    pub new_bytes: u64,
}

impl Copying<'_> {
    /// Copies all BLOBs that the census lists.
    ///
    /// # Errors
    /// `Corrupt`, naming BLOBs and their documents, when some BLOBs cannot be read from any store.
    pub(crate) async fn run(mut self, mut census: Census) -> Result<Copied> {
        let mut copied = Copied::default();
        let mut pace = Throttle::follow(self.databases.iter().map(|database| database.database.clone()).collect());
        let mut missing = MissingBlobs::default();
        let (mut entries, mut new, mut new_bytes) = (Vec::new(), Vec::new(), 0);
        loop {
            let next = census.next().await?;
            let ended = next.is_none();
            if let Some(needed) = next {
                let size = needed.row.size.max(0) as u64;
                match self.known(&needed.row.digest).await {
                    Some(entry) => {
                        self.progress.add_files(1);
                        self.progress.add_bytes(size);
                        entries.push(entry);
                    }
                    None => {
                        new_bytes += size;
                        new.push(needed);
                    }
                }
            }
            let full = entries.len() + new.len() == PART || new_bytes >= BYTES_PER_SAVE;
            if (ended || full) && !(entries.is_empty() && new.is_empty()) {
                let work = std::mem::take(&mut new);
                self.copy(work, &mut pace, &mut entries, &mut copied, &mut missing).await?;
                new_bytes = 0;
                self.list(&mut entries, &mut copied).await?;
            }
            if ended {
                break;
            }
        }
        if missing.count == 0 { Ok(copied) } else { Err(self.incomplete(&missing).await?) }
    }

    /// Returns the entry of a BLOB in an earlier set. A damaged list is treated as ended.
    async fn known(&mut self, digest: &Digest) -> Option<Entry> {
        let vault = &self.destination.vault;
        for list in &mut self.known {
            match list.seek(vault, digest).await {
                Ok(found) => {
                    if let Some(entry) = found.filter(|entry| vault.is_intact(entry)) {
                        return Some(entry);
                    }
                }
                Err(error) => {
                    tracing::warn!(
                        error = error.report(),
                        "an earlier backup's index cannot be read; its BLOBs are stored again"
                    );
                    *list = List::new(Vec::new());
                }
            }
        }
        None
    }

    async fn copy(
        &self,
        mut new: Vec<Needed>,
        pace: &mut Throttle,
        entries: &mut Vec<Entry>,
        copied: &mut Copied,
        missing: &mut MissingBlobs,
    ) -> Result<()> {
        // Identifiers rise with time, and so do positions within a store.
        new.sort_unstable_by_key(|needed| (needed.database, needed.row.id));
        let memory = Arc::new(Semaphore::new(MEMORY as usize));
        let mut running: JoinSet<(Digest, Result<(Entry, u64)>)> = JoinSet::new();
        let mut waiting = new.into_iter();
        loop {
            let next = waiting.next();
            let pauses = next.as_ref().is_some_and(|needed| pace.must_pause(needed.row.size.max(0) as u64));
            while (next.is_none() || pauses) && !running.is_empty() || running.len() >= AT_ONCE {
                let Some(done) = running.join_next().await else { break };
                let (digest, done) =
                    done.map_err(|e| Error::unavailable("copying a BLOB was interrupted").with_source(e))?;
                self.settle(digest, done, entries, copied, missing).await?;
            }
            let Some(needed) = next else { return Ok(()) };
            if pauses {
                pace.pause().await;
            }
            // Larger BLOBs are streamed and need no more memory than this.
            let held = (needed.row.size.max(1) as u64).min(MAX_IN_MEMORY) as u32 * 2;
            let room = memory.clone().acquire_many_owned(held.min(MEMORY)).await;
            let (storage, databases) = (self.storage.clone(), self.databases.clone());
            let (vault, progress) = (self.destination.vault.clone(), self.progress.clone());
            running.spawn(async move {
                let (digest, size) = (needed.row.digest, needed.row.size.max(0) as u64);
                let done = copy_blob(&vault, &storage, &databases, &needed).await;
                drop(room);
                progress.add_files(1);
                progress.add_bytes(size);
                (digest, done)
            });
        }
    }

    async fn settle(
        &self,
        digest: Digest,
        done: Result<(Entry, u64)>,
        entries: &mut Vec<Entry>,
        copied: &mut Copied,
        missing: &mut MissingBlobs,
    ) -> Result<()> {
        match done {
            Ok((entry, new_bytes)) => {
                entries.push(entry);
                copied.new_bytes += new_bytes;
                Ok(())
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => {
                if self.is_loss_accepted(digest).await? {
                    copied.blobs.lost.push(digest.to_string());
                } else if self.is_live && !self.is_needed(digest).await? {
                    tracing::debug!(%digest, "a BLOB that no document needs disappeared during the backup");
                } else {
                    missing.add(Missing { digest, why: error.message().to_owned() });
                }
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns whether the loss of a BLOB has been accepted.
    async fn is_loss_accepted(&self, digest: Digest) -> Result<bool> {
        for database in &self.databases {
            let faults = database.database.read(move |reader| fault::find(reader, &digest)).await?;
            if faults.iter().any(|fault| fault.accepted_at.is_some()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether a document needs a BLOB.
    async fn is_needed(&self, digest: Digest) -> Result<bool> {
        for database in &self.databases {
            let find = move |reader: &mut database::Reader<'_>| blob::documents_of(reader, &digest, 1);
            if !database.database.read_long(find).await?.is_empty() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the paths of some documents that need a BLOB.
    async fn documents_of(&self, digest: Digest, addresses: &Addresses) -> Result<Vec<String>> {
        let mut documents = Vec::new();
        for database in &self.databases {
            documents.extend(addresses.of(&database.database, digest, 3).await?);
        }
        Ok(documents)
    }

    /// Stores the next parts of the BLOB list and records the progress of the set.
    async fn list(&self, entries: &mut Vec<Entry>, copied: &mut Copied) -> Result<()> {
        entries.sort_unstable_by_key(|entry| entry.digest);
        copied.blobs.count += entries.len() as u64;
        copied.blobs.bytes += entries.iter().map(|entry| entry.size).sum::<u64>();
        for part in entries.chunks(PART) {
            let (part, new_bytes) = store_part(&self.destination.vault, part).await?;
            copied.blobs.index.push(part);
            copied.new_bytes += new_bytes;
        }
        entries.clear();
        self.destination.note(self.set, &copied.blobs.index).await
    }

    async fn incomplete(&self, missing: &MissingBlobs) -> Result<Error> {
        let addresses = Addresses::read(self.storage.configuration()).await?;
        let mut text = format!(
            "{} that documents need {} missing or damaged, so the backup would be incomplete:",
            counted(missing.count, "BLOB"),
            if missing.count == 1 { "is" } else { "are" }
        );
        for missing in &missing.named {
            let digest = missing.digest;
            let names = self.documents_of(digest, &addresses).await?;
            let names = listed(&names, "documents deleted meanwhile");
            text.push_str(&format!("\n  {digest}, needed by {names}: {}", missing.why));
        }
        let others = missing.count - missing.named.len() as u64;
        if others > 0 {
            text.push_str(&format!("\n  and {others} more"));
        }
        text.push_str(
            "\n\
             Bring them back from an earlier backup (`strongroom blobs repair --from-backup`), upload these documents \
             again, or accept the loss (`strongroom blobs check`, then `strongroom blobs accept-loss DIGEST`)",
        );
        Ok(Error::corrupt(text).with_code(Code::BackupIncomplete))
    }
}

/// Copies one BLOB from the first store that has it intact.
async fn copy_blob(
    vault: &BackupObjects,
    storage: &Storage,
    databases: &[StorageDatabase],
    needed: &Needed,
) -> Result<(Entry, u64)> {
    let (digest, size) = (needed.row.digest, needed.row.size.max(0) as u64);
    let locator = needed.row.locator.as_deref().and_then(|bytes| blobs::Locator::from_bytes(bytes).ok());
    let mut failure = Error::not_found(format!("no store has the BLOB {digest}"));
    if let Some(database) = databases.get(needed.database) {
        match copy_from(vault, storage, database, needed.row.store_id, digest, size, locator).await {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => failure = error,
            done => return done,
        }
    }
    // The BLOB may have been moved to another store meanwhile, or another database may have an undamaged copy.
    for database in databases {
        let found = database.database.read(move |reader| blob::find(reader, &digest)).await?;
        let Some(row) = found else { continue };
        match copy_from(vault, storage, database, row.store_id, digest, size, None).await {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => failure = error,
            done => return done,
        }
    }
    Err(failure)
}

async fn copy_from(
    vault: &BackupObjects,
    storage: &Storage,
    database: &StorageDatabase,
    store: Id,
    digest: Digest,
    size: u64,
    locator: Option<blobs::Locator>,
) -> Result<(Entry, u64)> {
    let name = storage.store_name(store);
    let named = |error: Error| {
        let text = format!("the BLOB store \"{name}\": {}", error.message());
        Error::new(error.kind(), text).with_code(error.code()).with_source(error)
    };
    let store = storage.store(store, database)?;
    let reader = store.open(digest, size, locator.as_ref()).await.map_err(named)?;
    vault.put_reader(digest, size, reader).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_missing_blobs_are_counted_and_the_first_are_named() {
        let mut missing = MissingBlobs::default();
        for number in 0..10_500u32 {
            missing.add(Missing { digest: blobs::digest_of(&number.to_le_bytes()), why: String::new() });
        }
        assert_eq!((missing.count, missing.named.len()), (10_500, NAMED));
    }
}

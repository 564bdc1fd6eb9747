//! Repair of missing or damaged BLOBs: finding the references that need the bytes and the stores that take them, and
//! settling the fault. Bytes are fetched here from other stores of the farm. Bytes from a backup are supplied by the
//! code that reads the backup.

use async_recursion::async_recursion as boxed;
use blobs::{BlobHasher, BlobStore, Stored};
use database::Transaction;
use database::content::blob::{self, BlobRow};
use database::content::deletion_queue;
use database::content::fault::{self, FaultRow};
use model::{Digest, Error, ErrorKind, Id, Result};

use crate::storage::built_in::DATABASE_STORE;
use crate::storage::faults::{audit, no_fault};
use crate::{Session, Storage, StorageDatabase};

/// A reference whose bytes are missing or damaged, with the store that takes the new copy.
#[derive(Clone)]
pub struct Repair {
    storage: Storage,
    database: StorageDatabase,
    fault: FaultRow,
    reference: BlobRow,
    to: Id,
    target: BlobStore,
}

/// The repairs for all faults of one BLOB.
pub struct Repairs {
    /// References that need the bytes.
    pub needed: Vec<Repair>,
    /// Number of faults that were settled at once, because nothing needs the copy any more.
    pub settled: usize,
}

impl Session {
    /// Looks for a BLOB in every other store of the farm and copies it from there. Returns the name of the store that
    /// had it.
    ///
    /// Damaged bytes are never accepted: the digest is verified before the bytes are taken.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound` when the BLOB has no fault, or no other store
    /// has it intact.
    #[boxed]
    pub async fn repair_blob(&self, digest: Digest) -> Result<String> {
        let storage = self.storage().await?;
        let repairs = storage.repairs(digest).await?;
        let mut found = (repairs.settled > 0).then(|| "nowhere: it is not needed any more".to_owned());
        for repair in repairs.needed {
            if let Some(name) = repair.take_from_other_stores().await? {
                found = Some(name);
            }
        }
        found.ok_or_else(|| {
            Error::not_found(format!(
                "no other store has the BLOB {digest} whole: repair it from a backup, upload one of its documents \
                again, or accept \
                 the loss"
            ))
        })
    }
}

impl Storage {
    /// Returns the digests of all BLOBs with a fault on record, each once, in ascending order, and whether the loss was
    /// accepted.
    #[boxed]
    pub async fn faulty_blobs(&self) -> Result<Vec<(Digest, bool)>> {
        const PAGE: usize = 2_000;
        let mut found: Vec<(Digest, bool)> = Vec::new();
        for database in self.databases()? {
            let mut after = None;
            loop {
                let page = database.database.read_long(move |reader| fault::list(reader, after, PAGE)).await?;
                let Some(last) = page.last() else { break };
                after = Some((last.digest, last.store_id));
                found.extend(page.iter().map(|row| (row.digest, row.accepted_at.is_some())));
            }
        }
        // A loss that is not accepted everywhere counts as open: false sorts first.
        found.sort_unstable();
        found.dedup_by_key(|(digest, _)| *digest);
        Ok(found)
    }

    /// Returns the references that need a BLOB with a fault. Each takes the bytes into its own store, or into the
    /// active store of its content database when its own is not attached.
    ///
    /// # Errors
    /// `NotFound` when the BLOB has no fault on record.
    #[boxed]
    pub async fn repairs(&self, digest: Digest) -> Result<Repairs> {
        let mut repairs = Repairs { needed: Vec::new(), settled: 0 };
        let mut has_fault = false;
        for database in self.databases()? {
            let read = move |reader: &mut database::Reader<'_>| {
                Ok((fault::find(reader, &digest)?, blob::find(reader, &digest)?))
            };
            let (faults, reference) = database.database.read(read).await?;
            for fault in faults {
                has_fault = true;
                let Some(reference) = reference.clone().filter(|row| row.store_id == fault.store_id) else {
                    // The reference is gone or points to another store now, so nothing needs this copy.
                    forget(&database, &fault).await?;
                    repairs.settled += 1;
                    continue;
                };
                let (to, target) = match self.store(fault.store_id, &database) {
                    Ok(target) => (fault.store_id, target),
                    Err(_) => (database.active_store, self.store(database.active_store, &database)?),
                };
                let (storage, database) = (self.clone(), database.clone());
                repairs.needed.push(Repair { storage, database, fault, reference, to, target });
            }
        }
        if has_fault {
            return Ok(repairs);
        }
        self.all_databases()?;
        Err(no_fault(digest))
    }
}

impl Repair {
    /// Returns the number of bytes needed.
    pub fn size(&self) -> u64 {
        self.reference.size.max(0) as u64
    }

    /// Returns the store that takes them.
    pub fn target(&self) -> &BlobStore {
        &self.target
    }

    /// Rereads the stored bytes, moves the reference to them, deletes the fault and records the repair in the audit
    /// log. `from` names the origin of the bytes.
    ///
    /// # Errors
    /// `Corrupt` when other bytes were stored or are read back; `Unavailable` when a collection is deleting the copy at
    /// that moment.
    #[boxed]
    pub async fn finish(&self, stored: &Stored, from: &str) -> Result<()> {
        let digest = self.fault.digest;
        if stored.digest != digest || !is_whole(&self.target, digest, self.size()).await? {
            return Err(Error::corrupt(format!("the BLOB {digest} was not read back as it was written")));
        }
        let (from_store, to, reference) = (self.fault.store_id, self.to, self.reference.id);
        let locator = stored.locator;
        let write = move |transaction: &mut Transaction<'_>| {
            deletion_queue::require_not_deleting(transaction, to, &digest)?;
            blob::relocate(transaction, reference, from_store, to, Some(locator.as_bytes())).map(drop)
        };
        self.database.database.write_vital(write).await?;
        // The bytes are safe from deletion only since the reference points to them, so they are confirmed now.
        self.target.ensure_present(digest, self.size()).await?;
        let settle = move |transaction: &mut Transaction<'_>| fault::remove(transaction, from_store, &digest);
        self.database.database.write_vital(settle).await?;
        audit(&self.storage, "blob.repair", digest, &format!("from {from}")).await
    }

    /// Copies the bytes from another store of the farm. Returns the name of that store, or `None` when no other store
    /// has them intact.
    ///
    /// # Errors
    /// The error of a store that could not be examined, when none of the others has the bytes.
    async fn take_from_other_stores(&self) -> Result<Option<String>> {
        let (digest, mut silent) = (self.fault.digest, None);
        for (row, shared) in self.storage.stores() {
            if row.id == self.fault.store_id && row.id != DATABASE_STORE {
                continue;
            }
            let candidates: Vec<BlobStore> = match shared {
                Some(store) => vec![store.clone()],
                None if row.id == DATABASE_STORE => {
                    self.storage.databases()?.into_iter().map(|database| database.own_store).collect()
                }
                None => continue,
            };
            for candidate in candidates {
                match is_whole(&candidate, digest, self.size()).await {
                    Ok(true) => {}
                    Ok(false) => continue,
                    // Another store may have them.
                    Err(error) => {
                        silent = Some(error);
                        continue;
                    }
                }
                let mut source = candidate.open(digest, self.size(), None).await?;
                let mut writer = self.target.writer(Some(self.size())).await?;
                while let Some(bytes) = source.next_chunk().await? {
                    writer.write(bytes).await?;
                }
                self.finish(&writer.finish().await?, &row.name).await?;
                return Ok(Some(row.name.clone()));
            }
        }
        silent.map_or(Ok(None), Err)
    }
}

async fn forget(database: &StorageDatabase, fault: &FaultRow) -> Result<()> {
    let (store, digest) = (fault.store_id, fault.digest);
    database.database.write_vital(move |transaction| fault::remove(transaction, store, &digest)).await
}

/// Returns whether the store has the BLOB intact.
pub(crate) async fn is_whole(store: &BlobStore, digest: Digest, size: u64) -> Result<bool> {
    let read = async {
        store.ensure_present(digest, size).await?;
        let mut reader = store.open(digest, size, None).await?;
        let mut hasher = BlobHasher::new();
        while let Some(bytes) = reader.next_chunk().await? {
            hasher.update(&bytes);
        }
        Ok::<bool, Error>(hasher.finish() == digest)
    };
    match read.await {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => Ok(false),
        read => read,
    }
}

//! Bringing missing or damaged BLOBs back: which reference needs the bytes, which store takes them, and the end of the fault. Bytes
//! of other stores of the farm are fetched here; those of backups come from whoever has the backup.

use blobs::{BlobHasher, BlobStore, Stored};
use database::Transaction;
use database::content::blob::{self, BlobRow};
use database::content::fault::{self, FaultRow};
use database::content::reclaim;
use model::{Digest, Error, ErrorKind, Id, Result};

use crate::storage::built_in::DATABASE_STORE;
use crate::storage::faults::{audit, no_fault};
use crate::{Session, Storage, StorageDatabase};

/// A reference whose bytes are missing or damaged, and the store that takes them anew.
#[derive(Clone)]
pub struct Repair {
    storage: Storage,
    database: StorageDatabase,
    fault: FaultRow,
    reference: BlobRow,
    to: Id,
    target: BlobStore,
}

/// What the faults of one BLOB come to.
pub struct Repairs {
    /// References that need the bytes.
    pub needed: Vec<Repair>,
    /// Faults that were settled at once, since nothing needs the copy any more.
    pub settled: usize,
}

impl Session {
    /// Looks for a BLOB in every other store of the farm and brings it back from there. Answers with the name of the store that
    /// had it.
    ///
    /// What is damaged is never read as good: the bytes must have the digest before they are taken.
    ///
    /// Errors: `Forbidden` for others than farm administrators; `NotFound` when it has no fault, or no other store has it whole.
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
                "no other store has the BLOB {digest} whole: repair it from a backup, upload one of its documents again, or accept \
                 the loss"
            ))
        })
    }
}

impl Storage {
    /// Digests of all BLOBs that have a fault on record, each once, in rising order, and whether its loss was accepted.
    pub async fn faulty_blobs(&self) -> Result<Vec<(Digest, bool)>> {
        const PAGE: usize = 2_000;
        let mut found: Vec<(Digest, bool)> = Vec::new();
        for database in self.databases()? {
            let mut after = None;
            loop {
                let page = database.database.read_long(move |reader| fault::list(reader, after, PAGE)).await?;
                let Some(last) = page.last() else { break };
                // Faults of one BLOB in several stores that the end of a page cuts apart are the same digest.
                after = Some(last.digest);
                found.extend(page.iter().map(|row| (row.digest, row.accepted_at.is_some())));
            }
        }
        // One that is not accepted everywhere is open.
        found.sort_unstable();
        found.dedup_by_key(|(digest, _)| *digest);
        Ok(found)
    }

    /// The references that need a BLOB with a fault. Each takes the bytes into its own store; into the active one of its content
    /// database when its own is not attached.
    ///
    /// Errors: `NotFound` when the BLOB has no fault on record.
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
                    // The reference leads elsewhere now, or is gone: nothing needs this copy.
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
    /// How many bytes are needed.
    pub fn size(&self) -> u64 {
        self.reference.size.max(0) as u64
    }

    /// The store that takes them.
    pub fn target(&self) -> &BlobStore {
        &self.target
    }

    /// Reads what was stored again, leads the reference to it, ends the fault and writes it into the audit log. `from` says where the
    /// bytes came from.
    ///
    /// Errors: `Corrupt` when other bytes were stored, or come back; `Unavailable` when a collection deletes the copy just then.
    pub async fn finish(&self, stored: &Stored, from: &str) -> Result<()> {
        let digest = self.fault.digest;
        if stored.digest != digest || !is_whole(&self.target, digest, self.size()).await? {
            return Err(Error::corrupt(format!("the BLOB {digest} was not read back as it was written")));
        }
        let (from_store, to, reference) = (self.fault.store_id, self.to, self.reference.id);
        let locator = stored.locator;
        let write = move |transaction: &mut Transaction<'_>| {
            reclaim::require_not_deleting(transaction, to, &digest)?;
            blob::relocate(transaction, reference, from_store, to, Some(locator.as_bytes())).map(drop)
        };
        self.database.database.write_vital(write).await?;
        // Only since the reference leads to it, nobody deletes it any more.
        self.target.confirm(digest, self.size()).await?;
        let settle = move |transaction: &mut Transaction<'_>| fault::remove(transaction, from_store, &digest);
        self.database.database.write_vital(settle).await?;
        audit(&self.storage, "blob.repair", digest, &format!("from {from}")).await
    }

    /// Brings the bytes back from another store of the farm; its name, or none when no other store has them whole.
    ///
    /// Errors: what a store says that could not be looked into, when none of the others has them.
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

/// Whether the store has the BLOB whole.
pub(crate) async fn is_whole(store: &BlobStore, digest: Digest, size: u64) -> Result<bool> {
    let read = async {
        store.confirm(digest, size).await?;
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

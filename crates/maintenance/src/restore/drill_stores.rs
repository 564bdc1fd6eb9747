//! What a drill of a set without BLOBs looks for in the stores of the farm: whether the bytes that its documents need are there. Of long
//! ones only the beginning is read; all of it is what a check reads.

use std::collections::BTreeMap;

use ::blobs::BlobStore;
use database::content::census::VersionBlob;
use database::content::fault;
use model::{Digest, Error, ErrorKind, Id, Result};
use repository::{Storage, StorageDatabase};

use super::blobs::is_there;
use crate::documents::Addresses;

/// Versions that are named when their bytes are missing.
const NAMED: usize = 20;

/// What was found of versions whose bytes lie in the farm's stores.
#[derive(Clone, Debug, Default)]
pub struct Outside {
    /// Versions of documents.
    pub versions: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those whose bytes are in the store that the backup says.
    pub present: u64,
    /// Those whose bytes are not there, or not whole.
    pub missing: u64,
    /// Paths of some of these, and what is wrong.
    pub faults: Vec<String>,
    /// Those without bytes, whose loss was accepted before the backup was taken.
    pub lost: u64,
    /// Why the others were not looked for.
    pub unasked: Vec<String>,
}

impl Outside {
    /// Versions whose bytes were not looked for.
    pub fn unseen(&self) -> u64 {
        self.versions.saturating_sub(self.present + self.missing + self.lost)
    }
}

/// Looks for them.
pub(super) struct Looking<'a> {
    farm: Option<&'a Storage>,
    found: Outside,
    /// Stores that gave no answer, with the reason.
    silent: BTreeMap<Id, String>,
}

impl<'a> Looking<'a> {
    /// In the stores of a farm, which must be the one of the backup; or nowhere, with the reason.
    pub fn new(farm: std::result::Result<&'a Storage, String>, of: &str) -> Self {
        let mut found = Outside::default();
        let farm = match farm {
            Ok(farm) if farm.farm_id().to_string() == of => Some(farm),
            Ok(farm) => {
                found.unasked.push(format!("the farm in {} is another one", farm.directory().display()));
                None
            }
            Err(why) => {
                found.unasked.push(why);
                None
            }
        };
        Self { farm, found, silent: BTreeMap::new() }
    }

    /// Looks for the bytes of one version of a database that was restored.
    pub async fn look(
        &mut self,
        version: &VersionBlob,
        database: &StorageDatabase,
        addresses: &Addresses,
    ) -> Result<()> {
        let size = version.size.max(0) as u64;
        (self.found.versions, self.found.bytes) = (self.found.versions + 1, self.found.bytes + size);
        let Some(farm) = self.farm.filter(|_| !self.silent.contains_key(&version.store_id)) else { return Ok(()) };
        let looked = match farm.store(version.store_id, database) {
            Ok(store) => ask(&store, version, size).await,
            Err(error) => Err(error),
        };
        match looked {
            Ok(()) => self.found.present += 1,
            Err(error) if is_lost(&error, database, version.digest).await? => self.found.lost += 1,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => {
                self.found.missing += 1;
                if self.found.faults.len() < NAMED {
                    let path = addresses.path(&database.database, version.node_id).await?;
                    self.found.faults.push(format!("{path}: {}", error.message()));
                }
            }
            Err(error) => {
                let why = format!("the store \"{}\": {}", farm.store_name(version.store_id), error.message());
                self.silent.insert(version.store_id, why);
            }
        }
        Ok(())
    }

    /// What was found.
    pub fn end(mut self) -> Outside {
        self.found.unasked.extend(self.silent.into_values());
        self.found
    }
}

async fn ask(store: &BlobStore, version: &VersionBlob, size: u64) -> Result<(), Error> {
    is_there(store, version.digest, size, None).await
}

/// Whether an error says that bytes are not there whose loss was accepted.
pub(super) async fn is_lost(error: &Error, database: &StorageDatabase, digest: Digest) -> Result<bool> {
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) {
        return Ok(false);
    }
    let faults = database.database.read(move |reader| fault::find(reader, &digest)).await?;
    Ok(faults.iter().any(|fault| fault.accepted_at.is_some()))
}

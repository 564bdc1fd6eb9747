//! Search of a drill in the farm's stores, for a set without BLOBs: confirms that the bytes of its documents exist. Of
//! long BLOBs only the beginning is read; a check job reads them completely.

use std::collections::BTreeMap;

use ::blobs::BlobStore;
use async_recursion::async_recursion as boxed;
use database::content::census::VersionBlob;
use database::content::fault;
use model::{Digest, Error, ErrorKind, Id, Result};
use repository::{Storage, StorageDatabase};

use super::blobs::probe;
use crate::documents::Addresses;

/// Maximum number of versions with missing bytes that are named.
const MAX_NAMED: usize = 20;

/// Findings for versions whose bytes are in the farm's stores.
#[derive(Clone, Debug, Default)]
pub struct ExternalFindings {
    /// Number of document versions.
    pub versions: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of versions whose bytes are in the store that the backup names.
    pub present: u64,
    /// Number of versions whose bytes are missing or damaged.
    pub missing: u64,
    /// Paths of some of these versions, with the fault.
    pub faults: Vec<String>,
    /// Number of versions without bytes whose loss was accepted before the backup was taken.
    pub lost: u64,
    /// Reasons for not checking the remaining versions.
    pub unchecked_reasons: Vec<String>,
}

impl ExternalFindings {
    /// Returns the number of versions that were not checked.
    pub fn unchecked(&self) -> u64 {
        self.versions.saturating_sub(self.present + self.missing + self.lost)
    }
}

/// Looks for the bytes of versions in the farm's stores.
pub(super) struct StoreSearch<'a> {
    farm: Option<&'a Storage>,
    found: ExternalFindings,
    /// Unresponsive stores, with the reason.
    silent: BTreeMap<Id, String>,
}

impl<'a> StoreSearch<'a> {
    /// Creates a search in the stores of a farm, which must be the farm of the backup. Without such a farm nothing is
    /// searched, and the reason is recorded.
    pub fn new(farm: std::result::Result<&'a Storage, String>, of: &str) -> Self {
        let mut found = ExternalFindings::default();
        let farm = match farm {
            Ok(farm) if farm.farm_id().to_string() == of => Some(farm),
            Ok(farm) => {
                found
                    .unchecked_reasons
                    .push(format!("the farm in {} is not the one of this backup", farm.directory().display()));
                None
            }
            Err(why) => {
                found.unchecked_reasons.push(why);
                None
            }
        };
        Self { farm, found, silent: BTreeMap::new() }
    }

    /// Looks for the bytes of one version of a restored database.
    #[boxed]
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
                if self.found.faults.len() < MAX_NAMED {
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

    /// The findings.
    pub fn end(mut self) -> ExternalFindings {
        self.found.unchecked_reasons.extend(self.silent.into_values());
        self.found
    }
}

async fn ask(store: &BlobStore, version: &VersionBlob, size: u64) -> Result<(), Error> {
    probe(store, version.digest, size, None).await
}

/// Returns whether an error means that bytes are missing or damaged whose loss was accepted.
pub(super) async fn is_lost(error: &Error, database: &StorageDatabase, digest: Digest) -> Result<bool> {
    if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) {
        return Ok(false);
    }
    let faults = database.database.read(move |reader| fault::find(reader, &digest)).await?;
    Ok(faults.iter().any(|fault| fault.accepted_at.is_some()))
}

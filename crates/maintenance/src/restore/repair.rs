//! Repair of missing or damaged BLOBs of a farm from its backups. Each BLOB is taken from the newest set that has its
//! bytes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use model::{Digest, Error, ErrorKind, Id, Result};
use repository::{Repair, Session, Storage};
use tokio::task::JoinSet;

use crate::Progress;
use crate::backup::BackupLocation;
use crate::backup::format::index::Entry;
use crate::backup::format::list::List;
use crate::backup::format::vault::BackupObjects;
use crate::backup::place::destination::{Destination, Use};

/// Number of BLOBs copied concurrently. Each is streamed, or takes at most 4 MiB twice.
const AT_ONCE: usize = 8;

/// Options of a repair: which BLOBs, and the source.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// Backup location.
    pub source: BackupLocation,
    /// File with the key or passphrase, for encrypted backups.
    pub key_file: Option<PathBuf>,
    /// Repair only this BLOB. None for all BLOBs with a fault on record.
    pub digest: Option<Digest>,
}

/// Result of the restore.
#[derive(Clone, Debug, Default)]
pub struct RepairSummary {
    /// Repaired BLOBs, with the set that had the bytes. None as the set for a BLOB that no reference needs any more.
    pub repaired: Vec<(Digest, Option<Id>)>,
    /// Their size in bytes.
    pub bytes: u64,
    /// BLOBs that could not be repaired, with the reason. Accepted losses are counted in `accepted` instead, unless the
    /// BLOB was named in the options.
    pub failed: Vec<(Digest, String)>,
    /// Number of accepted losses that no backup has intact either.
    pub accepted: u64,
    /// Sets that could not be read, with the reason.
    pub notes: Vec<String>,
}

/// A BLOB to be repaired.
struct BlobToRepair {
    is_accepted: bool,
    /// Reason for which no set examined so far could help.
    why: Option<String>,
}

/// Restores missing or damaged BLOBs from backups into the stores that should have them.
///
/// # Errors
/// `Forbidden` for callers other than farm administrators; `NotFound` when the named BLOB has no fault; errors of
/// opening the backup location; errors of an unreachable store or database, after which BLOBs repaired before stay
/// repaired. A BLOB that no set has intact is not an error, but is reported in the summary.
pub fn repair_from_backup<'a>(
    session: &'a Session,
    options: &'a RepairOptions,
    progress: Arc<Progress>,
) -> BoxFuture<'a, Result<RepairSummary>> {
    Box::pin(async move {
        let storage = session.storage().await?;
        let mut wanted = BTreeMap::new();
        match options.digest {
            Some(digest) => drop(wanted.insert(digest, BlobToRepair { is_accepted: false, why: None })),
            None => wanted.extend(
                storage
                    .faulty_blobs()
                    .await?
                    .into_iter()
                    .map(|(digest, is_accepted)| (digest, BlobToRepair { is_accepted, why: None })),
            ),
        }
        let destination = Destination::open(&options.source, options.key_file.as_deref(), Use::Read).await?;
        progress.count(wanted.len() as u64, 0);
        let mut repairing = Repairing { storage, destination, wanted, summary: RepairSummary::default(), progress };
        let outcome = repairing.run().await;
        repairing.destination.close().await;
        outcome?;
        Ok(repairing.end())
    })
}

struct Repairing {
    storage: Storage,
    destination: Destination,
    wanted: BTreeMap<Digest, BlobToRepair>,
    summary: RepairSummary,
    progress: Arc<Progress>,
}

/// Result of trying to repair a BLOB.
type Tried = (Digest, Result<u64>);

impl Repairing {
    async fn run(&mut self) -> Result<()> {
        self.settle_unneeded().await?;
        for set in self.destination.sets().await?.into_iter().rev() {
            if self.wanted.is_empty() {
                break;
            }
            match self.destination.manifest(&set).await {
                Ok(manifest) if manifest.needs_stores => {}
                Ok(manifest) => self.take_from(set.id, manifest.blobs.index).await?,
                Err(error) if is_certain(&error) => self.summary.notes.push(error.message().to_owned()),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Ends the faults of BLOBs that no reference needs any more.
    async fn settle_unneeded(&mut self) -> Result<()> {
        let digests: Vec<Digest> = self.wanted.keys().copied().collect();
        for digest in digests {
            if self.storage.repairs(digest).await?.needed.is_empty() {
                self.wanted.remove(&digest);
                self.summary.repaired.push((digest, None));
            }
        }
        Ok(())
    }

    /// Repairs all BLOBs that one set has.
    async fn take_from(&mut self, set: Id, index: Vec<Entry>) -> Result<()> {
        let mut list = List::new(index);
        let mut running: JoinSet<Tried> = JoinSet::new();
        let digests: Vec<Digest> = self.wanted.keys().copied().collect();
        for digest in digests {
            let entry = match list.seek(&self.destination.vault, &digest).await {
                Ok(Some(entry)) => entry,
                Ok(None) => continue,
                Err(error) if is_certain(&error) => {
                    self.summary
                        .notes
                        .push(format!("the list of BLOBs of the set {set} cannot be read: {}", error.message()));
                    break;
                }
                Err(error) => return Err(error),
            };
            while running.len() >= AT_ONCE {
                self.record_outcome(set, &mut running).await?;
            }
            let (storage, vault) = (self.storage.clone(), self.destination.vault.clone());
            let from = format!("the backup {set} in {}", self.destination.files.place());
            running.spawn(async move { (digest, bring(&storage, &vault, &entry, &from).await) });
        }
        while !running.is_empty() {
            self.record_outcome(set, &mut running).await?;
        }
        Ok(())
    }

    /// Waits for one BLOB. If the set definitely does not have it intact, an older set is tried. An unreachable source
    /// or destination ends the repair.
    async fn record_outcome(&mut self, set: Id, running: &mut JoinSet<Tried>) -> Result<()> {
        let Some(tried) = running.join_next().await else { return Ok(()) };
        let (digest, brought) =
            tried.map_err(|e| Error::unavailable("the repair of a BLOB was interrupted").with_source(e))?;
        match brought {
            Ok(bytes) => {
                self.wanted.remove(&digest);
                self.summary.repaired.push((digest, Some(set)));
                self.summary.bytes += bytes;
                self.progress.add_files(1);
                self.progress.add_bytes(bytes);
            }
            Err(error) if is_certain(&error) => {
                if let Some(wanted) = self.wanted.get_mut(&digest) {
                    wanted.why.get_or_insert_with(|| format!("set {set}: {}", error.message()));
                }
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn end(self) -> RepairSummary {
        let mut summary = self.summary;
        let place = self.destination.files.place();
        for (digest, wanted) in self.wanted {
            match wanted.why {
                _ if wanted.is_accepted => summary.accepted += 1,
                None => summary.failed.push((digest, format!("no backup in {place} has it"))),
                Some(why) => summary.failed.push((digest, why)),
            }
        }
        summary
    }
}

/// Returns whether an error means that the bytes are definitely unavailable, rather than that a source could not be
/// queried.
fn is_certain(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt)
}

/// Copies one BLOB into every store that should have it. Returns its size in bytes.
async fn bring(storage: &Storage, vault: &BackupObjects, entry: &Entry, from: &str) -> Result<u64> {
    for repair in storage.repairs(entry.digest).await?.needed {
        copy(vault, entry, &repair, from).await?;
    }
    Ok(entry.size)
}

async fn copy(vault: &BackupObjects, entry: &Entry, repair: &Repair, from: &str) -> Result<()> {
    if repair.size() != entry.size {
        return Err(Error::corrupt(format!(
            "the backup has {} bytes of {}, but its documents need {}",
            entry.size,
            entry.digest,
            repair.size()
        )));
    }
    let stored = super::blobs::copy(vault, repair.target(), entry).await?;
    repair.finish(&stored, from).await
}

//! Missing or damaged BLOBs of a farm, brought back from its backups: each from the newest set that has its bytes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use model::{Digest, Error, ErrorKind, Id, Result};
use repository::{Repair, Session, Storage};
use tokio::task::JoinSet;

use crate::Progress;
use crate::backup::BackupPlace;
use crate::backup::format::index::Entry;
use crate::backup::format::list::List;
use crate::backup::format::vault::Vault;
use crate::backup::place::destination::{Destination, Use};

/// BLOBs that are on their way at once. Each streams, or takes at most 4 MiB twice.
const AT_ONCE: usize = 8;

/// Which BLOBs to bring back, and where from.
#[derive(Clone, Debug, Default)]
pub struct RepairOptions {
    /// Where the backups are.
    pub source: BackupPlace,
    /// A file with the key or passphrase of encrypted backups.
    pub key_file: Option<PathBuf>,
    /// Only this BLOB; every one that has a fault on record when absent.
    pub digest: Option<Digest>,
}

/// What was brought back.
#[derive(Clone, Debug, Default)]
pub struct RepairSummary {
    /// BLOBs that are whole again, with the set that had them; none for one that nothing needs any more.
    pub repaired: Vec<(Digest, Option<Id>)>,
    /// Their bytes.
    pub bytes: u64,
    /// BLOBs that could not be brought back, and why; accepted losses are not among them.
    pub failed: Vec<(Digest, String)>,
    /// Accepted losses that no backup has whole either.
    pub accepted: u64,
    /// Sets that could not be looked into, and why.
    pub notes: Vec<String>,
}

/// A BLOB that is to be brought back.
struct Wanted {
    is_accepted: bool,
    /// Why the sets that were looked into did not help.
    why: Option<String>,
}

/// Brings missing or damaged BLOBs back from backups, into the stores that should have them.
///
/// # Errors
/// `Forbidden` for others than farm administrators; `NotFound` when the one BLOB that was named has no fault; what opening the place
/// says; what a store or a database says that cannot be reached, after which everything that was brought back before stays. A BLOB that no
/// set has whole is no error, but told in the summary.
pub fn repair_from_backup<'a>(
    session: &'a Session,
    options: &'a RepairOptions,
    progress: Arc<Progress>,
) -> BoxFuture<'a, Result<RepairSummary>> {
    Box::pin(async move {
        let storage = session.storage().await?;
        let mut wanted = BTreeMap::new();
        match options.digest {
            Some(digest) => drop(wanted.insert(digest, Wanted { is_accepted: false, why: None })),
            None => wanted.extend(
                storage
                    .faulty_blobs()
                    .await?
                    .into_iter()
                    .map(|(digest, is_accepted)| (digest, Wanted { is_accepted, why: None })),
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
    wanted: BTreeMap<Digest, Wanted>,
    summary: RepairSummary,
    progress: Arc<Progress>,
}

/// A BLOB that was tried.
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

    /// Takes from one set whatever it has.
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
                self.settle(set, &mut running).await?;
            }
            let (storage, vault) = (self.storage.clone(), self.destination.vault.clone());
            let from = format!("the backup {set} in {}", self.destination.papers.place());
            running.spawn(async move { (digest, bring(&storage, &vault, &entry, &from).await) });
        }
        while !running.is_empty() {
            self.settle(set, &mut running).await?;
        }
        Ok(())
    }

    /// Waits for one. What a set says for certain of one BLOB leaves it to an older set; what cannot be reached ends everything.
    async fn settle(&mut self, set: Id, running: &mut JoinSet<Tried>) -> Result<()> {
        let Some(tried) = running.join_next().await else { return Ok(()) };
        let (digest, brought) =
            tried.map_err(|e| Error::unavailable("bringing a BLOB back was interrupted").with_source(e))?;
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
        let place = self.destination.papers.place();
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

/// Whether an error says for certain that bytes are not to be had, rather than that something could not be asked.
fn is_certain(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt)
}

/// Brings one BLOB into every store that should have it; its bytes.
async fn bring(storage: &Storage, vault: &Vault, entry: &Entry, from: &str) -> Result<u64> {
    for repair in storage.repairs(entry.digest).await?.needed {
        copy(vault, entry, &repair, from).await?;
    }
    Ok(entry.size)
}

async fn copy(vault: &Vault, entry: &Entry, repair: &Repair, from: &str) -> Result<()> {
    if repair.size() != entry.size {
        return Err(Error::corrupt(format!(
            "the backup has {} bytes of {}, and its documents need {}",
            entry.size,
            entry.digest,
            repair.size()
        )));
    }
    let stored = super::blobs::copy(vault, repair.target(), entry).await?;
    repair.finish(&stored, from).await
}

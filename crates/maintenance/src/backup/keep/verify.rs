//! Verification: reads every object that the sets need and compares digests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use database::PageSums;
use futures_util::future::{BoxFuture, join_all};
use model::{Digest, Error, ErrorKind, Id, Result, counted};
use tokio::task::JoinSet;

use crate::Progress;
use crate::backup::format::index::{Entry, MAX_CHUNK};
use crate::backup::format::list::List;
use crate::backup::format::manifest::{DatabasePart, method};
use crate::backup::format::vault::BackupObjects;
use crate::backup::place::destination::{Destination, Use};
use crate::backup::place::location::BackupLocation;

/// Maximum number of objects read concurrently.
const AT_ONCE: usize = 16;
/// Maximum number of database chunks read concurrently.
const CHUNKS_AT_ONCE: usize = 64;
/// Maximum number of faults that are reported individually.
const NAMED: usize = 1_000;

type Read<T> = (Entry, Vec<Id>, Result<T>);

/// The findings.
#[derive(Clone, Debug, Default)]
pub struct Verified {
    /// Sets that were verified.
    pub sets: Vec<Id>,
    /// Number of objects read: BLOBs, database chunks, lists.
    pub things: u64,
    /// Total size of the objects in bytes, before encoding.
    pub bytes: u64,
    /// Description of each fault and the sets that it affects, at most one thousand.
    pub faults: Vec<String>,
    /// Number of BLOBs whose loss had been accepted when a set was made, so that the set has none of their bytes.
    pub lost: u64,
    /// Sets without BLOBs. Their BLOBs are in the farm's stores, which were not checked.
    pub without_blobs: Vec<Id>,
    /// Total number of faults.
    pub fault_count: u64,
}

/// Reads every object that the sets need, or that the set `only` needs.
///
/// # Errors
/// `NotFound` when there are no backups, or not that set; `Invalid` with code `key_needed` or `wrong_key`. Damage is
/// reported as a fault, not as an error.
pub fn verify_backups<'a>(
    place: &'a BackupLocation,
    key_file: Option<&'a Path>,
    only: Option<Id>,
    progress: Arc<Progress>,
) -> BoxFuture<'a, Result<Verified>> {
    Box::pin(async move {
        let destination = Destination::open(place, key_file, Use::Read).await?;
        let verified = verify(&destination, only, &progress).await;
        destination.close().await;
        verified
    })
}

async fn verify(destination: &Destination, only: Option<Id>, progress: &Arc<Progress>) -> Result<Verified> {
    let (vault, running) = (destination.vault.clone(), JoinSet::new());
    let mut work = Verifying { vault, found: Verified::default(), running, damaged: Vec::new(), progress };
    let (mut lists, mut lost): (Vec<Source>, BTreeSet<String>) = Default::default();
    for set in destination.sets().await?.into_iter().filter(|set| only.is_none_or(|id| id == set.id)) {
        work.found.sets.push(set.id);
        let manifest = match destination.manifest(&set).await {
            Err(error) if destination.is_confined_to_set(&error) => {
                work.fault(error.message().to_owned());
                continue;
            }
            manifest => manifest?,
        };
        if manifest.needs_stores {
            work.found.without_blobs.push(set.id);
        }
        progress.count(manifest.blobs.count, manifest.blobs.bytes);
        for file in &manifest.files {
            work.take(file.entry, vec![set.id]).await?;
        }
        for part in manifest.parts() {
            // Database chunks are not sorted by digest, so chunks shared between sets are read once per set.
            let mut list = Source::new(set.id, part.chunks.clone());
            progress.count(0, part.bytes);
            if part.method == method::SQLITE {
                work.compare_pages(list, part).await?;
                continue;
            }
            while let Some(entry) = list.advance(&mut work).await? {
                work.take(entry, vec![set.id]).await?;
            }
        }
        lost.extend(manifest.blobs.lost);
        lists.push(Source::new(set.id, manifest.blobs.index));
    }
    if work.found.sets.is_empty() {
        return Err(Error::not_found(match only {
            Some(id) => format!("there is no set {id} in {}", destination.files.place()),
            None => format!("there are no finished sets in {}", destination.files.place()),
        }));
    }
    work.found.lost = lost.len() as u64;
    progress.counted_all();
    work.merge(lists).await?;
    work.wait_until_at_most(0).await?;
    if !work.damaged.is_empty() {
        destination.note_damage(&work.damaged).await?;
    }
    Ok(work.found)
}

/// Sequential reader of one list of a set.
struct Source {
    set: Id,
    list: List,
    next: Option<Entry>,
}

impl Source {
    fn new(set: Id, parts: Vec<Entry>) -> Self {
        Self { set, list: List::new(parts), next: None }
    }

    /// Returns the next entry. A damaged list ends at the damage and is reported as a fault.
    async fn advance(&mut self, work: &mut Verifying<'_>) -> Result<Option<Entry>> {
        match self.list.next(&work.vault).await {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                work.fault(format!(
                    "set {}: a list is damaged, so the objects that it names are lost: {}",
                    self.set,
                    error.message()
                ));
                self.list = List::new(Vec::new());
                Ok(None)
            }
            next => next,
        }
    }
}

struct Verifying<'a> {
    vault: BackupObjects,
    found: Verified,
    running: JoinSet<Read<()>>,
    damaged: Vec<Digest>,
    progress: &'a Arc<Progress>,
}

impl Verifying<'_> {
    fn fault(&mut self, text: String) {
        self.found.fault_count += 1;
        if self.found.faults.len() < NAMED {
            self.found.faults.push(text);
        }
    }

    /// Merges several lists by digest and reads their BLOBs. A BLOB that is in several lists is read once.
    async fn merge(&mut self, mut lists: Vec<Source>) -> Result<()> {
        let mut at: BTreeMap<(Digest, usize), ()> = BTreeMap::new();
        for (place, source) in lists.iter_mut().enumerate() {
            source.next = source.advance(self).await?;
            at.extend(source.next.map(|entry| ((entry.digest, place), ())));
        }
        while let Some(((digest, _), ())) = at.first_key_value() {
            let digest = *digest;
            let mut entries: Vec<(Entry, Vec<Id>)> = Vec::new();
            while let Some(((next, place), ())) = at.pop_first() {
                if next != digest {
                    at.insert((next, place), ());
                    break;
                }
                let Some(source) = lists.get_mut(place) else { continue };
                if let Some(entry) = source.next.take() {
                    match entries.iter_mut().find(|(known, _)| known.stored == entry.stored) {
                        Some((_, sets)) => sets.push(source.set),
                        None => entries.push((entry, vec![source.set])),
                    }
                }
                source.next = source.advance(self).await?;
                at.extend(source.next.map(|entry| ((entry.digest, place), ())));
            }
            for (entry, sets) in entries {
                self.progress.add_files(sets.len() as u64);
                // Progress counts a shared BLOB once per set.
                self.progress.add_bytes(entry.size * (sets.len() as u64 - 1));
                self.take(entry, sets).await?;
            }
        }
        Ok(())
    }

    async fn take(&mut self, entry: Entry, sets: Vec<Id>) -> Result<()> {
        self.wait_until_at_most(AT_ONCE - 1).await?;
        let (vault, progress) = (self.vault.clone(), self.progress.clone());
        self.running.spawn(async move {
            let read = read(&vault, &entry, &progress).await;
            (entry, sets, read)
        });
        Ok(())
    }

    async fn wait_until_at_most(&mut self, most: usize) -> Result<()> {
        while self.running.len() > most {
            let Some(done) = self.running.join_next().await else { return Ok(()) };
            self.note(done.map_err(interrupted)?)?;
        }
        Ok(())
    }

    /// Records the result of reading an object. Returns the data, or none when the object is damaged.
    fn note<T>(&mut self, (entry, sets, read): Read<T>) -> Result<Option<T>> {
        self.found.things += 1;
        self.found.bytes += entry.size;
        match read {
            Ok(read) => Ok(Some(read)),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                self.damaged.push(entry.stored);
                let sets: Vec<String> = sets.iter().map(Id::to_string).collect();
                self.fault(format!("{} (needed by set {})", error.message(), sets.join(", ")));
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Reads a SQLite file in order and compares its pages with their checksums. The comparison is not reported when a
    /// part of the file is damaged.
    async fn compare_pages(&mut self, mut list: Source, part: &DatabasePart) -> Result<()> {
        let (set, faults) = (list.set, self.found.fault_count);
        let mut sums = PageSums::new();
        loop {
            let mut reads = Vec::new();
            while reads.len() < CHUNKS_AT_ONCE
                && let Some(entry) = list.advance(self).await?
            {
                let vault = self.vault.clone();
                let read = async move { (entry, vec![set], vault.get_all(&entry, MAX_CHUNK).await) };
                reads.push(tokio::spawn(read));
            }
            if reads.is_empty() {
                break;
            }
            for read in join_all(reads).await {
                if let Some(piece) = self.note::<Bytes>(read.map_err(interrupted)?)? {
                    self.progress.add_bytes(piece.len() as u64);
                    sums.update(&piece);
                }
            }
        }
        let wrong = sums.finish();
        if wrong.count > 0 && self.found.fault_count == faults {
            self.fault(format!(
                "set {set}: wrong checksums on {} of the database \"{}\": it can be restored with --rebuild-checksums \
                 only",
                counted(wrong.count, "page"),
                part.name
            ));
        }
        Ok(())
    }
}

fn interrupted(error: tokio::task::JoinError) -> Error {
    Error::unavailable("the verification was interrupted").with_source(error)
}

async fn read(vault: &BackupObjects, entry: &Entry, progress: &Progress) -> Result<()> {
    let mut opened = vault.open(entry).await?;
    while let Some(piece) = opened.next().await? {
        progress.add_bytes(piece.len() as u64);
    }
    Ok(())
}

//! The provider contract, implemented on a directory.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result, StoreKind};
use rustix::fs::FlockOperation;

use super::catalog::Catalog;
use super::coded::Coding;
use super::committer::{Committer, Job, closed};
use super::files::is_gone;
use super::hot::BlobCache;
use super::large::{self, LargeCache, LargeFile, LargeSource};
use super::large_upload::{LargeUpload, check_space};
use super::layout::Layout;
use super::options::DirectoryOptions;
use super::reading::{RecordSource, holds, wrong_size};
use super::record::{ChunkChecksums, Extent};
use super::record_location::RecordLocation;
use super::segment::Segment;
use super::segment_pool::SegmentPool;
use super::{compaction, listing, recovery, verify};
use crate::blocking::blocking;
use crate::locator::Locator;
use crate::marker::{HasMarker, Owner};
use crate::outcome::{CheckOutcome, Reporter};
use crate::provider::{
    BlobInMemory, BoxFuture, CompactLimits, CompactReport, Consent, Entry, Page, Provider, Source, Stored, Upload,
    Usage,
};

/// Upper bound of the `segment_limit` option, in bytes.
const SEGMENT_LIMIT: u64 = 16 << 20;

/// Announced length from which on free space is checked before the bytes arrive.
const CHECKED_AHEAD: u64 = 16 << 20;

/// Timeout for the consent to a deletion; the store is locked while waiting for it.
const CONSENT: Duration = Duration::from_secs(20);

/// A store in a directory.
pub struct DirectoryProvider(Arc<Inner>);

struct Inner {
    catalog: Arc<Catalog>,
    committer: Committer,
    large: Arc<LargeCache>,
    hot: Arc<BlobCache>,
    segment_limit: u64,
    segment_bytes: u64,
    owner: Owner,
    closed: AtomicBool,
}

impl DirectoryProvider {
    /// Opens or creates the store and recovers the segments and uploads that dead processes left.
    #[boxed]
    pub async fn open(path: &Path, owner: &Owner, options: DirectoryOptions) -> Result<Self> {
        let (path, owner) = (path.to_path_buf(), owner.clone());
        blocking(move || {
            let layout = Layout::open(&path, &owner, options.create)?;
            let coding = Coding::new(&path, &options);
            if coding.is_on() {
                layout.allow_encoded()?;
            }
            recovery::recover(&layout)?;
            let catalog = Arc::new(Catalog::open(layout, coding)?);
            let (large, hot): (Arc<LargeCache>, Arc<BlobCache>) = Default::default();
            let idle = {
                let (catalog, large, hot) = (catalog.clone(), large.clone(), hot.clone());
                let mut seen = 0;
                move || {
                    let reads = catalog.reads.load(Ordering::Relaxed);
                    if std::mem::replace(&mut seen, reads) == reads {
                        catalog.close_files();
                        large.clear();
                        hot.clear();
                    }
                }
            };
            let nursery = SegmentPool::start(catalog.clone(), options.segment_bytes, options.zero_fill, idle)?;
            let committer = Committer::start(catalog.clone(), nursery, options.writers, options.batch_bytes)?;
            let segment_limit = options.segment_limit.min(SEGMENT_LIMIT);
            let closed = AtomicBool::new(false);
            Ok(Self(Arc::new(Inner {
                catalog,
                committer,
                large,
                hot,
                segment_limit,
                segment_bytes: options.segment_bytes,
                owner,
                closed,
            })))
        })
        .await
    }
}

impl Inner {
    async fn put(self: Arc<Self>, blob: BlobInMemory) -> Result<Stored> {
        debug_assert!(blob.has_digest(), "the caller's digest is not that of the bytes");
        let BlobInMemory { digest, size, pieces } = blob;
        if size > self.segment_limit {
            return self.begin(Some(size)).await?.store(digest, size, pieces).await;
        }
        let mut damaged = Vec::new();
        if !self.catalog.candidates(&digest).is_empty() {
            let (this, copy) = (self.clone(), pieces.clone());
            match blocking(move || this.compare(&digest, &copy)).await? {
                Copies::Good(place) => return Ok(Stored { digest, size, locator: place.locator(), existed: true }),
                Copies::Damaged(places) => damaged = places,
            }
        }
        let (extent, pieces) = match self.catalog.coding.is_on() {
            true => self.clone().encode(digest, size, pieces).await?,
            false => (Extent::plain(size), pieces),
        };
        let table = ChunkChecksums::of(&pieces).into_table(&digest);
        let answer = self.committer.submit(Job { digest, extent, pieces, table, replaces: damaged.clone() });
        let placed = answer.await.map_err(|_| closed())??;
        // Reading the BLOB back must reach the copy that was just written, not the cached bytes.
        self.hot.forget(&digest);
        if !damaged.is_empty() {
            let this = self.clone();
            // The good copy is durable and readers find it too, so the damaged ones only take up space.
            if let Err(error) = blocking(move || this.drop_copies(&digest, &damaged)).await {
                tracing::warn!(blob = %digest, error = error.report(),
                    "damaged copies of a BLOB stay beside the good one");
            }
        }
        let locator = RecordLocation::Segment { id: placed.segment, offset: placed.offset }.locator();
        Ok(Stored { digest, size, locator, existed: placed.existed })
    }

    /// Prepares the content of a BLOB's record.
    async fn encode(self: Arc<Self>, digest: Digest, size: u64, pieces: Vec<Bytes>) -> Result<(Extent, Vec<Bytes>)> {
        blocking(move || {
            let Some(encoded) = self.catalog.coding.encode(&digest, size, &pieces)? else {
                return Ok((Extent::plain(size), pieces));
            };
            let stored = encoded.iter().map(|piece| piece.len() as u64).sum();
            Ok((Extent::encoded(size, stored), encoded))
        })
        .await
    }

    /// Looks for an undamaged and durable copy of these bytes in the known segments.
    fn compare(&self, digest: &Digest, pieces: &[Bytes]) -> Result<Copies> {
        let found = match self.catalog.find_all(digest) {
            // An unreadable index must not prevent storing: the bytes are stored again.
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(Copies::Damaged(Vec::new())),
            found => found?,
        };
        let mut damaged = Vec::new();
        for (segment, slot) in found {
            // Another process may have deleted it since the last refresh. If that cannot be determined, the bytes are
            // stored again.
            match segment.refresh_deletions() {
                Err(error) if error.kind() == ErrorKind::Corrupt => continue,
                refreshed => refreshed?,
            }
            if segment.is_dead(slot.offset) || !segment.is_durable() {
                continue;
            }
            if holds(&segment, slot.offset, digest, pieces, &self.catalog.coding)? {
                return Ok(Copies::Good(RecordLocation::Segment { id: segment.id, offset: slot.offset }));
            }
            damaged.push((segment.id, slot.offset));
        }
        Ok(Copies::Damaged(damaged))
    }

    /// Deletes damaged copies after a good one has become durable.
    fn drop_copies(&self, digest: &Digest, places: &[(u64, u64)]) -> Result<()> {
        let _guard = self.catalog.layout.lock(FlockOperation::LockShared)?;
        for (id, offset) in places {
            if let Some(segment) = self.catalog.segment(*id) {
                segment.delete(*offset, *digest)?;
                tracing::warn!(blob = %digest, segment = %segment.path().display(), offset,
                    "replaced a damaged copy of a BLOB");
            }
        }
        Ok(())
    }

    async fn begin(&self, announced: Option<u64>) -> Result<LargeUpload> {
        if self.closed.load(Ordering::Relaxed) {
            return Err(closed());
        }
        let (layout, coding) = (self.catalog.layout.clone(), self.catalog.coding.clone());
        if let Some(announced) = announced.filter(|announced| *announced >= CHECKED_AHEAD) {
            let layout = layout.clone();
            blocking(move || check_space(&layout, announced)).await?;
        }
        LargeUpload::begin(layout, self.large.clone(), coding, announced)
    }

    /// Opens a BLOB if that needs no blocking I/O.
    fn open_at_once(&self, digest: Digest, size: u64, place: Option<RecordLocation>) -> Option<Box<dyn Source>> {
        self.catalog.reads.fetch_add(1, Ordering::Relaxed);
        match place? {
            RecordLocation::Segment { id, offset } => {
                let segment = self.catalog.segment(id)?;
                Some(Box::new(self.hot.open(&segment, offset, digest, size)?))
            }
            RecordLocation::Large => {
                let file = self.large.get(&digest).filter(|file| file.footer.length == size)?;
                Some(self.reader(file))
            }
        }
    }

    fn reader(&self, file: Arc<LargeFile>) -> Box<dyn Source> {
        Box::new(LargeSource::new(file, Some(self.catalog.coding.clone())))
    }

    /// Looks for a BLOB everywhere in the store. Blocks.
    fn open_by_search(&self, digest: Digest, size: u64, place: Option<RecordLocation>) -> Result<Box<dyn Source>> {
        let (mut trouble, coding) = (None, &self.catalog.coding);
        if let Some(RecordLocation::Segment { id, offset }) = place
            && let Some(segment) = self.catalog.segment(id).filter(|segment| !segment.is_dead(offset))
        {
            match RecordSource::load(&segment, offset, &digest, size, coding) {
                Ok(Some(source)) => return Ok(Box::new(source)),
                Ok(None) => {}
                Err(error) => trouble = Some(error),
            }
        }
        // Changes by other processes are only picked up when nothing else helps.
        for refresh in [false, true] {
            if refresh {
                self.catalog.refresh()?;
            }
            for (segment, slot) in self.catalog.find_all(&digest)? {
                match RecordSource::load(&segment, slot.offset, &digest, size, coding) {
                    Ok(Some(source)) => return Ok(Box::new(source)),
                    Ok(None) => {}
                    Err(error) => trouble = Some(error),
                }
            }
            match self.large.open(&self.catalog.layout, &digest, coding) {
                Ok(Some(file)) if file.footer.length == size => return Ok(self.reader(file)),
                Ok(Some(file)) => return Err(wrong_size(&digest, file.footer.length, size)),
                Ok(None) => {}
                Err(error) => trouble = Some(error),
            }
        }
        Err(trouble.map_or_else(|| self.not_found_error(&digest), |error| self.or_store_absent(error)))
    }

    /// Returns the error of a read, unless the whole store is absent: then that error.
    fn or_store_absent(&self, error: Error) -> Error {
        self.catalog.layout.require_present().err().unwrap_or(error)
    }

    /// Confirms from the files themselves that there is a copy that no process has deleted. Blocks.
    fn confirm(&self, digest: Digest, size: u64) -> Result<()> {
        let (mut trouble, coding) = (None, &self.catalog.coding);
        for refresh in [false, true] {
            if refresh {
                self.catalog.refresh()?;
            }
            for (segment, slot) in self.catalog.find_all(&digest)? {
                match segment.refresh_deletions() {
                    Err(error) if error.kind() == ErrorKind::Corrupt => {
                        trouble = Some(error);
                        continue;
                    }
                    refreshed => refreshed?,
                }
                if segment.is_dead(slot.offset) || is_gone(segment.path()) {
                    continue;
                }
                match RecordSource::load(&segment, slot.offset, &digest, size, coding) {
                    Ok(Some(_)) => return Ok(()),
                    Ok(None) => {}
                    // Another copy may be intact.
                    Err(error) => trouble = Some(error),
                }
            }
            if !refresh && !is_gone(&self.catalog.layout.large_file(&digest)) {
                break;
            }
        }
        match LargeFile::open(&self.catalog.layout.large_file(&digest), &digest, coding) {
            Ok(Some(file)) if file.footer.length == size => Ok(()),
            Ok(Some(file)) => Err(wrong_size(&digest, file.footer.length, size)),
            Ok(None) => {
                // A deleted file that is only open here is of no use to other processes.
                self.large.forget(&digest);
                Err(trouble.map_or_else(|| self.not_found_error(&digest), |error| self.or_store_absent(error)))
            }
            Err(error) => Err(self.or_store_absent(error)),
        }
    }

    /// Explains why a BLOB cannot be found. A directory that is absent, such as a share that is no longer mounted, says
    /// nothing about the BLOB.
    fn not_found_error(&self, digest: &Digest) -> Error {
        let layout = &self.catalog.layout;
        let root = layout.root().display();
        self.or_store_absent(match self.catalog.is_partial() {
            false => Error::not_found(format!("the BLOB store {root} has no BLOB {digest}")),
            true => Error::corrupt(format!(
                "the BLOB {digest} was not found in the BLOB store {root}, but a part of the store cannot be read from \
                 its disk: restore the BLOB from a backup"
            )),
        })
    }

    /// Keeps compaction, in any process, from moving a copy between its look-up and the log entry of its deletion.
    /// Blocks.
    fn lock_to_delete(&self) -> Result<File> {
        self.catalog.layout.lock(FlockOperation::LockShared)
    }

    /// Deletes all copies, including those that other processes wrote. Refreshes once, and writes to the log of each
    /// segment once. `_guard` is held to the end. Blocks.
    fn delete_all(&self, _guard: File, digests: Vec<Digest>) -> Result<Vec<(Digest, Result<()>)>> {
        self.catalog.refresh()?;
        let mut outcomes: HashMap<Digest, Result<()>> = HashMap::with_capacity(digests.len());
        let mut dead: BTreeMap<u64, InSegment> = BTreeMap::new();
        let mut alive = HashSet::new();
        for digest in digests {
            // Includes deleted records: the log entry of a deletion may not be durable if another process wrote it or
            // its flush failed.
            let found = self.catalog.find_records(&digest).map(|found| {
                for (segment, slot) in found {
                    if !segment.is_dead(slot.offset) {
                        alive.insert(digest);
                    }
                    dead.entry(segment.id).or_insert_with(|| (segment, Vec::new())).1.push((slot.offset, digest));
                }
            });
            outcomes.insert(digest, found);
        }
        for (segment, records) in dead.values() {
            if let Err(error) = segment.delete_all(records) {
                for (_, digest) in records {
                    outcomes.insert(*digest, Err(Error::new(error.kind(), error.message().to_owned())));
                }
            }
        }
        for (digest, outcome) in outcomes.iter_mut().filter(|(_, outcome)| outcome.is_ok()) {
            *outcome = large::remove(&self.catalog.layout, digest, !alive.contains(digest));
            self.large.forget(digest);
            self.hot.forget(digest);
        }
        // A BLOB that was not found does not count as deleted if the store's disk was unmounted meanwhile.
        if let Err(away) = self.catalog.layout.require_present() {
            for outcome in outcomes.values_mut().filter(|outcome| outcome.is_ok()) {
                *outcome = Err(Error::new(away.kind(), away.message().to_owned()).with_code(away.code()));
            }
            // Nor is it certain where the log entries were written.
            dead.values().for_each(|(segment, _)| segment.forget_flushed_deletions());
        }
        Ok(outcomes.into_iter().collect())
    }

    fn delete(&self, digest: Digest) -> Result<()> {
        let guard = self.lock_to_delete()?;
        self.delete_all(guard, vec![digest])?.into_iter().try_for_each(|(_, outcome)| outcome)
    }
}

/// Records of a segment: the offset and digest of each.
type InSegment = (Arc<Segment>, Vec<(u64, Digest)>);

enum Copies {
    Good(RecordLocation),
    /// Only these damaged copies (segment and offset), or none at all.
    Damaged(Vec<(u64, u64)>),
}

impl HasMarker for DirectoryProvider {
    fn read_marker(&self) -> BoxFuture<'_, String> {
        let inner = self.0.clone();
        Box::pin(blocking(move || inner.catalog.layout.read_marker(&inner.owner)))
    }

    fn set_holder(&self, holder: Option<String>) -> BoxFuture<'_, Option<String>> {
        let inner = self.0.clone();
        Box::pin(blocking(move || inner.catalog.layout.set_holder(holder.as_deref())))
    }

    fn label(&self) -> String {
        format!("the BLOB store {}", self.0.catalog.layout.root().display())
    }
}

impl Provider for DirectoryProvider {
    fn kind(&self) -> StoreKind {
        StoreKind::Directory
    }

    fn put_limit(&self) -> u64 {
        self.0.segment_limit
    }

    fn put(&self, blob: BlobInMemory) -> BoxFuture<'_, Stored> {
        Box::pin(self.0.clone().put(blob))
    }

    fn upload(&self, announced: Option<u64>) -> BoxFuture<'_, Box<dyn Upload>> {
        Box::pin(async move { Ok(Box::new(self.0.begin(announced).await?) as Box<dyn Upload>) })
    }

    fn open(&self, digest: Digest, size: u64, locator: Option<Locator>) -> BoxFuture<'_, Box<dyn Source>> {
        let place = locator.as_ref().and_then(RecordLocation::of);
        Box::pin(async move {
            if let Some(source) = self.0.open_at_once(digest, size, place) {
                return Ok(source);
            }
            let inner = self.0.clone();
            super::cold::cold(move || inner.open_by_search(digest, size, place)).await
        })
    }

    fn confirm(&self, digest: Digest, size: u64) -> BoxFuture<'_, ()> {
        let inner = self.0.clone();
        Box::pin(blocking(move || inner.confirm(digest, size)))
    }

    fn delete(&self, digest: Digest) -> BoxFuture<'_, ()> {
        let inner = self.0.clone();
        Box::pin(blocking(move || inner.delete(digest)))
    }

    fn delete_all<'a>(
        &'a self,
        digests: Vec<Digest>,
        consent: &'a dyn Consent,
    ) -> BoxFuture<'a, Vec<(Digest, Result<()>)>> {
        Box::pin(async move {
            let inner = self.0.clone();
            let guard = blocking(move || inner.lock_to_delete()).await?;
            // The consent is requested only now, because the wait for the lock may be long. It has a timeout, because
            // others wait for the lock.
            let silent = |_| Error::unavailable("the consent that a deletion needs did not arrive in time");
            tokio::time::timeout(CONSENT, consent.ask()).await.map_err(silent)??;
            let inner = self.0.clone();
            blocking(move || inner.delete_all(guard, digests)).await
        })
    }

    fn enumerate(&self, after: Option<Digest>, limit: usize) -> BoxFuture<'_, Page> {
        let catalog = self.0.catalog.clone();
        Box::pin(blocking(move || {
            catalog.layout.require_present()?;
            listing::page(&catalog, after, limit)
        }))
    }

    fn reread(&self, entry: Entry) -> BoxFuture<'_, CheckOutcome> {
        Box::pin(verify::reread(self, &self.0.catalog, entry))
    }

    fn verify(&self, reporter: Reporter) -> BoxFuture<'_, ()> {
        let catalog = self.0.catalog.clone();
        Box::pin(blocking(move || verify::verify(&catalog, &reporter)))
    }

    fn look_over(&self) -> BoxFuture<'_, Vec<String>> {
        let catalog = self.0.catalog.clone();
        Box::pin(blocking(move || verify::check_unused_regions(&catalog)))
    }

    fn usage(&self) -> BoxFuture<'_, Usage> {
        let catalog = self.0.catalog.clone();
        Box::pin(blocking(move || {
            catalog.layout.require_present()?;
            listing::usage(&catalog)
        }))
    }

    fn compact(&self, limits: CompactLimits) -> BoxFuture<'_, CompactReport> {
        let (catalog, segment_bytes) = (self.0.catalog.clone(), self.0.segment_bytes);
        Box::pin(blocking(move || compaction::compact(&catalog, segment_bytes, limits)))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        let inner = self.0.clone();
        Box::pin(blocking(move || {
            inner.closed.store(true, Ordering::Relaxed);
            inner.committer.close();
            inner.large.clear();
            inner.hot.clear();
            Ok(())
        }))
    }
}

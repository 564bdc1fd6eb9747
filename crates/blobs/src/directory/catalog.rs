//! All segments known to this process, and the look-up of the segments for a digest.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use model::{Digest, Error, ErrorKind, Result};

use super::coded::Coding;
use super::files::{io_error, is_gone};
use super::index::{IndexFile, Slot};
use super::layout::Layout;
use super::recovery::rebuild_index;
use super::segment::{Contents, Segment};
use super::table::Table;

/// Limit on listings of the segments in one refresh, while other processes keep compacting listed ones away.
const MAX_REFRESH_ROUNDS: usize = 100;
/// Attempts at an operation when the disk cannot read an index.
const INDEX_READS: usize = 3;

/// The segments of a store.
pub struct Catalog {
    pub layout: Layout,
    pub coding: Arc<Coding>,
    table: Table,
    known: RwLock<Known>,
    /// Modification time of the directory at the last listing. `None` when it was so recent that another change within
    /// the same clock tick would not show.
    listed: Mutex<Option<SystemTime>>,
    /// Number of BLOBs opened so far; shows idle periods, in which nothing is read.
    pub reads: AtomicU64,
}

#[derive(Default)]
struct Known {
    by_id: HashMap<u64, Arc<Segment>>,
    /// Segments by their number in the table; `None` when the segment was compacted away.
    by_number: Vec<Option<Arc<Segment>>>,
}

impl Catalog {
    /// Loads all segments in the directory.
    pub fn open(layout: Layout, coding: Coding) -> Result<Self> {
        let (known, listed, reads) = (RwLock::default(), Mutex::default(), AtomicU64::new(0));
        let catalog = Self { layout, coding: Arc::new(coding), table: Table::new(), known, listed, reads };
        catalog.refresh()?;
        Ok(catalog)
    }

    /// Returns the segment with this id, if known.
    pub fn segment(&self, id: u64) -> Option<Arc<Segment>> {
        self.known().by_id.get(&id).cloned()
    }

    /// Returns all known segments, oldest first.
    pub fn segments(&self) -> Vec<Arc<Segment>> {
        let mut all: Vec<_> = self.known().by_id.values().cloned().collect();
        all.sort_unstable_by_key(|segment| segment.id);
        all
    }

    /// Returns the segments that may hold a digest, without disk access.
    pub fn candidates(&self, digest: &Digest) -> Vec<Arc<Segment>> {
        let numbers = self.table.candidates(digest);
        if numbers.is_empty() {
            return Vec::new();
        }
        let known = self.known();
        numbers.into_iter().filter_map(|number| known.by_number.get(number as usize)?.clone()).collect()
    }

    /// Returns all live records of a digest in known segments.
    pub fn find_all(&self, digest: &Digest) -> Result<Vec<(Arc<Segment>, Slot)>> {
        self.search(digest, |segment| Ok(segment.find(digest)?.into_iter().collect()))
    }

    /// Returns all records of a digest in known segments, including deleted ones.
    pub fn find_records(&self, digest: &Digest) -> Result<Vec<(Arc<Segment>, Slot)>> {
        self.search(digest, |segment| segment.records(digest))
    }

    fn search(
        &self,
        digest: &Digest,
        look: impl Fn(&Segment) -> Result<Vec<Slot>>,
    ) -> Result<Vec<(Arc<Segment>, Slot)>> {
        let mut found = Vec::new();
        for segment in self.candidates(digest) {
            match look(&segment) {
                Ok(slots) => found.extend(slots.into_iter().map(|slot| (segment.clone(), slot))),
                // Another process may have compacted the segment away; a refresh then finds its BLOBs.
                Err(_) if is_gone(segment.path()) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.rebuild_index(&segment, || look(&segment).map(drop))?;
                    found.extend(look(&segment)?.into_iter().map(|slot| (segment.clone(), slot)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Returns the record of a digest in a segment that this process is writing, without disk access.
    pub fn find_in_memory(&self, digest: &Digest) -> Option<(Arc<Segment>, Slot)> {
        let mut candidates = self.candidates(digest).into_iter();
        candidates.find_map(|segment| segment.find_in_memory(digest).map(|slot| (segment, slot)))
    }

    /// Adds a new segment of this process.
    pub fn add_own(&self, id: u64) -> Arc<Segment> {
        self.add(id, Segment::growing(true))
    }

    /// Adds a durable record to a segment of this process.
    pub fn publish(&self, segment: &Segment, digest: Digest, slot: Slot) {
        segment.publish(digest, slot);
        self.table.insert(&digest, segment.number);
    }

    /// Forgets a segment that was compacted away.
    pub fn forget(&self, id: u64) {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(segment) = known.by_id.remove(&id)
            && let Some(slot) = known.by_number.get_mut(segment.number as usize)
        {
            *slot = None;
        }
    }

    /// Closes segment files that were kept open for readers.
    pub fn close_files(&self) {
        self.segments().iter().for_each(|segment| segment.close());
    }

    /// Picks up changes by other processes: new segments, segments that were sealed or compacted away, new records,
    /// deletions.
    pub fn refresh(&self) -> Result<()> {
        for _ in 0..MAX_REFRESH_ROUNDS {
            if self.refreshed()? {
                return Ok(());
            }
        }
        let root = self.layout.root().display();
        Err(Error::unavailable(format!("the segments of the BLOB store {root} change faster than they can be listed")))
    }

    /// Refreshes once. Returns whether all listed segments still exist: the BLOBs of one that was compacted away
    /// meanwhile are in a segment that the listing may lack.
    fn refreshed(&self) -> Result<bool> {
        self.list_if_changed()?;
        let mut all_are_there = true;
        for segment in self.segments() {
            match self.refresh_one(&segment) {
                Err(_) if is_gone(segment.path()) => {
                    self.forget(segment.id);
                    all_are_there = false;
                }
                done => done?,
            }
        }
        if !all_are_there {
            *self.listed.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(all_are_there)
    }

    fn refresh_one(&self, segment: &Segment) -> Result<()> {
        if segment.is_foreign() {
            // An index that was given up is not loaded again until the next start.
            let index = if segment.is_partial() { Ok(None) } else { self.load_index(segment.id, segment.number) };
            match index {
                Ok(Some(index)) => segment.become_sealed(index),
                Ok(None) => self.catch_up(segment)?,
                Err(error) => self.continue_without_index(segment, error)?,
            }
        }
        segment.read_new_deletions()
    }

    fn catch_up(&self, segment: &Segment) -> Result<()> {
        match segment.catch_up(|digest| self.table.insert(digest, segment.number)) {
            // A segment that cannot be read now may be readable at the next start; meanwhile the others remain
            // readable.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                if !segment.is_partial() {
                    tracing::error!(error = error.report(), "a segment cannot be read: its BLOBs are damaged");
                }
                segment.drop_index();
                Ok(())
            }
            done => done,
        }
    }

    /// Continues with the records found in the segment itself when its index can be neither read nor rebuilt.
    fn continue_without_index(&self, segment: &Segment, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::Corrupt {
            return Err(error);
        }
        tracing::error!(error = error.report(), "the index of a segment can neither be read nor completely rebuilt");
        segment.drop_index();
        self.catch_up(segment)
    }

    /// Rebuilds the index of a sealed segment after a failed read, and gives the index up when `read` fails again.
    fn rebuild_index(&self, segment: &Segment, read: impl Fn() -> Result<()>) -> Result<()> {
        let load = || {
            match self.load_index(segment.id, segment.number)? {
                Some(index) => segment.become_sealed(index),
                None => return Err(Error::corrupt(format!("{} has no index", segment.path().display()))),
            }
            read()
        };
        match load().or_else(|error| self.continue_without_index(segment, error)) {
            // The segment was compacted away meanwhile; a refresh then finds its BLOBs.
            Err(_) if is_gone(segment.path()) => {
                segment.drop_index();
                Ok(())
            }
            mended => mended,
        }
    }

    /// Runs work that reads indexes. After a `Corrupt` error, rebuilds or gives up the unreadable indexes and tries
    /// again. The disk may meanwhile fail elsewhere, so there are several attempts.
    pub fn with_indexes<T>(&self, work: impl Fn() -> Result<T>) -> Result<T> {
        for _ in 1..INDEX_READS {
            match work() {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    for segment in self.segments().into_iter().filter(|segment| segment.live().is_err()) {
                        self.rebuild_index(&segment, || segment.live().map(drop))?;
                    }
                }
                done => return done,
            }
        }
        work()
    }

    /// Returns whether there may be BLOBs that cannot be found, because the disk cannot read a part of a segment.
    pub fn is_partial(&self) -> bool {
        self.segments().iter().any(|segment| segment.is_partial())
    }

    fn load_index(&self, id: u64, number: u32) -> Result<Option<IndexFile>> {
        let note = |digest: Digest, _: Slot| self.table.insert(&digest, number);
        match IndexFile::load(&self.layout.index(id), id, note) {
            Ok(loaded) => Ok(loaded.map(|(index, _)| index)),
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                rebuild_index(&self.layout, id)?;
                Ok(IndexFile::load(&self.layout.index(id), id, note)?.map(|(index, _)| index))
            }
            Err(error) => Err(error),
        }
    }

    fn add(&self, id: u64, contents: Contents) -> Arc<Segment> {
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(segment) = known.by_id.get(&id) {
            return segment.clone();
        }
        let segment = Arc::new(Segment::new(&self.layout, id, known.by_number.len() as u32, contents));
        known.by_number.push(Some(segment.clone()));
        known.by_id.insert(id, segment.clone());
        segment
    }

    /// Lists the directory if it changed since the last listing; adds the new segments and forgets the removed ones.
    /// A concurrent caller waits until the segments of the listing that it relies on are known.
    fn list_if_changed(&self) -> Result<()> {
        let path = self.layout.segments();
        let modified = std::fs::metadata(&path)
            .and_then(|meta| meta.modified())
            .map_err(|e| io_error("read the metadata of", &path, e))?;
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if *listed == Some(modified) {
            return Ok(());
        }
        // File times advance in ticks of the kernel's clock: after a very recent change, the next one may leave the
        // same time.
        let settled = modified.elapsed().is_ok_and(|age| age > Duration::from_secs(1));
        // Taken before the listing, which lacks the segments that this process creates meanwhile.
        let known = self.segments();
        let ids: HashSet<u64> = self.layout.segment_files("seg")?.into_iter().collect();
        for id in &ids {
            if self.segment(*id).is_none() {
                self.add(*id, Segment::growing(false));
            }
        }
        known.iter().filter(|segment| !ids.contains(&segment.id)).for_each(|segment| self.forget(segment.id));
        // Set last, so that a refresh after a failed listing lists again.
        *listed = settled.then_some(modified);
        Ok(())
    }

    fn known(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::sync::Barrier;

    use super::*;
    use crate::directory::growing::head;
    use crate::{DirectoryOptions, Owner};

    fn catalog(scratch: &tempfile::TempDir) -> Catalog {
        let layout = Layout::open(scratch.path(), &Owner::new("farm").unwrap(), true).unwrap();
        Catalog::open(layout, Coding::new(scratch.path(), &DirectoryOptions::default())).unwrap()
    }

    /// Sets a modification time that is old enough for a listing to be remembered.
    fn set_age(path: &std::path::Path, seconds: u64) {
        let time = SystemTime::now() - Duration::from_secs(seconds);
        File::open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn a_failed_listing_is_made_up_for() {
        let scratch = tempfile::tempdir().unwrap();
        let catalog = catalog(&scratch);
        let (segments, aside) = (catalog.layout.segments(), scratch.path().join("aside"));
        fs::write(catalog.layout.segment(7), head(7)).unwrap();
        set_age(&segments, 3600);
        let changed = fs::metadata(&segments).unwrap().modified().unwrap();
        // A file in place of the directory has a modification time but cannot be listed.
        fs::rename(&segments, &aside).unwrap();
        fs::write(&segments, b"").unwrap();
        File::open(&segments).unwrap().set_modified(changed).unwrap();
        assert!(catalog.refresh().is_err());
        fs::remove_file(&segments).unwrap();
        fs::rename(&aside, &segments).unwrap();
        File::open(&segments).unwrap().set_modified(changed).unwrap();
        catalog.refresh().unwrap();
        assert!(catalog.segment(7).is_some(), "the segment of another process is found");
    }

    #[test]
    fn no_concurrent_refresh_returns_before_the_new_segments_are_known() {
        let scratch = tempfile::tempdir().unwrap();
        let catalog = catalog(&scratch);
        // Other files make the listing long enough for a concurrent refresh to overtake it.
        for number in 0..5000 {
            fs::write(catalog.layout.segments().join(format!("{number}.other")), b"").unwrap();
        }
        for id in 1..=50 {
            fs::write(catalog.layout.segment(id), head(id)).unwrap();
            set_age(&catalog.layout.segments(), 3600 - id);
            let start = Barrier::new(4);
            let refresh = || {
                start.wait();
                catalog.refresh().unwrap();
                assert!(catalog.segment(id).is_some(), "segment {id}");
            };
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(refresh))));
        }
    }
}

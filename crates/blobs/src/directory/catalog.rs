//! All segments that this process knows, and the way from a digest to them.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use model::{Digest, Error, ErrorKind, Result};

use super::coded::Coding;
use super::files::{failed, is_gone};
use super::index::{IndexFile, Slot};
use super::layout::Layout;
use super::recovery::rebuild_index;
use super::segment::{Contents, Segment};
use super::table::Table;

/// Lists of the segments at most, while others compact them away one after another.
const ROUNDS: usize = 100;
/// Attempts to do something with indexes that the disk cannot read.
const INDEX_READS: usize = 3;

/// The segments of a store.
pub struct Catalog {
    pub layout: Layout,
    pub coding: Arc<Coding>,
    table: Table,
    known: RwLock<Known>,
    /// The directory's time when it was last listed, unless it could change once more within the same tick of the clock.
    listed: Mutex<Option<SystemTime>>,
    /// How many BLOBs were opened; tells whether anybody reads.
    pub reads: AtomicU64,
}

#[derive(Default)]
struct Known {
    by_id: HashMap<u64, Arc<Segment>>,
    /// By number in the table; `None` when the segment was compacted away.
    by_number: Vec<Option<Arc<Segment>>>,
}

impl Catalog {
    /// Loads what the directory holds.
    pub fn open(layout: Layout, coding: Coding) -> Result<Self> {
        let (known, listed, reads) = (RwLock::default(), Mutex::default(), AtomicU64::new(0));
        let catalog = Self { layout, coding: Arc::new(coding), table: Table::new(), known, listed, reads };
        catalog.refresh()?;
        Ok(catalog)
    }

    /// The segment with this id, if known.
    pub fn segment(&self, id: u64) -> Option<Arc<Segment>> {
        self.known().by_id.get(&id).cloned()
    }

    /// All known segments, oldest first.
    pub fn segments(&self) -> Vec<Arc<Segment>> {
        let mut all: Vec<_> = self.known().by_id.values().cloned().collect();
        all.sort_unstable_by_key(|segment| segment.id);
        all
    }

    /// Segments that may hold a digest; touches no disk.
    pub fn candidates(&self, digest: &Digest) -> Vec<Arc<Segment>> {
        let numbers = self.table.candidates(digest);
        if numbers.is_empty() {
            return Vec::new();
        }
        let known = self.known();
        numbers.into_iter().filter_map(|number| known.by_number.get(number as usize)?.clone()).collect()
    }

    /// All live records of a digest among known segments.
    pub fn find_all(&self, digest: &Digest) -> Result<Vec<(Arc<Segment>, Slot)>> {
        self.search(digest, |segment| Ok(segment.find(digest)?.into_iter().collect()))
    }

    /// All records of a digest among known segments, deleted ones too.
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
                // Another process may have compacted it away; a refresh then tells where its BLOBs are.
                Err(_) if is_gone(segment.path()) => {}
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    self.mend(&segment, || look(&segment).map(drop))?;
                    found.extend(look(&segment)?.into_iter().map(|slot| (segment.clone(), slot)));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// The record of a digest in a segment that this process is writing; touches no disk.
    pub fn find_in_memory(&self, digest: &Digest) -> Option<(Arc<Segment>, Slot)> {
        let mut candidates = self.candidates(digest).into_iter();
        candidates.find_map(|segment| segment.find_in_memory(digest).map(|slot| (segment, slot)))
    }

    /// Makes a new segment of this process known.
    pub fn add_own(&self, id: u64) -> Arc<Segment> {
        self.add(id, Segment::growing(true))
    }

    /// Notes a durable record in a segment of this process.
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

    /// Closes the files of segments that stayed open for readers.
    pub fn close_files(&self) {
        self.segments().iter().for_each(|segment| segment.close());
    }

    /// Learns what other processes did: new segments, segments that they sealed or compacted away, records that they wrote, deletions.
    pub fn refresh(&self) -> Result<()> {
        for _ in 0..ROUNDS {
            if self.refreshed()? {
                return Ok(());
            }
        }
        let root = self.layout.root().display();
        Err(Error::unavailable(format!("the segments of the BLOB store {root} change faster than they can be listed")))
    }

    /// Answers whether all that was listed is still there. What was compacted away meanwhile went to a segment that the list may lack.
    fn refreshed(&self) -> Result<bool> {
        if self.directory_changed()? {
            let listed = self.layout.segment_files("seg")?;
            for id in &listed {
                if self.segment(*id).is_none() {
                    self.add(*id, Segment::growing(false));
                }
            }
            let listed: HashSet<u64> = listed.into_iter().collect();
            self.segments().iter().filter(|s| !listed.contains(&s.id)).for_each(|s| self.forget(s.id));
        }
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
            // Once an index was given up, only the next start looks for it again.
            let index = if segment.is_partial() { Ok(None) } else { self.load_index(segment.id, segment.number) };
            match index {
                Ok(Some(index)) => segment.become_sealed(index),
                Ok(None) => self.catch_up(segment)?,
                Err(error) => self.do_without_index(segment, error)?,
            }
        }
        segment.learn_deletions()
    }

    fn catch_up(&self, segment: &Segment) -> Result<()> {
        match segment.catch_up(|digest| self.table.insert(digest, segment.number)) {
            // What cannot be opened now may be at the next start; the others are read meanwhile.
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                if !segment.is_partial() {
                    tracing::error!(error = error.report(), "a segment cannot be read: its BLOBs are damaged");
                }
                segment.lose_index();
                Ok(())
            }
            done => done,
        }
    }

    /// Goes on with what the segment itself tells, when its index cannot be read or built again.
    fn do_without_index(&self, segment: &Segment, error: Error) -> Result<()> {
        if error.kind() != ErrorKind::Corrupt {
            return Err(error);
        }
        tracing::error!(error = error.report(), "the index of a segment cannot be read, nor built again whole");
        segment.lose_index();
        self.catch_up(segment)
    }

    /// Builds the index of a sealed segment again after it could not be read, and gives it up when `read` fails even then.
    fn mend(&self, segment: &Segment, read: impl Fn() -> Result<()>) -> Result<()> {
        let load = || {
            match self.load_index(segment.id, segment.number)? {
                Some(index) => segment.become_sealed(index),
                None => return Err(Error::corrupt(format!("{} has no index", segment.path().display()))),
            }
            read()
        };
        match load().or_else(|error| self.do_without_index(segment, error)) {
            // Compacted away meanwhile: a refresh then tells where its BLOBs are.
            Err(_) if is_gone(segment.path()) => {
                segment.lose_index();
                Ok(())
            }
            mended => mended,
        }
    }

    /// Does what reads indexes; again, after those that cannot be read were built again or given up. A disk may fail once more
    /// meanwhile, at another place.
    pub fn with_indexes<T>(&self, work: impl Fn() -> Result<T>) -> Result<T> {
        for _ in 1..INDEX_READS {
            match work() {
                Err(error) if error.kind() == ErrorKind::Corrupt => {
                    for segment in self.segments().into_iter().filter(|segment| segment.live().is_err()) {
                        self.mend(&segment, || segment.live().map(drop))?;
                    }
                }
                done => return done,
            }
        }
        work()
    }

    /// Whether there may be BLOBs that cannot be found, because the disk cannot give all of a segment.
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

    /// Whether the directory must be listed again.
    fn directory_changed(&self) -> Result<bool> {
        let path = self.layout.segments();
        let modified =
            std::fs::metadata(&path).and_then(|meta| meta.modified()).map_err(|e| failed("look at", &path, e))?;
        let mut listed = self.listed.lock().unwrap_or_else(PoisonError::into_inner);
        if *listed == Some(modified) {
            return Ok(false);
        }
        // Times of files move in steps of the kernel's clock: a young time may stay the same at the next change.
        let settled = modified.elapsed().is_ok_and(|age| age > Duration::from_secs(1));
        *listed = settled.then_some(modified);
        Ok(true)
    }

    fn known(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }
}

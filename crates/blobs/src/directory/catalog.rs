//! All segments that this process knows, and the way from a digest to them.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use model::{Digest, ErrorKind, Result};

use super::coded::Coding;
use super::files::failed;
use super::index::{IndexFile, Slot};
use super::layout::Layout;
use super::recovery::rebuild_index;
use super::segment::{Contents, Segment};
use super::table::Table;

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
        let mut found = Vec::new();
        for segment in self.candidates(digest) {
            match segment.find(digest) {
                Ok(slot) => found.extend(slot.map(|slot| (segment, slot))),
                // Another process may have compacted it away; a refresh then tells where its BLOBs are.
                Err(_) if !segment.path().exists() => {}
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

    /// Gives the pages of mapped segments back: the page cache keeps them, but a process that nobody reads from does not look as
    /// big as its documents.
    pub fn forget_pages(&self) {
        self.segments().iter().filter_map(|segment| segment.mapped()).for_each(|mapping| mapping.forget_pages());
    }

    /// Learns what other processes did: new segments, segments that they sealed or compacted away, records that they wrote, deletions.
    pub fn refresh(&self) -> Result<()> {
        if self.directory_changed()? {
            let listed = self.layout.segment_files("seg")?;
            for id in &listed {
                if self.segment(*id).is_none() {
                    self.load(*id)?;
                }
            }
            let listed: HashSet<u64> = listed.into_iter().collect();
            self.segments().iter().filter(|s| !listed.contains(&s.id)).for_each(|s| self.forget(s.id));
        }
        for segment in self.segments() {
            self.refresh_one(&segment)?;
        }
        Ok(())
    }

    fn refresh_one(&self, segment: &Segment) -> Result<()> {
        if segment.is_foreign() {
            match self.load_index(segment.id, segment.number)? {
                Some(index) => segment.become_sealed(index),
                None => segment.catch_up(|digest| self.table.insert(digest, segment.number))?,
            }
        }
        segment.refresh_deletions()
    }

    fn load(&self, id: u64) -> Result<()> {
        let segment = self.add(id, Segment::growing(false));
        let loaded = self.refresh_one(&segment);
        if loaded.is_err() {
            self.forget(id);
            // Compacted away meanwhile: then it is not ours to report.
            if !self.layout.segment(id).exists() {
                return Ok(());
            }
        }
        loaded
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

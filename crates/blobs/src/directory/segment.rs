//! A segment as readers see it: its index and its deletions.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use model::{Digest, Error, Result};

use super::deletions;
use super::files::read_error;
use super::index::{IndexFile, Slot};
use super::layout::Layout;
use super::record::{BLOCK, footprint};
use super::scan;

/// A segment known to this process.
pub struct Segment {
    pub id: u64,
    /// Number of this segment in the table.
    pub number: u32,
    path: PathBuf,
    deletions: PathBuf,
    contents: RwLock<Contents>,
    dead: Mutex<Dead>,
    /// The open file, while it is read frequently.
    open: RwLock<Option<Arc<Open>>>,
    /// Set when the segment may hold more than is known, because the disk could not read all of it.
    is_partial: AtomicBool,
}

/// The locations of the records in a segment.
pub enum Contents {
    /// Still being written: by this process (the slots are then the durable records) or by another one (the slots are
    /// then the records found so far).
    Growing { slots: HashMap<Digest, Slot>, read_to: u64, own: bool },
    /// Complete; never written to again.
    Sealed(IndexFile),
}

/// Limit on segment files that stay open in the whole process.
const MAX_OPEN_FILES: usize = 64;
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// An open file that counts towards [`MAX_OPEN_FILES`].
pub struct Open(File);

impl Open {
    fn new(path: &Path) -> Option<Self> {
        let room =
            OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| (open < MAX_OPEN_FILES).then_some(open + 1));
        room.ok()?;
        match File::open(path) {
            Ok(file) => Some(Self(file)),
            Err(_) => {
                OPEN.fetch_sub(1, Ordering::Relaxed);
                None
            }
        }
    }
}

impl Deref for Open {
    type Target = File;

    fn deref(&self) -> &File {
        &self.0
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        OPEN.fetch_sub(1, Ordering::Relaxed);
    }
}

#[derive(Default)]
struct Dead {
    offsets: HashSet<u64>,
    read_to: u64,
    /// Set when the disk cannot read some log entries: a record may be deleted although no known entry says so.
    unread: bool,
    /// Offsets whose log entries this process wrote and flushed, so that they are durable. An entry that was only read
    /// may exist in the page cache alone: one whose flush failed reads like any other.
    flushed: HashSet<u64>,
    /// Set once this process has flushed the directory, so that the name of the log file is durable.
    directory_flushed: bool,
}

impl Segment {
    pub fn new(layout: &Layout, id: u64, number: u32, contents: Contents) -> Self {
        Self {
            id,
            number,
            path: layout.segment(id),
            deletions: layout.deletions(id),
            contents: RwLock::new(contents),
            dead: Mutex::default(),
            open: RwLock::default(),
            is_partial: AtomicBool::new(false),
        }
    }

    pub fn growing(own: bool) -> Contents {
        Contents::Growing { slots: HashMap::new(), read_to: BLOCK, own }
    }

    pub fn path(&self) -> &PathBuf {
        &self.path
    }

    /// Returns the file, which stays open for the next reader until [`Self::close`]; `None` when too many are open or
    /// it is gone.
    pub fn kept_open(&self) -> Option<Arc<Open>> {
        if let Some(open) = &*self.open.read().unwrap_or_else(PoisonError::into_inner) {
            return Some(open.clone());
        }
        let open = Arc::new(Open::new(&self.path)?);
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(open.clone());
        Some(open)
    }

    /// Closes the file once no reader uses it any more.
    pub fn close(&self) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the live record of a digest. Reads the index file of a sealed segment.
    pub fn find(&self, digest: &Digest) -> Result<Option<Slot>> {
        Ok(self.records(digest)?.into_iter().find(|slot| !self.is_dead(slot.offset)))
    }

    /// Returns all records of a digest, including deleted ones. Reads the index file of a sealed segment.
    pub fn records(&self, digest: &Digest) -> Result<Vec<Slot>> {
        match &*self.contents() {
            Contents::Growing { slots, .. } => Ok(slots.get(digest).copied().into_iter().collect()),
            Contents::Sealed(index) => index.find(digest),
        }
    }

    /// Returns the live record of a digest if this process is writing the segment, without disk access.
    pub fn find_in_memory(&self, digest: &Digest) -> Option<Slot> {
        match &*self.contents() {
            Contents::Growing { slots, own: true, .. } => {
                slots.get(digest).copied().filter(|slot| !self.is_dead(slot.offset))
            }
            _ => None,
        }
    }

    /// Returns whether its records are certainly durable: sealed, or written and flushed by this process.
    pub fn is_durable(&self) -> bool {
        matches!(&*self.contents(), Contents::Growing { own: true, .. } | Contents::Sealed(_))
    }

    /// Returns the index file, once sealed.
    pub fn sealed(&self) -> Option<IndexFile> {
        match &*self.contents() {
            Contents::Sealed(index) => Some(index.clone()),
            Contents::Growing { .. } => None,
        }
    }

    /// Returns whether another process may still be writing to it.
    pub fn is_foreign(&self) -> bool {
        matches!(&*self.contents(), Contents::Growing { own: false, .. })
    }

    /// Returns a copy of the slots of a growing segment; `None` once sealed.
    pub fn slots(&self) -> Option<Vec<(Digest, Slot)>> {
        match &*self.contents() {
            Contents::Growing { slots, .. } => Some(slots.iter().map(|(digest, slot)| (*digest, *slot)).collect()),
            Contents::Sealed(_) => None,
        }
    }

    /// Adds a record that this process wrote and flushed.
    pub fn publish(&self, digest: Digest, slot: Slot) {
        if let Contents::Growing { slots, .. } = &mut *self.contents.write().unwrap_or_else(PoisonError::into_inner) {
            slots.insert(digest, slot);
        }
    }

    /// Returns whether it may hold BLOBs that are not known.
    pub fn is_partial(&self) -> bool {
        self.is_partial.load(Ordering::Relaxed)
    }

    /// Continues without an index, because none can be read. From now on only records found in the segment itself are
    /// known.
    pub fn drop_index(&self) {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*contents, Contents::Sealed(_)) {
            *contents = Self::growing(false);
        }
        self.is_partial.store(true, Ordering::Relaxed);
    }

    pub fn become_sealed(&self, index: IndexFile) {
        *self.contents.write().unwrap_or_else(PoisonError::into_inner) = Contents::Sealed(index);
    }

    /// Reads on in a segment that another process is writing; passes the digest of each new record to `each`.
    pub fn catch_up(&self, mut each: impl FnMut(&Digest)) -> Result<()> {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        if let Contents::Growing { slots, read_to, own: false } = &mut *contents {
            let file = File::open(&self.path).map_err(|e| read_error("open", &self.path, e))?;
            let unreadable;
            (*read_to, unreadable) = scan::read_new_records(&file, &self.path, self.id, *read_to, |digest, slot| {
                each(&digest);
                slots.insert(digest, slot);
            })?;
            if unreadable && !self.is_partial.swap(true, Ordering::Relaxed) {
                tracing::error!(
                    segment = %self.path.display(), from = *read_to,
                    "a part of a segment cannot be read from the disk"
                );
            }
        }
        Ok(())
    }

    pub fn is_dead(&self, offset: u64) -> bool {
        self.dead().offsets.contains(&offset)
    }

    /// Reads new log entries of other processes' deletions, as far as the disk can read them.
    pub fn read_new_deletions(&self) -> Result<()> {
        let mut dead = self.dead();
        let Dead { offsets, read_to, unread, .. } = &mut *dead;
        let progress = deletions::read(&self.deletions, *read_to, |offset, _| {
            offsets.insert(offset);
        })?;
        if progress.unread && !*unread {
            tracing::error!(
                file = %self.deletions.display(), from = progress.to,
                "the list of deleted BLOBs cannot be read"
            );
        }
        (*read_to, *unread) = (progress.to, progress.unread);
        Ok(())
    }

    /// Reads log entries like [`Segment::read_new_deletions`], before a caller relies on a record not being deleted.
    ///
    /// # Errors
    /// `Corrupt` while the disk cannot read all of them.
    pub fn refresh_deletions(&self) -> Result<()> {
        self.read_new_deletions()?;
        match self.dead().unread {
            false => Ok(()),
            true => Err(Error::corrupt(format!(
                "the list of deleted BLOBs in {} cannot be read, so it is unknown which BLOBs exist: check the disk",
                self.deletions.display()
            ))),
        }
    }

    /// Deletes the record at an offset, durably.
    pub fn delete(&self, offset: u64, digest: Digest) -> Result<()> {
        self.delete_all(&[(offset, digest)])
    }

    /// Deletes the records at these offsets, durably. An entry that this process did not flush is written again.
    pub fn delete_all(&self, records: &[(u64, Digest)]) -> Result<()> {
        let (unflushed, named) = {
            let dead = self.dead();
            let unflushed = records.iter().filter(|(offset, _)| !dead.flushed.contains(offset));
            (unflushed.copied().collect::<Vec<_>>(), dead.directory_flushed)
        };
        if unflushed.is_empty() {
            return Ok(());
        }
        // A failed write may damage adjacent entries.
        deletions::append(&self.deletions, &unflushed, !named).inspect_err(|_| self.forget_flushed_deletions())?;
        let mut dead = self.dead();
        dead.directory_flushed = true;
        dead.offsets.extend(unflushed.iter().map(|(offset, _)| *offset));
        dead.flushed.extend(unflushed.iter().map(|(offset, _)| *offset));
        Ok(())
    }

    /// Forgets which log entries are durable.
    pub fn forget_flushed_deletions(&self) {
        let mut dead = self.dead();
        dead.flushed.clear();
        dead.directory_flushed = false;
    }

    /// Number of deleted records.
    pub fn dead_count(&self) -> usize {
        self.dead().offsets.len()
    }

    /// Calls `each` with every live record, in pages for sealed segments.
    pub fn each_live(&self, mut each: impl FnMut(&Digest, &Slot) -> Result<()>) -> Result<()> {
        let mut page = |entries: &[(Digest, Slot)]| -> Result<()> {
            entries.iter().filter(|(_, slot)| !self.is_dead(slot.offset)).try_for_each(|(d, slot)| each(d, slot))
        };
        match (self.slots(), self.sealed()) {
            (Some(slots), _) => page(&slots),
            (None, Some(index)) => index.each_page(page),
            (None, None) => Ok(()),
        }
    }

    /// Returns a copy of all live slots.
    pub fn live_slots(&self) -> Result<Vec<(Digest, Slot)>> {
        let mut all = Vec::new();
        self.each_live(|digest, slot| {
            all.push((*digest, *slot));
            Ok(())
        })?;
        Ok(all)
    }

    /// Computes the totals of all live records: bytes including headers and tables, number, and content.
    pub fn live(&self) -> Result<Live> {
        let mut live = Live::default();
        self.each_live(|_, slot| {
            live.blobs += 1;
            live.content += slot.extent.length();
            live.footprint += footprint(slot.extent.stored());
            Ok(())
        })?;
        Ok(live)
    }

    fn contents(&self) -> std::sync::RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn dead(&self) -> MutexGuard<'_, Dead> {
        self.dead.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Totals of the live records of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live {
    pub blobs: u64,
    pub content: u64,
    pub footprint: u64,
}

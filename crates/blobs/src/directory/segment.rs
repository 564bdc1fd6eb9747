//! One segment as seen by readers: its index and its deletions.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use model::{Digest, Error, Result};

use super::deletions;
use super::files::unread;
use super::index::{IndexFile, Slot};
use super::layout::Layout;
use super::record::{BLOCK, footprint};
use super::scan;

/// A segment that this process knows.
pub struct Segment {
    pub id: u64,
    /// Its number in the table.
    pub number: u32,
    path: PathBuf,
    deletions: PathBuf,
    contents: RwLock<Contents>,
    dead: Mutex<Dead>,
    /// The file, while it is read often.
    open: RwLock<Option<Arc<Open>>>,
    /// Whether it may hold more than is known, since the disk could not give all of it.
    is_partial: AtomicBool,
}

/// What lies where in a segment.
pub enum Contents {
    /// Still being written: by this process (then it holds what is durable), or by another one (then what was found up to here).
    Growing { slots: HashMap<Digest, Slot>, read_to: u64, own: bool },
    /// Never written again.
    Sealed(IndexFile),
}

/// Files of segments that stay open at most, in the whole process.
const MOST_OPEN: usize = 64;
static OPEN: AtomicUsize = AtomicUsize::new(0);

/// An open file that counts.
pub struct Open(File);

impl Open {
    fn new(path: &Path) -> Option<Self> {
        let room =
            OPEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| (open < MOST_OPEN).then_some(open + 1));
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
    /// Says that the disk does not give some notes now: a record may be deleted though nothing says so.
    unread: bool,
    /// Offsets whose notes this process wrote and flushed, so that they are durable. A note that it only read may be
    /// in memory alone: one whose flush failed is read like any other.
    flushed: HashSet<u64>,
    /// True once this process has flushed the directory, so that the file of the notes keeps its name.
    named: bool,
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

    /// The file, which stays open for the next reader until [`Self::close`]; none when too many are open or it is gone.
    pub fn kept_open(&self) -> Option<Arc<Open>> {
        if let Some(open) = &*self.open.read().unwrap_or_else(PoisonError::into_inner) {
            return Some(open.clone());
        }
        let open = Arc::new(Open::new(&self.path)?);
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = Some(open.clone());
        Some(open)
    }

    /// Lets the file go once nobody reads it any more.
    pub fn close(&self) {
        *self.open.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The live record of a digest. Reads the index file of a sealed segment.
    pub fn find(&self, digest: &Digest) -> Result<Option<Slot>> {
        Ok(self.records(digest)?.into_iter().find(|slot| !self.is_dead(slot.offset)))
    }

    /// All records of a digest, deleted ones too. Reads the index file of a sealed segment.
    pub fn records(&self, digest: &Digest) -> Result<Vec<Slot>> {
        match &*self.contents() {
            Contents::Growing { slots, .. } => Ok(slots.get(digest).copied().into_iter().collect()),
            Contents::Sealed(index) => index.find(digest),
        }
    }

    /// The live record of a digest if the segment is this process's own and open, so that no disk is touched.
    pub fn find_in_memory(&self, digest: &Digest) -> Option<Slot> {
        match &*self.contents() {
            Contents::Growing { slots, own: true, .. } => {
                slots.get(digest).copied().filter(|slot| !self.is_dead(slot.offset))
            }
            _ => None,
        }
    }

    /// Whether what it holds is certainly durable: sealed, or written and flushed by this process.
    pub fn is_durable(&self) -> bool {
        matches!(&*self.contents(), Contents::Growing { own: true, .. } | Contents::Sealed(_))
    }

    /// The index file, once sealed.
    pub fn sealed(&self) -> Option<IndexFile> {
        match &*self.contents() {
            Contents::Sealed(index) => Some(index.clone()),
            Contents::Growing { .. } => None,
        }
    }

    /// Whether another process may still be writing to it.
    pub fn is_foreign(&self) -> bool {
        matches!(&*self.contents(), Contents::Growing { own: false, .. })
    }

    /// A copy of what a growing segment holds; `None` once sealed.
    pub fn slots(&self) -> Option<Vec<(Digest, Slot)>> {
        match &*self.contents() {
            Contents::Growing { slots, .. } => Some(slots.iter().map(|(digest, slot)| (*digest, *slot)).collect()),
            Contents::Sealed(_) => None,
        }
    }

    /// Notes a record that this process wrote and flushed.
    pub fn publish(&self, digest: Digest, slot: Slot) {
        if let Contents::Growing { slots, .. } = &mut *self.contents.write().unwrap_or_else(PoisonError::into_inner) {
            slots.insert(digest, slot);
        }
    }

    /// Whether it may hold BLOBs that nobody can tell of.
    pub fn is_partial(&self) -> bool {
        self.is_partial.load(Ordering::Relaxed)
    }

    /// Goes on without an index, because there is none that can be read: what can be found in the segment itself is all that is known.
    pub fn lose_index(&self) {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        if matches!(&*contents, Contents::Sealed(_)) {
            *contents = Self::growing(false);
        }
        self.is_partial.store(true, Ordering::Relaxed);
    }

    pub fn become_sealed(&self, index: IndexFile) {
        *self.contents.write().unwrap_or_else(PoisonError::into_inner) = Contents::Sealed(index);
    }

    /// Reads on in a segment that another process writes; shows each record that is new.
    pub fn catch_up(&self, mut each: impl FnMut(&Digest)) -> Result<()> {
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        if let Contents::Growing { slots, read_to, own: false } = &mut *contents {
            let file = File::open(&self.path).map_err(|e| unread("open", &self.path, e))?;
            let unreadable;
            (*read_to, unreadable) = scan::follow(&file, &self.path, self.id, *read_to, |digest, slot| {
                each(&digest);
                slots.insert(digest, slot);
            })?;
            if unreadable && !self.is_partial.swap(true, Ordering::Relaxed) {
                tracing::error!(segment = %self.path.display(), from = *read_to, "the disk cannot give a part of a segment");
            }
        }
        Ok(())
    }

    pub fn is_dead(&self, offset: u64) -> bool {
        self.dead().offsets.contains(&offset)
    }

    /// Reads notes of deletions that other processes made since the last time, as far as the disk gives them.
    pub fn learn_deletions(&self) -> Result<()> {
        let mut dead = self.dead();
        let Dead { offsets, read_to, unread, .. } = &mut *dead;
        let progress = deletions::read(&self.deletions, *read_to, |offset, _| {
            offsets.insert(offset);
        })?;
        if progress.unread && !*unread {
            tracing::error!(file = %self.deletions.display(), from = progress.to, "notes of deleted BLOBs cannot be read");
        }
        (*read_to, *unread) = (progress.to, progress.unread);
        Ok(())
    }

    /// Reads notes like [`Segment::learn_deletions`], before something that is not deleted is taken for there.
    ///
    /// # Errors
    /// Corrupt while the disk does not give all of them.
    pub fn refresh_deletions(&self) -> Result<()> {
        self.learn_deletions()?;
        match self.dead().unread {
            false => Ok(()),
            true => Err(Error::corrupt(format!(
                "the notes of deleted BLOBs in {} cannot be read, so that nobody can tell what is there: look at the disk",
                self.deletions.display()
            ))),
        }
    }

    /// Deletes the record at an offset; durable when it answers.
    pub fn delete(&self, offset: u64, digest: Digest) -> Result<()> {
        self.delete_all(&[(offset, digest)])
    }

    /// Deletes the records at these offsets; durable when it answers. A note that this process did not flush is
    /// written once more.
    pub fn delete_all(&self, records: &[(u64, Digest)]) -> Result<()> {
        let (unflushed, named) = {
            let dead = self.dead();
            let unflushed = records.iter().filter(|(offset, _)| !dead.flushed.contains(offset));
            (unflushed.copied().collect::<Vec<_>>(), dead.named)
        };
        if unflushed.is_empty() {
            return Ok(());
        }
        // A write that fails may spoil what lies beside it.
        deletions::append(&self.deletions, &unflushed, !named).inspect_err(|_| self.doubt_deletions())?;
        let mut dead = self.dead();
        dead.named = true;
        dead.offsets.extend(unflushed.iter().map(|(offset, _)| *offset));
        dead.flushed.extend(unflushed.iter().map(|(offset, _)| *offset));
        Ok(())
    }

    /// Forgets which notes are durable.
    pub fn doubt_deletions(&self) {
        let mut dead = self.dead();
        dead.flushed.clear();
        dead.named = false;
    }

    /// Number of records that were deleted.
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

    /// A copy of all that lives in it.
    pub fn slots_now(&self) -> Result<Vec<(Digest, Slot)>> {
        let mut all = Vec::new();
        self.each_live(|digest, slot| {
            all.push((*digest, *slot));
            Ok(())
        })?;
        Ok(all)
    }

    /// Bytes of all live records, headers and tables included, and their number and content.
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

/// Sums over the live records of a segment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Live {
    pub blobs: u64,
    pub content: u64,
    pub footprint: u64,
}

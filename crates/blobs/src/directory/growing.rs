//! Segments that this process writes: created ahead of need, sealed behind.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Error, ErrorKind, Result, Timestamp};
use rustix::fs::FlockOperation;

use super::catalog::Catalog;
use super::files::{failed, reserve, sync_directory, try_lock};
use super::index::IndexFile;
use super::record::{BLOCK, HEADER, seal};
use super::segment::Segment;

const MAGIC: &[u8; 8] = b"SRsegmt1";
/// A process begins with segments of this length and doubles it, so that a small farm does not reserve a large one's space.
const FIRST: u64 = 16 << 20;
/// Zeros are written in steps of this length.
const FILL_STEP: usize = 4 << 20;
/// After this long without work the thread looks whether memory can be given back.
const IDLE: Duration = Duration::from_secs(10);

/// A segment that this process owns by the lock of its file.
pub struct Growing {
    pub segment: Arc<Segment>,
    pub file: File,
    pub capacity: u64,
    /// Where the next batch begins.
    pub end: u64,
}

impl Growing {
    /// Creates a segment with room for at least `need` bytes of records; `wish` is its length if the disk has the space.
    pub fn create(catalog: &Catalog, wish: u64, need: u64) -> Result<Self> {
        let _guard = catalog.layout.lock(FlockOperation::LockShared)?;
        let (id, path, file) = create_file(catalog)?;
        let least = need.next_multiple_of(BLOCK) + BLOCK;
        let made = reserve_space(&file, &path, wish.max(least), least).and_then(|capacity| {
            let write = file.write_all_at(&head(id), 0).and_then(|()| file.sync_all());
            write.map_err(|e| failed("write", &path, e))?;
            sync_directory(&catalog.layout.segments())?;
            Ok(capacity)
        });
        match made {
            Ok(capacity) => Ok(Self { segment: catalog.add_own(id), file, capacity, end: BLOCK }),
            Err(error) => {
                // Only tidying: recovery removes empty segments too.
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }

    pub fn room(&self) -> u64 {
        self.capacity.saturating_sub(self.end)
    }

    /// Ends a segment: cut to what is used, indexed, unlocked.
    pub fn seal(self, catalog: &Catalog) -> Result<()> {
        let path = self.segment.path();
        let Some(mut slots) = self.segment.slots().filter(|slots| !slots.is_empty()) else {
            catalog.forget(self.segment.id);
            fs::remove_file(path).map_err(|e| failed("remove", path, e))?;
            return Ok(());
        };
        self.file.set_len(self.end).and_then(|()| self.file.sync_all()).map_err(|e| failed("seal", path, e))?;
        let index = IndexFile::write(&catalog.layout.index(self.segment.id), self.segment.id, self.end, &mut slots)?;
        self.segment.become_sealed(index);
        Ok(())
    }
}

/// Creates a file with an identifier that nobody has, and locks it.
fn create_file(catalog: &Catalog) -> Result<(u64, PathBuf, File)> {
    let mut id = Timestamp::now().micros().max(1) as u64;
    loop {
        let path = catalog.layout.segment(id);
        match File::options().read(true).write(true).create_new(true).open(&path) {
            Ok(file) => {
                // Recovery, which tries locks, is kept out by the store's lock.
                try_lock(&file, &path)?;
                return Ok((id, path, file));
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => id += 1,
            Err(error) => return Err(failed("create a segment", &path, error)),
        }
    }
}

/// Reserves `wish` bytes, or less on a nearly full disk, but never less than `least`.
fn reserve_space(file: &File, path: &std::path::Path, wish: u64, least: u64) -> Result<u64> {
    let mut capacity = wish.next_multiple_of(BLOCK);
    loop {
        let Err(error) = reserve(file, capacity) else { return Ok(capacity) };
        let error = failed("reserve space for", path, error);
        if error.kind() != ErrorKind::Exhausted || capacity <= least {
            return Err(error);
        }
        // A failed reservation may keep a part.
        file.set_len(0).map_err(|e| failed("cut", path, e))?;
        capacity = (capacity / 4).max(least).next_multiple_of(BLOCK);
    }
}

/// The first block of a segment; records carry all that reading needs, this tells what the file is.
fn head(id: u64) -> [u8; BLOCK as usize] {
    let mut block = [0; BLOCK as usize];
    let mut head = [0; HEADER];
    head[0..8].copy_from_slice(MAGIC);
    head[8..12].copy_from_slice(&1u32.to_le_bytes());
    head[16..24].copy_from_slice(&id.to_le_bytes());
    seal(&mut head);
    block[..HEADER].copy_from_slice(&head);
    block
}

/// A thread that creates the next segment and seals the last one, so that no upload waits for either.
pub struct Nursery {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    catalog: Arc<Catalog>,
    largest: u64,
    zero_fill: bool,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    ready: Option<Growing>,
    full: Vec<Growing>,
    /// How many segments were asked for and are not made yet.
    wanted: bool,
    making: bool,
    /// Somebody waits for the segment that is being filled with zeros.
    hurry: bool,
    next_length: u64,
    closed: bool,
}

impl Nursery {
    /// Starts the thread; it calls `idle` now and then when it has nothing to do.
    pub fn start(
        catalog: Arc<Catalog>,
        largest: u64,
        zero_fill: bool,
        mut idle: impl FnMut() + Send + 'static,
    ) -> Result<Self> {
        let next_length = FIRST.min(largest);
        let state = State {
            ready: None,
            full: Vec::new(),
            wanted: false,
            making: false,
            hurry: false,
            next_length,
            closed: false,
        };
        let state = Mutex::new(state);
        let shared = Arc::new(Shared { catalog, largest, zero_fill, state, changed: Condvar::new() });
        let worker = shared.clone();
        let thread = std::thread::Builder::new()
            .name("blob-segments".into())
            .spawn(move || worker.run(&mut idle))
            .map_err(|e| Error::unavailable("cannot start a thread for the BLOB store").with_source(e))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// A segment with room for `need` bytes, at best one that is ready.
    pub fn take(&self, need: u64) -> Result<Growing> {
        let mut state = self.shared.lock();
        while state.making && state.ready.is_none() {
            state.hurry = true;
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let ready = state.ready.take();
        let length = state.next_length;
        state.next_length = (length * 2).min(self.shared.largest);
        state.wanted = true;
        drop(state);
        match ready {
            Some(growing) if growing.room() >= need => {
                self.shared.changed.notify_all();
                Ok(growing)
            }
            small => {
                small.into_iter().for_each(|growing| self.seal(growing));
                let made = Growing::create(&self.shared.catalog, length, need);
                // Only now, so that the one that is needed does not compete with the one after it.
                self.shared.changed.notify_all();
                made
            }
        }
    }

    /// Seals a segment some time later.
    pub fn seal(&self, growing: Growing) {
        self.shared.lock().full.push(growing);
        self.shared.changed.notify_all();
    }

    /// Seals what waits and ends the thread.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that seals BLOB segments panicked; the next start seals what it left");
        }
    }
}

impl Drop for Nursery {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self, idle: &mut dyn FnMut()) {
        loop {
            let mut state = self.lock();
            if let Some(growing) = state.full.pop() {
                drop(state);
                self.seal(growing);
            } else if state.closed {
                let ready = state.ready.take();
                drop(state);
                ready.into_iter().for_each(|growing| self.seal(growing));
                return;
            } else if state.wanted && state.ready.is_none() {
                state.wanted = false;
                state.making = true;
                let length = state.next_length;
                drop(state);
                self.make(length);
            } else {
                // The loop looks again, whatever the reason for waking.
                let (state, waited) = self.changed.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                drop(state);
                if waited.timed_out() {
                    idle();
                }
            }
        }
    }

    fn make(&self, length: u64) {
        let made = Growing::create(&self.catalog, length, BLOCK);
        let made = made.and_then(|growing| self.fill(&growing).map(|()| growing));
        let mut state = self.lock();
        match made {
            Ok(growing) => state.ready = Some(growing),
            // Whoever needs the segment tries again and tells the uploads.
            Err(error) => tracing::warn!(error = error.report(), "cannot prepare a BLOB segment"),
        }
        (state.making, state.hurry) = (false, false);
        drop(state);
        self.changed.notify_all();
    }

    /// Writes zeros over the reserved space: a flush of records then changes no metadata of the file, which is what makes
    /// it fast.
    fn fill(&self, growing: &Growing) -> Result<()> {
        if !self.zero_fill {
            return Ok(());
        }
        let path = growing.segment.path();
        let zeros = vec![0; FILL_STEP];
        let mut at = BLOCK;
        while at < growing.capacity {
            let state = self.lock();
            if state.hurry || state.closed {
                break;
            }
            drop(state);
            let length = (growing.capacity - at).min(FILL_STEP as u64) as usize;
            let write = growing.file.write_all_at(&zeros[..length], at).and_then(|()| growing.file.sync_data());
            write.map_err(|e| failed("prepare", path, e))?;
            at += length as u64;
        }
        Ok(())
    }

    fn seal(&self, growing: Growing) {
        let path = growing.segment.path().clone();
        if let Err(error) = growing.seal(&self.catalog) {
            tracing::error!(segment = %path.display(), error = error.report(), "cannot seal a segment; the next start will");
        }
    }
}

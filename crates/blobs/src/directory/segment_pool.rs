//! A thread that creates segments ahead of need and seals full ones in the background, so that no upload waits for
//! either.

use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use model::{Error, Result};

use super::catalog::Catalog;
use super::files::io_error;
use super::growing::GrowingSegment;
use super::record::BLOCK;

/// Length of a process's first segment. Each further segment is twice as long, so that a small farm does not reserve
/// the space of a large one.
const FIRST: u64 = 16 << 20;
/// Number of zeros per write.
const FILL_STEP: usize = 4 << 20;
/// Time without a written batch after which zeros may be written.
const QUIET: Duration = Duration::from_millis(50);
/// Time without work after which the thread calls `idle`, which may release memory.
const IDLE: Duration = Duration::from_secs(10);

/// The thread that creates the next segment and seals the last one, so that no upload waits for either.
pub struct SegmentPool {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    catalog: Arc<Catalog>,
    largest: u64,
    zero_fill: bool,
    started: Instant,
    /// Time of the last batch, in milliseconds since `started`.
    last_commit: AtomicU64,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    ready: Option<GrowingSegment>,
    to_seal: Vec<GrowingSegment>,
    /// Set when a segment was taken and the next one is not being made yet.
    requested: bool,
    creating: bool,
    /// Set when a caller waits for the segment that is being filled with zeros.
    urgent: bool,
    next_length: u64,
    closed: bool,
}

impl SegmentPool {
    /// Starts the thread. It calls `idle` whenever it has had no work for a while.
    pub fn start(
        catalog: Arc<Catalog>,
        largest: u64,
        zero_fill: bool,
        mut idle: impl FnMut() + Send + 'static,
    ) -> Result<Self> {
        let next_length = FIRST.min(largest);
        let state = State {
            ready: None,
            to_seal: Vec::new(),
            requested: false,
            creating: false,
            urgent: false,
            next_length,
            closed: false,
        };
        let state = Mutex::new(state);
        let (started, last_commit, changed) = (Instant::now(), AtomicU64::new(0), Condvar::new());
        let shared = Arc::new(Shared { catalog, largest, zero_fill, started, last_commit, state, changed });
        let worker = shared.clone();
        let thread = std::thread::Builder::new()
            .name("blob-segments".into())
            .spawn(move || {
                // The thread must survive a panic: without it, callers that need the segment being made would wait for
                // ever.
                while catch_unwind(AssertUnwindSafe(|| worker.run(&mut idle))).is_err() {
                    tracing::error!("the thread that creates BLOB segments panicked; it continues");
                    let mut state = worker.lock();
                    (state.creating, state.urgent) = (false, false);
                    drop(state);
                    worker.changed.notify_all();
                }
            })
            .map_err(|e| Error::unavailable("cannot start a thread for the BLOB store").with_source(e))?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Returns a segment with room for `need` bytes, preferably one that is ready.
    pub fn take(&self, need: u64) -> Result<GrowingSegment> {
        let mut state = self.shared.lock();
        while state.creating && state.ready.is_none() {
            state.urgent = true;
            self.shared.changed.notify_all();
            state = self.shared.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let ready = state.ready.take();
        let length = state.next_length;
        state.next_length = (length * 2).min(self.shared.largest);
        state.requested = true;
        drop(state);
        match ready {
            Some(growing) if growing.room() >= need => {
                self.shared.changed.notify_all();
                Ok(growing)
            }
            small => {
                small.into_iter().for_each(|growing| self.seal(growing));
                let made = GrowingSegment::create(&self.shared.catalog, length, need);
                // The thread is woken only now, so that the following segment does not compete with the one that is
                // needed.
                self.shared.changed.notify_all();
                made
            }
        }
    }

    /// Records that a batch was just written, so that filling with zeros pauses.
    pub fn note_commit(&self) {
        let now = self.shared.started.elapsed().as_millis() as u64;
        self.shared.last_commit.store(now, Ordering::Relaxed);
    }

    /// Queues a segment for sealing.
    pub fn seal(&self, growing: GrowingSegment) {
        self.shared.lock().to_seal.push(growing);
        self.shared.changed.notify_all();
    }

    /// Seals the remaining segments and ends the thread. Blocks.
    pub fn close(&self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if thread.is_some_and(|thread| thread.join().is_err()) {
            tracing::error!("the thread that seals BLOB segments panicked; the next start seals the remaining ones");
        }
    }
}

impl Drop for SegmentPool {
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
            if let Some(growing) = state.to_seal.pop() {
                drop(state);
                self.seal(growing);
            } else if state.closed {
                let ready = state.ready.take();
                drop(state);
                ready.into_iter().for_each(|growing| self.seal(growing));
                return;
            } else if state.requested && state.ready.is_none() {
                state.requested = false;
                state.creating = true;
                let length = state.next_length;
                drop(state);
                self.make(length);
            } else {
                // The reason for waking does not matter: the loop checks the state again.
                let (state, waited) = self.changed.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                drop(state);
                if waited.timed_out() {
                    idle();
                }
            }
        }
    }

    fn make(&self, length: u64) {
        let made = GrowingSegment::create(&self.catalog, length, BLOCK);
        let made = made.and_then(|growing| self.fill(&growing).map(|()| growing));
        let mut state = self.lock();
        match made {
            Ok(growing) => state.ready = Some(growing),
            // The next caller that needs the segment tries again and passes the error on to its uploads.
            Err(error) => tracing::warn!(error = error.report(), "cannot prepare a BLOB segment"),
        }
        (state.creating, state.urgent) = (false, false);
        drop(state);
        self.changed.notify_all();
    }

    /// Writes zeros over the reserved space while no BLOBs are being stored. A flush of records then changes no file
    /// metadata, which halves its duration. During a steady stream of uploads it would only take half of the disk's
    /// throughput from them.
    fn fill(&self, growing: &GrowingSegment) -> Result<()> {
        if !self.zero_fill {
            return Ok(());
        }
        let path = growing.segment.path();
        let zeros = vec![0; FILL_STEP];
        let mut at = BLOCK;
        while at < growing.capacity && self.wait_for_quiet() {
            let length = (growing.capacity - at).min(FILL_STEP as u64) as usize;
            let write = growing.file.write_all_at(&zeros[..length], at).and_then(|()| growing.file.sync_data());
            write.map_err(|e| io_error("prepare", path, e))?;
            at += length as u64;
        }
        Ok(())
    }

    /// Waits until no batch was written for a moment. Returns `false` when filling must stop, for example because the
    /// segment is needed now.
    fn wait_for_quiet(&self) -> bool {
        let mut state = self.lock();
        loop {
            if state.urgent || state.closed || !state.to_seal.is_empty() {
                return false;
            }
            let last = Duration::from_millis(self.last_commit.load(Ordering::Relaxed));
            let since = self.started.elapsed().saturating_sub(last);
            if since >= QUIET {
                return true;
            }
            state = self.changed.wait_timeout(state, QUIET - since).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn seal(&self, growing: GrowingSegment) {
        let path = growing.segment.path().clone();
        if let Err(error) = growing.seal(&self.catalog) {
            tracing::error!(segment = %path.display(), error = error.report(),
                "cannot seal a segment; the next start will");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::coded::Coding;
    use crate::directory::layout::Layout;
    use crate::{DirectoryOptions, Owner};

    #[test]
    fn a_segment_that_cannot_be_made_for_a_fault_of_the_program_keeps_nobody_waiting() {
        let scratch = tempfile::tempdir().unwrap();
        let layout = Layout::open(scratch.path(), &Owner::new("farm").unwrap(), true).unwrap();
        let coding = Coding::new(scratch.path(), &DirectoryOptions::default());
        let catalog = Arc::new(Catalog::open(layout, coding).unwrap());
        let nursery = SegmentPool::start(catalog, 4 << 20, false, || {}).unwrap();
        // A length that overflows is a programming error on which the thread panics.
        let mut state = nursery.shared.lock();
        (state.next_length, state.requested) = (u64::MAX, true);
        drop(state);
        nursery.shared.changed.notify_all();
        let begun = Instant::now();
        while nursery.shared.lock().requested {
            assert!(begun.elapsed() < Duration::from_secs(20), "the thread takes up what is wanted");
            std::thread::yield_now();
        }
        nursery.shared.lock().next_length = BLOCK;
        let (sender, receiver) = std::sync::mpsc::channel();
        let taking = std::thread::spawn(move || {
            let taken = nursery.take(BLOCK).map(|growing| growing.capacity);
            sender.send(taken).unwrap();
            nursery.close();
        });
        let taken = receiver.recv_timeout(Duration::from_secs(20)).expect("nobody waits for ever");
        assert!(taken.unwrap() >= BLOCK);
        taking.join().unwrap();
    }
}

//! Sees to it that a runtime goes on serving connections while short reads wait for a disk.
//!
//! Short reads run on the runtime's threads. One of these threads waits for the system to tell of connections; when it
//! is told, it runs what it was told of itself, and the others, which may all be idle, are not woken for one task. Where
//! that task is a read that waits for a disk, nobody would hear of any other connection until it ends. Another thread
//! notices such a read and wakes one of the idle ones, which waits for the system in its place.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::runtime::Handle;

/// How long a read may take until another thread is woken.
const INTERVAL: Duration = Duration::from_millis(20);
/// Looks at an idle file before the thread sleeps until the next read.
const IDLE_LOOKS: u32 = 50;

/// Counts the short reads of one file.
#[derive(Default)]
struct Counts {
    begun: AtomicU64,
    ended: AtomicU64,
    sleeps: AtomicBool,
    closed: AtomicBool,
}

/// The thread that looks after the short reads of one file. It ends when this is dropped.
pub(super) struct Attendant {
    counts: Arc<Counts>,
    /// None until the first read, and where no thread can be started.
    thread: OnceLock<Option<Thread>>,
}

impl Attendant {
    pub(super) fn new() -> Self {
        Self { counts: Arc::default(), thread: OnceLock::new() }
    }

    /// Runs a short read on this thread, which is one of the runtime's.
    pub(super) fn attend<T>(&self, read: impl FnOnce() -> T) -> T {
        let thread = self.thread.get_or_init(|| self.start());
        self.counts.begun.fetch_add(1, Ordering::SeqCst);
        if self.counts.sleeps.load(Ordering::SeqCst)
            && let Some(thread) = thread
        {
            thread.unpark();
        }
        let result = read();
        self.counts.ended.fetch_add(1, Ordering::SeqCst);
        result
    }

    fn start(&self) -> Option<Thread> {
        let runtime = Handle::try_current().ok()?;
        let counts = Arc::clone(&self.counts);
        let started = thread::Builder::new().name("sqlite-attend".into()).spawn(move || look_after(&counts, &runtime));
        started
            .inspect_err(|error| tracing::warn!(%error, "slow reads of a database can hold up what does not need it"))
            .ok()
            .map(|handle| handle.thread().clone())
    }
}

impl Drop for Attendant {
    fn drop(&mut self) {
        self.counts.closed.store(true, Ordering::SeqCst);
        if let Some(Some(thread)) = self.thread.get() {
            thread.unpark();
        }
    }
}

fn look_after(counts: &Counts, runtime: &Handle) {
    let (mut ended_before, mut idle_looks) = (0, 0);
    while !counts.closed.load(Ordering::SeqCst) {
        thread::park_timeout(INTERVAL);
        let ended = counts.ended.load(Ordering::SeqCst);
        if counts.begun.load(Ordering::SeqCst) == ended {
            idle_looks += 1;
            if idle_looks > IDLE_LOOKS {
                counts.sleeps.store(true, Ordering::SeqCst);
                // A read that begins from now on wakes this thread.
                if counts.begun.load(Ordering::SeqCst) == ended && !counts.closed.load(Ordering::SeqCst) {
                    thread::park();
                }
                counts.sleeps.store(false, Ordering::SeqCst);
                idle_looks = 0;
            }
        } else if ended == ended_before {
            // Any task does: the thread that has run it waits for the system next.
            drop(runtime.spawn(std::future::ready(())));
        }
        ended_before = ended;
    }
}

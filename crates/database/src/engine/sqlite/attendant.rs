//! Keeps a runtime serving connections while short reads wait for a disk.
//!
//! Short reads run on the runtime's threads. One of these threads polls all connections. When a connection has a
//! request, that thread answers it itself, and wakes no other thread for it. If the request then waits for a disk, the
//! connections are not polled, although other threads are idle. The thread of this module notices such a read and wakes
//! an idle thread of the runtime, which polls from then on.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::runtime::{Handle, RuntimeFlavor};

/// Duration of a read after which another thread is woken.
const INTERVAL: Duration = Duration::from_millis(20);
/// Number of checks that find no read running before the thread sleeps until the next read.
const IDLE_LOOKS: u32 = 50;

/// Counters of the short reads of one file.
#[derive(Default)]
struct Counts {
    begun: AtomicU64,
    ended: AtomicU64,
    sleeps: AtomicBool,
    closed: AtomicBool,
}

/// The thread that watches the short reads of one file. It ends when this value is dropped.
pub(super) struct ReadWatchdog {
    counts: Arc<Counts>,
    /// Set by the first read in a multi-threaded runtime; `None` inside if no thread could be started.
    thread: OnceLock<Option<Thread>>,
}

impl ReadWatchdog {
    pub(super) fn new() -> Self {
        Self { counts: Arc::default(), thread: OnceLock::new() }
    }

    /// Runs a short read on this thread, which is one of the runtime's.
    pub(super) fn attend<T>(&self, read: impl FnOnce() -> T) -> T {
        let thread = self.thread();
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

    /// Returns the thread. Starts it at the first read in a multi-threaded runtime. Jobs run in a single-threaded
    /// runtime, which has no other thread to wake.
    fn thread(&self) -> Option<&Thread> {
        if let Some(thread) = self.thread.get() {
            return thread.as_ref();
        }
        let runtime = Handle::try_current().ok()?;
        if runtime.runtime_flavor() == RuntimeFlavor::CurrentThread {
            return None;
        }
        self.thread.get_or_init(|| self.start(runtime)).as_ref()
    }

    fn start(&self, runtime: Handle) -> Option<Thread> {
        let counts = Arc::clone(&self.counts);
        let started = thread::Builder::new().name("sqlite-attend".into()).spawn(move || look_after(&counts, &runtime));
        started
            .inspect_err(|error| {
                tracing::warn!(%error, "slow reads of a database can delay requests that do not need the database")
            })
            .ok()
            .map(|handle| handle.thread().clone())
    }
}

impl Drop for ReadWatchdog {
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
                // From now on a read that begins wakes this thread.
                if counts.begun.load(Ordering::SeqCst) == ended && !counts.closed.load(Ordering::SeqCst) {
                    thread::park();
                }
                counts.sleeps.store(false, Ordering::SeqCst);
                idle_looks = 0;
            }
        } else if ended == ended_before {
            // Any task will do: the thread that runs it polls the connections next.
            drop(runtime.spawn(std::future::ready(())));
        }
        ended_before = ended;
    }
}

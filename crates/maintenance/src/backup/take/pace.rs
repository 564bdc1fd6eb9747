//! Throttling of a backup: full speed while no database changes, a fraction of the time while users make changes. The
//! threads' priority leaves the processors to other work; this module leaves them the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::{Database, Position};
use tokio::task::JoinHandle;

/// Polling interval of the databases, and the number of intervals for which a change counts as activity.
const LOOK: Duration = Duration::from_millis(100);
const ACTIVE_INTERVALS: u32 = 5;
/// Bytes copied between two checks.
const BYTES_PER_CHECK: u64 = 8 << 20;
/// While users make changes, the pause after a stretch is this multiple of the stretch's duration.
const REST: u32 = 5;
/// Upper limit of such a pause.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// Throttle of one backup.
pub(crate) struct Throttle {
    busy: Arc<AtomicBool>,
    looking: JoinHandle<()>,
    began: Instant,
    moved: u64,
}

impl Throttle {
    /// Starts to watch these databases for changes. A database that does not respond counts as idle.
    pub fn follow(databases: Vec<Database>) -> Self {
        let busy = Arc::new(AtomicBool::new(false));
        let flag = busy.clone();
        let looking = tokio::spawn(async move {
            let (mut seen, mut left) = (look(&databases).await, 0);
            loop {
                tokio::time::sleep(LOOK).await;
                let now = look(&databases).await;
                left = if now == seen { u32::saturating_sub(left, 1) } else { ACTIVE_INTERVALS };
                seen = now;
                flag.store(left > 0, Ordering::Relaxed);
            }
        });
        Self { busy, looking, began: Instant::now(), moved: 0 }
    }

    /// Counts bytes that are about to be copied. Returns true when the caller must wait for copies in progress and then
    /// call [`Self::pause`].
    pub fn must_pause(&mut self, bytes: u64) -> bool {
        self.moved += bytes;
        if self.moved < BYTES_PER_CHECK {
            return false;
        }
        self.moved = 0;
        if !self.busy.load(Ordering::Relaxed) {
            self.began = Instant::now();
            return false;
        }
        true
    }

    /// Pauses after a stretch.
    #[boxed]
    pub async fn pause(&mut self) {
        tokio::time::sleep((self.began.elapsed() * REST).min(MAX_PAUSE)).await;
        self.began = Instant::now();
    }
}

async fn look(databases: &[Database]) -> Vec<Option<Position>> {
    let mut seen = Vec::with_capacity(databases.len());
    for database in databases {
        seen.push(database.position().await.ok());
    }
    seen
}

impl Drop for Throttle {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

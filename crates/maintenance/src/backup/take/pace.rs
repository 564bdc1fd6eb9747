//! How fast a backup goes: as fast as it can while nobody changes anything, a part of the time while people do. The processors are left
//! to others by the threads' priority; this leaves them the disk.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::{Database, Position};
use tokio::task::JoinHandle;

/// How often the databases are looked at, and how long a change counts.
const LOOK: Duration = Duration::from_millis(100);
const LASTS: u32 = 5;
/// Bytes between two looks at the clock.
const STRETCH: u64 = 8 << 20;
/// While people change things, a stretch is followed by so many times its own time of rest,
const REST: u32 = 5;
/// but at most this.
const LONGEST: Duration = Duration::from_secs(2);

/// The pace of one backup.
pub(crate) struct Pace {
    busy: Arc<AtomicBool>,
    looking: JoinHandle<()>,
    began: Instant,
    moved: u64,
}

impl Pace {
    /// Follows what happens in these databases. One that does not answer counts as quiet.
    pub fn follow(databases: Vec<Database>) -> Self {
        let busy = Arc::new(AtomicBool::new(false));
        let flag = busy.clone();
        let looking = tokio::spawn(async move {
            let (mut seen, mut left) = (look(&databases).await, 0);
            loop {
                tokio::time::sleep(LOOK).await;
                let now = look(&databases).await;
                left = if now == seen { u32::saturating_sub(left, 1) } else { LASTS };
                seen = now;
                flag.store(left > 0, Ordering::Relaxed);
            }
        });
        Self { busy, looking, began: Instant::now(), moved: 0 }
    }

    /// Counts bytes that are about to move; true when what is under way is to be waited for, and then [`Self::rest`] to be called.
    pub fn moves(&mut self, bytes: u64) -> bool {
        self.moved += bytes;
        if self.moved < STRETCH {
            return false;
        }
        self.moved = 0;
        if !self.busy.load(Ordering::Relaxed) {
            self.began = Instant::now();
            return false;
        }
        true
    }

    /// Rests after a stretch.
    pub async fn rest(&mut self) {
        tokio::time::sleep((self.began.elapsed() * REST).min(LONGEST)).await;
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

impl Drop for Pace {
    fn drop(&mut self) {
        self.looking.abort();
    }
}

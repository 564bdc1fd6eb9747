//! Whether people work, for jobs that make room for them: the requests of this process, or what a server on the same data directory
//! says by the time of its lock file, so that a command makes room too.

use std::fs::File;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use crate::{Repository, Storage};

/// The file by which a server or a restoration keeps others away from a data directory.
pub const SERVER_LOCK: &str = "server.lock";
/// So many requests between two looks are people at work.
const BUSY: u64 = 2;
/// How often a server says it, and for how long what it said counts.
const TELL: Duration = Duration::from_millis(100);
const COUNTS: Duration = Duration::from_millis(500);

/// Requests so far.
#[derive(Default)]
pub(crate) struct Activity(AtomicU64);

impl Activity {
    pub(crate) fn note(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// What one who makes room has seen.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch(u64);

impl Watch {
    fn is_busy(&mut self, activity: &Activity) -> bool {
        let now = activity.0.load(Ordering::Relaxed);
        now.wrapping_sub(std::mem::replace(&mut self.0, now)) >= BUSY
    }
}

impl Storage {
    /// Whether people have worked since the last look.
    pub fn is_busy(&self, watch: &mut Watch) -> bool {
        let inner = &self.repository.inner;
        if inner.serving {
            return watch.is_busy(&inner.activity);
        }
        // Without a server, or where its file cannot be seen, nobody is known to work.
        let told = std::fs::metadata(inner.directory.join(SERVER_LOCK)).and_then(|file| file.modified());
        told.is_ok_and(|told| told.elapsed().is_ok_and(|age| age < COUNTS))
    }
}

impl Repository {
    /// Says whether people work, to commands on the same data directory, for as long as the server runs.
    pub async fn tell_activity(self) {
        let path = self.inner.directory.join(SERVER_LOCK);
        let mut watch = Watch::default();
        loop {
            tokio::time::sleep(TELL).await;
            if watch.is_busy(&self.inner.activity) {
                let path = path.clone();
                // It matters to nobody's data: a disk that refuses is told of by those who need it.
                let tell = move || File::options().write(true).open(path)?.set_modified(SystemTime::now());
                let _ = tokio::task::spawn_blocking(tell).await;
            }
        }
    }
}

//! The pace at which all documents are read: at most a given rate, and about a sixth of the time while users are
//! active. It does not delay documents that change.

use std::time::{Duration, Instant};

use repository::{ActivityMonitor, Storage};

/// Rest after a step as a multiple of its duration, while users are active.
const REST: u32 = 5;
const MAX_REST: Duration = Duration::from_secs(10);

/// Decides when the next documents may be read.
pub(super) struct Pace {
    /// Bytes per second; `None` for unlimited.
    rate: Option<u64>,
    watch: ActivityMonitor,
    rests_until: Instant,
}

impl Pace {
    pub(super) fn new(storage: &Storage, rate: Option<u64>) -> Self {
        let mut watch = ActivityMonitor::default();
        // Requests before the walk are no reason to rest.
        storage.is_busy(&mut watch);
        Self { rate, watch, rests_until: Instant::now() }
    }

    /// Returns whether the next documents may be read.
    pub(super) fn may_go_on(&self) -> bool {
        Instant::now() >= self.rests_until
    }

    /// Decides about the rest after a step that began at this time and read this number of bytes.
    pub(super) fn note(&mut self, storage: &Storage, begun: Instant, bytes: u64) {
        let now = Instant::now();
        let for_users = if storage.is_busy(&mut self.watch) {
            (now - begun).saturating_mul(REST).min(MAX_REST)
        } else {
            Duration::ZERO
        };
        let for_rate =
            self.rate.map_or(Duration::ZERO, |rate| Duration::from_secs_f64(bytes as f64 / rate.max(1) as f64));
        self.rests_until = (now + for_users).max(begun + for_rate);
    }
}

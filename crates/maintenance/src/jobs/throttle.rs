//! Throttling of a job: a fixed number of bytes per second, and about a sixth of the time while users are active.

use std::time::{Duration, Instant};

use repository::ActivityMonitor;

use super::running_job::{JobResult, RunningJob};

/// Maximum pause after a step as a multiple of the step's duration, taken while users remain active.
const MAX_PAUSES: u32 = 5;
/// Upper limit for one such multiple.
const MAX_REST: Duration = Duration::from_secs(2);

/// Throttle of one job.
pub(super) struct Throttle {
    /// Bytes per second. None for unlimited.
    rate: Option<u64>,
    started: Instant,
    bytes: u64,
    watch: ActivityMonitor,
    step: Instant,
    busy: bool,
}

impl Throttle {
    pub(super) fn new(rate: Option<u64>) -> Self {
        let now = Instant::now();
        Self { rate, started: now, bytes: 0, watch: ActivityMonitor::default(), step: now, busy: false }
    }

    /// Returns whether users were active after the last step. The next step must then work in small units, because a
    /// request that arrives during a large unit waits for all of it.
    pub(super) fn is_busy(&self) -> bool {
        self.busy
    }

    /// Waits after a step that moved this number of bytes.
    pub(super) async fn after(&mut self, job: &RunningJob, bytes: u64) -> JobResult<()> {
        self.bytes += bytes;
        let mut wait = Duration::ZERO;
        if let Some(rate) = self.rate {
            let due = Duration::from_secs_f64(self.bytes as f64 / rate.max(1) as f64);
            wait = due.saturating_sub(self.started.elapsed());
        }
        if !wait.is_zero() {
            job.wait(wait).await?;
        }
        let rest = self.step.elapsed().saturating_sub(wait).min(MAX_REST);
        self.busy = false;
        for _ in 0..MAX_PAUSES {
            if !job.storage().is_busy(&mut self.watch) {
                break;
            }
            self.busy = true;
            job.wait(rest).await?;
        }
        self.step = Instant::now();
        job.check_stop()
    }
}

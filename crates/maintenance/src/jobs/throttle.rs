//! How much of the machine a job takes: a given number of bytes a second, and less than half of the time while people work.

use std::time::{Duration, Instant};

use repository::Storage;

use super::ticket::{Flow, Ticket};

/// Requests of people between two steps of a job from which on it makes room.
const BUSY: u64 = 2;
/// The longest that a job makes room at once.
const LONGEST: Duration = Duration::from_secs(2);

/// Paces one job.
pub(super) struct Throttle {
    /// Bytes a second; none is as fast as it goes.
    rate: Option<u64>,
    started: Instant,
    bytes: u64,
    activity: u64,
    step: Instant,
}

impl Throttle {
    pub(super) fn new(storage: &Storage, rate: Option<u64>) -> Self {
        let now = Instant::now();
        Self { rate, started: now, bytes: 0, activity: storage.activity(), step: now }
    }

    /// Waits after a step that moved so many bytes.
    pub(super) async fn after(&mut self, ticket: &Ticket, bytes: u64) -> Flow<()> {
        self.bytes += bytes;
        let mut wait = Duration::ZERO;
        if let Some(rate) = self.rate {
            let due = Duration::from_secs_f64(self.bytes as f64 / rate.max(1) as f64);
            wait = due.saturating_sub(self.started.elapsed());
        }
        let activity = ticket.storage().activity();
        if activity.wrapping_sub(self.activity) >= BUSY {
            // As long as the step took, so that at most half of the time is the job's.
            wait = wait.max(self.step.elapsed().min(LONGEST));
        }
        if !wait.is_zero() {
            ticket.wait(wait).await?;
        }
        self.activity = ticket.storage().activity();
        self.step = Instant::now();
        ticket.go_on()
    }
}

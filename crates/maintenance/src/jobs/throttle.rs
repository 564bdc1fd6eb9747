//! How much of the machine a job takes: a given number of bytes a second, and less than half of the time while people work.

use std::time::{Duration, Instant};

use repository::Storage;

use super::ticket::{Flow, Ticket};

/// Requests of people between two steps of a job from which on it makes room.
const BUSY: u64 = 2;
/// Steps stay small for so long after a request.
const LINGERS: Duration = Duration::from_secs(1);
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
    /// When somebody was last seen to work.
    seen: Instant,
}

impl Throttle {
    pub(super) fn new(storage: &Storage, rate: Option<u64>) -> Self {
        let now = Instant::now();
        // Somebody works until the first steps have shown otherwise.
        Self { rate, started: now, bytes: 0, activity: storage.activity(), step: now, seen: now }
    }

    /// Whether somebody has worked a moment ago, so that the next step is to be a small one.
    pub(super) fn is_beside_people(&self) -> bool {
        self.seen.elapsed() < LINGERS
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
        let requests = activity.wrapping_sub(self.activity);
        if requests > 0 {
            self.seen = Instant::now();
        }
        if requests >= BUSY {
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

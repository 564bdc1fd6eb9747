//! How much of the machine a job takes: a given number of bytes a second, and a sixth of the time while people work.

use std::time::{Duration, Instant};

use repository::Watch;

use super::ticket::{Flow, Ticket};

/// A step is followed by so many times its own time of rest, for as long as people go on working.
const ROOM: u32 = 5;
/// The longest that one of these times is.
const LONGEST: Duration = Duration::from_secs(2);

/// Paces one job.
pub(super) struct Throttle {
    /// Bytes a second; none is as fast as it goes.
    rate: Option<u64>,
    started: Instant,
    bytes: u64,
    watch: Watch,
    step: Instant,
    busy: bool,
}

impl Throttle {
    pub(super) fn new(rate: Option<u64>) -> Self {
        let now = Instant::now();
        Self { rate, started: now, bytes: 0, watch: Watch::default(), step: now, busy: false }
    }

    /// Whether people worked after the last step: what the next one does is done bit by bit then, since a request that comes in the middle
    /// of much at once waits for all of it.
    pub(super) fn is_gentle(&self) -> bool {
        self.busy
    }

    /// Waits after a step that moved so many bytes.
    pub(super) async fn after(&mut self, ticket: &Ticket, bytes: u64) -> Flow<()> {
        self.bytes += bytes;
        let mut wait = Duration::ZERO;
        if let Some(rate) = self.rate {
            let due = Duration::from_secs_f64(self.bytes as f64 / rate.max(1) as f64);
            wait = due.saturating_sub(self.started.elapsed());
        }
        if !wait.is_zero() {
            ticket.wait(wait).await?;
        }
        let rest = self.step.elapsed().saturating_sub(wait).min(LONGEST);
        self.busy = false;
        for _ in 0..ROOM {
            if !ticket.storage().is_busy(&mut self.watch) {
                break;
            }
            self.busy = true;
            ticket.wait(rest).await?;
        }
        self.step = Instant::now();
        ticket.go_on()
    }
}

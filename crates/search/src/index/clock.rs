//! The time limit of a search.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Number of checks between two that read the time.
const STRETCH: u32 = 32;

/// A deadline that is checked often, at the cost of reading the time for some checks only. Clones share what they know.
#[derive(Clone, Debug)]
pub struct Clock {
    deadline: Instant,
    shared: Arc<Checks>,
}

#[derive(Debug, Default)]
struct Checks {
    count: AtomicU32,
    is_over: AtomicBool,
}

impl Clock {
    /// Starts with a deadline.
    pub fn new(deadline: Instant) -> Self {
        Self { deadline, shared: Arc::default() }
    }

    /// Returns another clock, whose time is up after a part of the time that is left.
    pub(super) fn part(&self, part: u32) -> Self {
        Self::new(Instant::now() + self.left().checked_div(part).unwrap_or(Duration::ZERO))
    }

    /// Returns the time that is left.
    pub(super) fn left(&self) -> Duration {
        self.deadline.saturating_duration_since(Instant::now())
    }

    /// Returns whether time is up.
    pub fn is_over(&self) -> bool {
        if self.shared.count.fetch_add(1, Ordering::Relaxed).is_multiple_of(STRETCH) && Instant::now() >= self.deadline
        {
            self.shared.is_over.store(true, Ordering::Relaxed);
        }
        self.was_over()
    }

    /// Returns whether time is up, before work that may take long.
    pub(super) fn is_over_now(&self) -> bool {
        if Instant::now() >= self.deadline {
            self.shared.is_over.store(true, Ordering::Relaxed);
        }
        self.was_over()
    }

    /// Returns whether time was up at the last check.
    pub fn was_over(&self) -> bool {
        self.shared.is_over.load(Ordering::Relaxed)
    }
}

//! The time limit of a search.

use std::time::Instant;

/// Number of entries between two checks of the time.
const STRETCH: usize = 256;

/// Tells when time is up, at the cost of a look at the clock for some entries only.
pub(super) struct Clock {
    deadline: Instant,
    looks: usize,
}

impl Clock {
    const OVER: usize = usize::MAX;

    pub(super) fn new(deadline: Instant) -> Self {
        Self { deadline, looks: 0 }
    }

    pub(super) fn is_over(&mut self) -> bool {
        if self.looks == Self::OVER {
            return true;
        }
        if self.looks.is_multiple_of(STRETCH) && Instant::now() >= self.deadline {
            self.looks = Self::OVER;
            return true;
        }
        self.looks += 1;
        false
    }

    /// Returns whether time was up at the last look.
    pub(super) fn was_over(&self) -> bool {
        self.looks == Self::OVER
    }
}

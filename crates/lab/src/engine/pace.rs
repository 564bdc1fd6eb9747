//! Timing of operations: arrivals at a rate that follows a course, and pauses.

use std::cell::Cell;
use std::time::Duration;

use crate::plan::LoadCurve;

/// Step by which time advances while the rate is zero.
const IDLE_STEP: Duration = Duration::from_millis(10);
/// Rates below this count as zero.
const ZERO_RATE: f64 = 1e-6;

/// Arrivals of the open model, for all users of one thread.
pub struct Arrivals {
    course: LoadCurve,
    next: Cell<Duration>,
}

impl Arrivals {
    /// Creates arrivals at the rate of a course.
    pub fn new(course: LoadCurve) -> Self {
        Self { course, next: Cell::new(Duration::ZERO) }
    }

    /// Returns the time of the next arrival; `None` after the end of the course.
    pub fn next(&self) -> Option<Duration> {
        let mut at = self.next.get();
        loop {
            let rate = self.course.level(at)?;
            if rate > ZERO_RATE {
                let gap = Duration::try_from_secs_f64(1.0 / rate).unwrap_or(self.course.lasts());
                // In a ramp that starts at zero, the first gap would be almost endless.
                self.next.set(at + gap.min(self.gap_in_ramp(at, gap)));
                return Some(at);
            }
            at += IDLE_STEP;
        }
    }

    /// Returns the gap for the rate that applies half a gap later.
    fn gap_in_ramp(&self, at: Duration, gap: Duration) -> Duration {
        let middle = self.course.level(at + gap.min(Duration::from_secs(1)) / 2).filter(|rate| *rate > ZERO_RATE);
        middle.and_then(|rate| Duration::try_from_secs_f64(1.0 / rate).ok()).unwrap_or(gap)
    }
}

/// Returns a random pause of 0.5 to 1.5 times the mean.
pub fn random_pause(mean: Duration, random: &mut fastrand::Rng) -> Duration {
    mean.mul_f64(0.5 + random.f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_come_at_the_rate_of_the_course() {
        let load: crate::plan::Load =
            toml::from_str("model = 'open'\nrate = 200.0\nramp = '10s'\nduration = '10s'").unwrap();
        let arrivals = Arrivals::new(load.course());
        let all: Vec<Duration> = std::iter::from_fn(|| arrivals.next()).collect();
        let in_ramp = all.iter().filter(|at| at.as_secs() < 10).count();
        assert!((900..1100).contains(&in_ramp), "{in_ramp}");
        assert!((1990..=2010).contains(&(all.len() - in_ramp)), "{}", all.len() - in_ramp);
        assert!(all.is_sorted());
    }
}

//! Conversion between file times and the farm's timestamps.

use model::Timestamp;
use rustix::fs::Timespec;

/// Converts a file time to the farm's precision of microseconds.
pub(super) fn timestamp(seconds: i64, nanoseconds: i64) -> Timestamp {
    Timestamp::from_micros(seconds.saturating_mul(1_000_000).saturating_add(nanoseconds / 1_000))
}

/// Converts a timestamp of the farm to a file time.
pub(super) fn timespec(time: Timestamp) -> Timespec {
    let micros = time.micros();
    Timespec { tv_sec: micros.div_euclid(1_000_000), tv_nsec: micros.rem_euclid(1_000_000) * 1_000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_there_and_back_also_before_1970() {
        for (seconds, nanoseconds) in [(0, 0), (1_700_000_000, 123_456_000), (-5, 999_999_000), (-1, 0)] {
            let spec = timespec(timestamp(seconds, nanoseconds));
            assert_eq!((spec.tv_sec, spec.tv_nsec), (seconds, nanoseconds));
        }
    }
}

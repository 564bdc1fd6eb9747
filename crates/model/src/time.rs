//! Points in time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Microseconds since 1970-01-01 UTC, as every time is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// Wraps a stored value.
    pub const fn from_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Returns the current time of the system's clock.
    pub fn now() -> Self {
        Self::from(SystemTime::now())
    }

    /// Returns the stored value.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// Returns whole seconds since the epoch, rounded down.
    pub const fn seconds(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// Returns this time plus `duration`.
    pub fn after(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(duration.as_micros().min(i64::MAX as u128) as i64))
    }

    /// Returns this time minus `duration`.
    pub fn before(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(duration.as_micros().min(i64::MAX as u128) as i64))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        match time.duration_since(UNIX_EPOCH) {
            Ok(since) => Self(since.as_micros().min(i64::MAX as u128) as i64),
            Err(before) => Self(-(before.duration().as_micros().min(i64::MAX as u128) as i64)),
        }
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        if time.0 >= 0 {
            UNIX_EPOCH + Duration::from_micros(time.0 as u64)
        } else {
            UNIX_EPOCH - Duration::from_micros(time.0.unsigned_abs())
        }
    }
}

//! Farm-wide identifiers.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Error, Result};

/// A positive 63-bit identifier, unique in the farm and ordered by creation: 41 bits of milliseconds since
/// 2025-01-01 UTC, 10 bits of the server's number, 12 bits of sequence (the layout that Twitter published as
/// "Snowflake"). In text, decimal digits, because JavaScript numbers cannot hold it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(i64);

/// 2025-01-01T00:00:00Z in milliseconds since the Unix epoch.
const EPOCH_MS: i64 = 1_735_689_600_000;

impl Id {
    /// The identifier that means "none": the parent of a site collection's root.
    pub const NONE: Id = Id(0);

    /// Wraps a stored value.
    pub const fn new(value: i64) -> Self {
        Self(value)
    }

    /// The stored value.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Whether this is [`Id::NONE`].
    pub const fn is_none(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl FromStr for Id {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text.parse::<i64>() {
            Ok(value) if value > 0 && !text.starts_with('+') => Ok(Self(value)),
            _ => Err(Error::invalid("an identifier is a positive decimal number")),
        }
    }
}

/// Hands out identifiers in one process. Two processes must have different server numbers.
pub struct IdSource {
    server: i64,
    last: AtomicI64,
}

impl IdSource {
    /// A source for the server with this number; only its low 10 bits count.
    pub fn new(server: i64) -> Self {
        Self { server: server & 0x3ff, last: AtomicI64::new(0) }
    }

    /// The next identifier. Never goes back in this process, whatever the clock does.
    pub fn next(&self) -> Id {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
        let floor = (now - EPOCH_MS).max(1) << 12;
        let step = |last: i64| Some(floor.max(last + 1));
        // The closure never returns None, so both arms hold the previous value.
        let last = match self.last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, step) {
            Ok(last) | Err(last) => last,
        };
        let tick = floor.max(last + 1);
        Id(((tick >> 12) << 22) | (self.server << 12) | (tick & 0xfff))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_rise_and_differ_by_server() {
        let (one, two) = (IdSource::new(1), IdSource::new(2));
        let mut last = Id::NONE;
        for _ in 0..20_000 {
            let id = one.next();
            assert!(id > last);
            last = id;
            assert_ne!(id.get() >> 12 & 0x3ff, two.next().get() >> 12 & 0x3ff);
        }
    }

    #[test]
    fn only_positive_decimal_text_is_an_identifier() {
        assert_eq!("42".parse::<Id>().unwrap(), Id::new(42));
        for bad in ["", "0", "-1", "+1", "1.0", "9999999999999999999999", "abc"] {
            assert!(bad.parse::<Id>().is_err(), "{bad}");
        }
    }
}

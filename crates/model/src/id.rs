//! Farm-wide identifiers.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::{Error, Result};

/// A positive 63-bit identifier, unique in the farm and ordered by creation: 41 bits of milliseconds since 2025-01-01
/// UTC, 10 bits of the server's number, 12 bits of sequence (the layout that Twitter published as "Snowflake"). Its
/// text form is decimal digits, because JavaScript numbers cannot hold it.
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

    /// Returns the stored value.
    pub const fn get(self) -> i64 {
        self.0
    }

    /// Returns its time, in milliseconds since the epoch of identifiers.
    pub const fn time(self) -> i64 {
        self.0 >> 22
    }

    /// Returns whether this is [`Id::NONE`].
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

/// The generator of identifiers in one process, from ranges of milliseconds that are granted to it alone. The clock
/// advances it within its range and never out of it. So no clock, however wrong, produces an identifier twice, or one
/// that sorts before existing ones.
pub struct IdSource {
    server: i64,
    state: Mutex<Granted>,
}

/// Milliseconds since [`Id`]'s epoch; the end is excluded.
pub type IdRange = Range<i64>;

struct Granted {
    range: IdRange,
    /// Milliseconds of the last identifier, followed by 12 bits of sequence.
    last: i64,
}

impl IdSource {
    /// Creates a generator with its first range for the server with this number, of which only the low 10 bits count.
    pub fn new(server: i64, range: IdRange) -> Self {
        let last = (range.start << 12) - 1;
        Self { server: server & 0x3ff, state: Mutex::new(Granted { range, last }) }
    }

    /// Returns the next identifier. Identifiers always ascend, whatever the clock does.
    ///
    /// # Panics
    /// When the range is used up.
    pub fn next(&self) -> Id {
        let mut state = self.lock();
        // The second half of a range is a reserve in which the clock is not followed, for times when no new range can
        // be obtained.
        let follows = id_time() < middle(&state.range);
        let floor = if follows { id_time() << 12 } else { 0 };
        let tick = floor.max(state.last + 1);
        // A process that gets no new range cannot write either, and a range has room for 200 million more identifiers.
        assert!(tick >> 12 < state.range.end, "no identifiers are left: the configuration database grants none");
        state.last = tick;
        Id(((tick >> 12) << 22) | (self.server << 12) | (tick & 0xfff))
    }

    /// Returns the current range if the clock shows that another one is needed soon.
    pub fn needs(&self) -> Option<IdRange> {
        Some(self.lock().range.clone()).filter(|range| id_time() >= middle(range))
    }

    /// Continues in another range, which begins at the end of the last one or later.
    pub fn grant(&self, range: IdRange) {
        let mut state = self.lock();
        state.last = state.last.max((range.start << 12) - 1);
        state.range = range;
    }

    /// Returns the range, and the millisecond from which on no identifier was issued.
    pub fn unused(&self) -> (IdRange, i64) {
        let state = self.lock();
        (state.range.clone(), (state.last >> 12) + 1)
    }

    fn lock(&self) -> MutexGuard<'_, Granted> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn middle(range: &IdRange) -> i64 {
    range.start + (range.end - range.start) / 2
}

/// Returns the current time of this machine's clock, in milliseconds since [`Id`]'s epoch.
pub fn id_time() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
    (now - EPOCH_MS).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_rise_and_differ_by_server() {
        let range = id_time()..id_time() + 60_000;
        let (one, two) = (IdSource::new(1, range.clone()), IdSource::new(2, range));
        let mut last = Id::NONE;
        for _ in 0..20_000 {
            let id = one.next();
            assert!(id > last);
            last = id;
            assert_ne!(id.get() >> 12 & 0x3ff, two.next().get() >> 12 & 0x3ff);
        }
    }

    #[test]
    fn no_clock_leads_out_of_the_range() {
        for start in [id_time() + 1_000_000, id_time() - 1_000_000] {
            let source = IdSource::new(7, start..start + 100);
            let mut last = Id::NONE;
            for _ in 0..100_000 {
                let id = source.next();
                assert!(id > last, "{id}");
                assert!((start..start + 100).contains(&id.time()), "{id}");
                last = id;
            }
            assert_eq!(source.needs().is_some(), start < id_time(), "the clock is behind it, or far before it");
            let (range, unused) = source.unused();
            assert_eq!((range, unused), (start..start + 100, last.time() + 1));
            source.grant(start + 500..start + 600);
            assert_eq!(source.next().time(), start + 500);
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

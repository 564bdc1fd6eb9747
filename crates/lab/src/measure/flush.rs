//! What one thread of a generator measured in one second, as it goes to whoever merges it, on this machine or another.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HistogramReader, Serializer as _, V2Serializer};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::FaultKind;

/// Longest latency that is told apart, in microseconds: an hour.
const LONGEST: u64 = 3_600_000_000;
/// Digits that are told apart.
const DIGITS: u8 = 3;
/// Where the length of the counts, and the digits with the least and the longest latency, stand in what the library
/// writes; and where the counts begin.
const LENGTH: std::ops::Range<usize> = 4..8;
const BOUNDS: std::ops::Range<usize> = 12..32;
const COUNTS: usize = 40;

/// Latencies in microseconds, to three digits. Merging two gives exactly what one that had seen all would hold.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Histogram<u64>);

impl Default for Distribution {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "the bounds are constants that the library documents as valid")]
        let histogram = Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("valid bounds");
        Self(histogram)
    }
}

impl Distribution {
    /// Takes a latency.
    pub fn record(&mut self, latency: std::time::Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(LONGEST);
        self.0.saturating_record(micros.clamp(1, LONGEST));
    }

    /// Takes all that another has.
    pub fn merge(&mut self, other: &Self) {
        // Both have the bounds above, so nothing can be out of range.
        let _ = self.0.add(&other.0);
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// A percentile, 0 to 100, in milliseconds; 0 when there is nothing.
    pub fn percentile(&self, percent: f64) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.value_at_percentile(percent) as f64 / 1000.0 }
    }

    /// The mean in milliseconds; 0 when there is nothing.
    pub fn mean(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.mean() / 1000.0 }
    }

    /// The longest in milliseconds; 0 when there is nothing.
    pub fn max(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.max() as f64 / 1000.0 }
    }

    /// Share of latencies up to so many milliseconds, 0 to 1.
    pub fn share_up_to(&self, milliseconds: f64) -> f64 {
        if self.0.is_empty() { 1.0 } else { self.0.percentile_below((milliseconds * 1000.0) as u64) / 100.0 }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&self.0, &mut bytes).map_err(serde::ser::Error::custom)?;
        to.serialize_str(&STANDARD.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = STANDARD.decode(text).map_err(D::Error::custom)?;
        // The library takes as much memory as these say.
        let counts = u32::try_from(bytes.len().saturating_sub(COUNTS)).unwrap_or(u32::MAX);
        if bytes.get(BOUNDS) != Some(&bounds()[..]) || bytes.get(LENGTH) != Some(&counts.to_be_bytes()[..]) {
            return Err(D::Error::custom("a distribution has other bounds than this version of the lab"));
        }
        let read: Histogram<u64> = HistogramReader::new()
            .deserialize(&mut bytes.as_slice())
            .map_err(|error| D::Error::custom(format!("{error:?}")))?;
        let mut bounded = Self::default();
        bounded.0.add(&read).map_err(|error| D::Error::custom(format!("{error:?}")))?;
        Ok(bounded)
    }
}

/// The bounds of all distributions, as the library writes them.
fn bounds() -> Vec<u8> {
    [&u32::from(DIGITS).to_be_bytes()[..], &1_u64.to_be_bytes(), &LONGEST.to_be_bytes()].concat()
}

/// What was measured of one operation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlushOperation {
    /// Its place in the mix.
    pub operation: usize,
    /// Those that succeeded.
    pub done: u64,
    /// Those that failed.
    pub failed: u64,
    /// Requests that all of them sent.
    pub requests: u64,
    /// Bytes of bodies that were sent.
    pub sent: u64,
    /// Bytes of bodies that came.
    pub received: u64,
    /// Latencies of those that succeeded.
    pub latency: Distribution,
}

/// What was measured of one of several servers that should be equal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlushPart {
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Latencies of those that succeeded.
    pub latency: Distribution,
}

/// Faults of one kind in one operation.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct FaultCount {
    /// The operation's place in the mix.
    pub operation: usize,
    /// What kind.
    pub kind: FaultKind,
    /// Number of stored bytes.
    pub count: u64,
    /// What the first one said.
    pub first: String,
}

/// What one thread measured in one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Flush {
    /// The second after the start; what ended after the load did has none.
    pub second: Option<u64>,
    /// Users who may be busy.
    pub users: u32,
    /// What was measured of each operation that ended.
    pub operations: Vec<FlushOperation>,
    /// What was measured of each server, when there are several that should be equal.
    #[serde(default)]
    pub servers: Vec<FlushPart>,
    /// Faults.
    pub faults: Vec<FaultCount>,
    /// Processor time of the thread in this second, in microseconds.
    pub cpu: u64,
    /// How late the thread's timers were.
    pub lag: Distribution,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_that_says_how_much_memory_it_takes_is_refused() {
        let mut own = Distribution::default();
        own.record(std::time::Duration::from_millis(7));
        let text = serde_json::to_string(&own).unwrap();
        assert_eq!(serde_json::from_str::<Distribution>(&text).unwrap(), own);
        let mut bytes = STANDARD.decode(text.trim_matches('"')).unwrap();
        assert_eq!(bytes[BOUNDS], bounds());
        let mut longer = bytes.clone();
        longer[LENGTH][0] = 0xff;
        bytes[BOUNDS][..4].copy_from_slice(&5_u32.to_be_bytes());
        for bytes in [&bytes[..], &bytes[..20], &[], &longer] {
            let text = format!("\"{}\"", STANDARD.encode(bytes));
            assert!(serde_json::from_str::<Distribution>(&text).is_err(), "{text}");
        }
    }
}

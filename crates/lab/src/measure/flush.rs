//! Measurements of one thread of a generator in one second, in the form in which they are sent to the collector, on
//! this machine or another.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer as HistogramReader, Serializer as _, V2Serializer};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::wire::FaultKind;

/// Longest latency that can be distinguished, in microseconds: one hour.
const MAX_MICROSECONDS: u64 = 3_600_000_000;
/// Significant decimal digits of a latency.
const DIGITS: u8 = 3;
/// Layout of the histogram as the library serialises it: the length of the counts; the digits with the least and the
/// longest latency; and the offset of the counts.
const LENGTH: std::ops::Range<usize> = 4..8;
const BOUNDS: std::ops::Range<usize> = 12..32;
const COUNTS: usize = 40;

/// Histogram of latencies in microseconds, to three significant digits. Merging two histograms gives exactly the
/// histogram of all their latencies.
#[derive(Clone, Debug, PartialEq)]
pub struct Distribution(Histogram<u64>);

impl Default for Distribution {
    fn default() -> Self {
        #[expect(clippy::expect_used, reason = "the bounds are constants that the library documents as valid")]
        let histogram = Histogram::new_with_bounds(1, MAX_MICROSECONDS, DIGITS).expect("valid bounds");
        Self(histogram)
    }
}

impl Distribution {
    /// Records a latency.
    pub fn record(&mut self, latency: std::time::Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(MAX_MICROSECONDS);
        self.0.saturating_record(micros.clamp(1, MAX_MICROSECONDS));
    }

    /// Adds all latencies of another histogram.
    pub fn merge(&mut self, other: &Self) {
        // Both have the same bounds, so no value can be out of range.
        let _ = self.0.add(&other.0);
    }

    /// Number of latencies.
    pub fn count(&self) -> u64 {
        self.0.len()
    }

    /// Returns a percentile, 0 to 100, in milliseconds; 0 if empty.
    pub fn percentile(&self, percent: f64) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.value_at_percentile(percent) as f64 / 1000.0 }
    }

    /// Returns the mean in milliseconds; 0 if empty.
    pub fn mean(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.mean() / 1000.0 }
    }

    /// Returns the longest latency in milliseconds; 0 if empty.
    pub fn max(&self) -> f64 {
        if self.0.is_empty() { 0.0 } else { self.0.max() as f64 / 1000.0 }
    }

    /// Returns the share of latencies up to `milliseconds`, 0 to 1; 1 if empty.
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
        // The library allocates as much memory as these fields demand, so they are checked first.
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

/// Returns the bounds of all histograms, as the library serialises them.
fn bounds() -> Vec<u8> {
    [&u32::from(DIGITS).to_be_bytes()[..], &1_u64.to_be_bytes(), &MAX_MICROSECONDS.to_be_bytes()].concat()
}

/// Measurements of one operation.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlushOperation {
    /// Index in the mix.
    pub operation: usize,
    /// Number of successful operations.
    pub done: u64,
    /// Number of failed operations.
    pub failed: u64,
    /// Number of requests sent by all of these operations.
    pub requests: u64,
    /// Bytes of request bodies sent.
    pub sent: u64,
    /// Bytes of response bodies received.
    pub received: u64,
    /// Latencies of the successful operations.
    pub latency: Distribution,
}

/// Measurements of one of several servers that should be equal.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlushPart {
    /// Operations that succeeded.
    pub done: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Latencies of the successful operations.
    pub latency: Distribution,
}

/// Faults of one kind in one operation.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq)]
pub struct FaultCount {
    /// Index of the operation in the mix.
    pub operation: usize,
    /// Kind of fault.
    pub kind: FaultKind,
    /// Number of stored bytes.
    pub count: u64,
    /// Message of the first fault.
    pub first: String,
}

/// Measurements of one thread in one second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Flush {
    /// Second since the start, from 0; `None` for operations that ended after the load.
    pub second: Option<u64>,
    /// Number of users with an operation in progress at the time of the flush.
    pub users: u32,
    /// Measurements of each operation that ended.
    pub operations: Vec<FlushOperation>,
    /// Measurements of each server, if several should be equal.
    #[serde(default)]
    pub servers: Vec<FlushPart>,
    /// Faults.
    pub faults: Vec<FaultCount>,
    /// CPU time of the thread in this second, in microseconds.
    pub cpu: u64,
    /// Lateness of the thread's timers.
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

//! Time series of figures: their names and limits. Takes no readings itself.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Name of the series of CPU usage, in percent of all cores.
pub const CPU: &str = "machine: processors, %";
/// Suffix of the names of series of a process's memory.
pub const MEMORY: &str = "memory, bytes";

/// Interval between two readings.
pub const EVERY: Duration = Duration::from_secs(1);
/// Limit on the series of one monitor.
pub const MAX_SERIES: usize = 500;
/// Limit on the bytes of a series name; series with longer names are dropped.
pub const MAX_NAME: usize = 200;

/// A figure over time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Series {
    /// Name of the figure, with its unit.
    pub name: String,
    /// Seconds since the start, and the value.
    pub points: Vec<(f64, f64)>,
}

/// Name and value of one figure at one time.
pub type Reading = (String, f64);

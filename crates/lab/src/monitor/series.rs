//! Figures over time, how they are called and how many there may be. Looks at nothing.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Name of the series of processor time, in percent of all cores.
pub const CPU: &str = "machine: processors, %";
/// The end of names of series of a process's memory.
pub const MEMORY: &str = "memory, bytes";

/// The time between two looks.
pub const EVERY: Duration = Duration::from_secs(1);
/// Most series of one monitor.
pub const MOST_SERIES: usize = 500;
/// Most bytes of the name of a series; longer ones are not kept.
pub const LONGEST_NAME: usize = 200;

/// A figure over time.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq)]
pub struct Series {
    /// What it is, with its unit.
    pub name: String,
    /// Seconds after the start, and the value.
    pub points: Vec<(f64, f64)>,
}

/// One figure at one time.
pub type Reading = (String, f64);

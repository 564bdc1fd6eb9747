//! Stretches of seconds, as they are compared with each other. Judges nothing.

use crate::measure::Window;
use crate::result::RunResult;

/// Fewest seconds that say anything about a course over time.
pub const LEAST: usize = 12;

/// Stretches of counted seconds with the same level, in their order.
pub fn stretches(result: &RunResult) -> Vec<&[Window]> {
    let counted = result.windows.split(|window| !window.counted);
    counted
        .flat_map(|windows| windows.chunk_by(|a, b| a.level == b.level))
        .filter(|windows| !windows.is_empty())
        .collect()
}

/// Operations that were done in each second.
pub fn rates(windows: &[Window]) -> Vec<f64> {
    windows.iter().map(|window| window.done as f64).collect()
}

/// The median latency of each second in which something was done.
pub fn medians(windows: &[Window]) -> Vec<f64> {
    windows.iter().filter(|window| window.done > 0).map(|window| window.p50).collect()
}

//! Stretches of seconds that can be compared with each other. Draws no conclusions.

use crate::measure::Window;
use crate::result::RunResult;

/// Minimum number of seconds for conclusions about a trend over time.
pub const LEAST: usize = 12;

/// Returns the stretches of counted seconds with the same load level, in order.
pub fn stretches(result: &RunResult) -> Vec<&[Window]> {
    let counted = result.windows.split(|window| !window.counted);
    counted
        .flat_map(|windows| windows.chunk_by(|a, b| a.level == b.level))
        .filter(|windows| !windows.is_empty())
        .collect()
}

/// Returns the number of completed operations in each second.
pub fn rates(windows: &[Window]) -> Vec<f64> {
    windows.iter().map(|window| window.done as f64).collect()
}

/// Returns the median latency of each second in which an operation was completed.
pub fn medians(windows: &[Window]) -> Vec<f64> {
    windows.iter().filter(|window| window.done > 0).map(|window| window.p50).collect()
}

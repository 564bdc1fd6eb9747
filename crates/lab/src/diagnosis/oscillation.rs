//! An oscillation: under the same load, throughput rises and falls in a rhythm.

use super::{Finding, LEAST, Trouble, rates, stretches};
use crate::result::RunResult;
use crate::stats::{autocorrelation, deviation, mean};

/// How far throughput must swing: its standard deviation as a share of its mean.
const SWING: f64 = 0.25;
/// How alike the series must be to itself a period later.
const ALIKE: f64 = 0.5;
/// Fewest periods that make a rhythm.
const PERIODS: usize = 3;

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let mut found = Vec::new();
    for windows in stretches(result).into_iter().filter(|windows| windows.len() >= LEAST) {
        let rates = rates(windows);
        let middle = mean(&rates);
        if middle < 5.0 || deviation(&rates) < middle * SWING {
            continue;
        }
        let alike: Vec<f64> = (0..=windows.len() / PERIODS).map(|lag| autocorrelation(&rates, lag)).collect();
        // The first crest behind the first trough is the period.
        let trough = alike.iter().position(|value| *value < 0.0);
        let crest = trough.and_then(|trough| {
            (trough.max(3)..alike.len())
                .filter(|lag| alike[*lag] > ALIKE)
                .max_by(|a, b| alike[*a].total_cmp(&alike[*b]))
        });
        if let Some(period) = crest {
            let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let high = rates.iter().copied().fold(0.0, f64::max);
            found.push(Finding {
                trouble: Trouble::Oscillation,
                text: format!(
                    "throughput swings between {low:.0} and {high:.0} answers each second about every {period} s"
                ),
                operation: None,
                seconds: Some((windows[0].second, windows[windows.len() - 1].second + 1)),
            });
        }
    }
    found
}

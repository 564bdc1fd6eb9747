//! Stall: for a second or more, nothing or almost nothing was answered.

use super::stretch::{rates, stretches};
use crate::result::{Finding, Problem, RunResult};
use crate::stats::median;

/// Minimum usual responses per second. At a lower rate, a second without responses is no evidence.
const LEAST_RATE: f64 = 5.0;
/// Share of the usual responses below which a second belongs to a stall.
const NEARLY_NOTHING: f64 = 0.05;
/// Milliseconds that an operation must take before its user counts as kept waiting.
const MIN_WAIT_MS: f64 = 900.0;
/// Multiple of its usual latency that the operation must take as well. While all users fetch something large, few
/// responses arrive although nothing is stalled.
const MIN_WAIT_FACTOR: f64 = 3.0;

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let mut found = Vec::new();
    for windows in stretches(result) {
        let usual = median(&rates(windows));
        if usual < LEAST_RATE || windows.len() < 4 {
            continue;
        }
        let still = |window: &crate::measure::Window| (window.done as f64) < usual * NEARLY_NOTHING;
        for run in windows.chunk_by(|a, b| still(a) == still(b)).filter(|run| still(&run[0])) {
            let (from, to) = (run[0].second, run[0].second + run.len() as u64);
            // Delayed responses arrive late, within the stall or in the first second after it.
            let around = windows.iter().filter(|window| (from..=to + 1).contains(&window.second));
            let waits = around.flat_map(|window| &window.operations).filter(|part| part.max >= MIN_WAIT_MS);
            let longest = waits
                .filter(|part| {
                    result.operations.get(part.operation).is_some_and(|of| part.max >= MIN_WAIT_FACTOR * of.p50)
                })
                .map(|part| part.max)
                .fold(0.0, f64::max);
            let failed: u64 = run.iter().map(|window| window.failed).sum();
            if longest < MIN_WAIT_MS && failed == 0 {
                continue;
            }
            // The whole seconds without responses are a lower bound: the stall began and ended within the seconds
            // around them.
            let lasted = (run.len() as f64).max(longest / 1000.0);
            let waited = if longest >= MIN_WAIT_MS {
                format!("the longest wait was {longest:.0} ms")
            } else {
                format!("{failed} operations failed during that time")
            };
            found.push(Finding {
                trouble: Problem::Stall,
                text: format!(
                    "for {lasted:.1} s from second {from} on, there were almost no responses ({usual:.0} per second \
                     are usual); {waited}"
                ),
                operation: None,
                seconds: Some((from, to)),
            });
        }
    }
    found
}

//! Degradation that outlives the load: after a higher load, a step is slower than an earlier step at the same level.

use super::culprit;
use super::stretch::{medians, rates, stretches};
use crate::measure::Window;
use crate::result::{Finding, Problem, RunResult};
use crate::stats::{median, same_distribution};

/// Share of the earlier rate below which the later rate must have fallen. Either this criterion or that of latency
/// suffices.
const MAX_RATE_SHARE: f64 = 0.8;
/// Factor by which the median latency must have risen.
const MIN_LATENCY_FACTOR: f64 = 1.5;
/// Significance level: the p-value must be below this.
const CHANCE: f64 = 0.05;

pub fn examine(result: &RunResult) -> Option<Finding> {
    let steps: Vec<&[Window]> = stretches(result).into_iter().filter(|windows| windows.len() >= 4).collect();
    for (at, after) in steps.iter().enumerate().skip(2) {
        let level = after[0].level;
        let peaks = |windows: &&[Window]| windows[0].level > level;
        let before = steps[..at]
            .iter()
            .enumerate()
            .find(|(place, windows)| windows[0].level == level && steps[*place..at].iter().any(peaks));
        let Some((_, before)) = before else { continue };
        // In its first second, a step still completes requests of the previous step.
        let settled = &after[1..];
        let slower = median(&rates(settled)) < median(&rates(before)) * MAX_RATE_SHARE
            && same_distribution(&rates(before), &rates(settled)) < CHANCE;
        let longer = median(&medians(settled)) > median(&medians(before)) * MIN_LATENCY_FACTOR
            && same_distribution(&medians(before), &medians(settled)) < CHANCE;
        if slower || longer {
            return Some(Finding {
                trouble: Problem::Outlives,
                text: format!(
                    "after the high load, {level:.0} users get {:.0} responses per second at a median of {:.1} ms; \
                     before it, they got {:.0} at {:.1} ms",
                    median(&rates(settled)),
                    median(&medians(settled)),
                    median(&rates(before)),
                    median(&medians(before))
                ),
                operation: culprit::most_affected(result, before, settled),
                seconds: Some((after[0].second, after[after.len() - 1].second + 1)),
            });
        }
    }
    None
}

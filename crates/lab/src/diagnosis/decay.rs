//! Gradual slowdown: under constant load, the last part of the run is slower than the first, and performance declined
//! steadily in between.

use super::culprit;
use super::stretch::{LEAST, medians, rates, stretches};
use crate::result::{Finding, Problem, RunResult};
use crate::stats::{median, same_distribution};

/// Share of the earlier rate below which the later rate must have fallen. Either this criterion or that of latency
/// suffices.
const MAX_RATE_SHARE: f64 = 0.6;
/// Factor by which the median latency must have risen. In 19 healthy one-minute runs on a shared machine it rose by a
/// factor of up to 1.48 from the first quarter to the last.
const MIN_LATENCY_FACTOR: f64 = 1.75;
/// Milliseconds by which the median latency must have risen as well.
const RISEN_BY: f64 = 1.0;
/// Share of the longer user cycle that must be explained by longer waiting for responses.
const EXPLAINED: f64 = 0.3;
/// Significance level: the p-value must be below this.
const CHANCE: f64 = 0.001;

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let mut found = Vec::new();
    for windows in stretches(result).into_iter().filter(|windows| windows.len() >= LEAST) {
        let quarter = windows.len() / 4;
        let quarters: Vec<_> = (0..4).map(|at| &windows[at * quarter..(at + 1) * quarter]).collect();
        // The test compares thirds, because the quarters of a short run have too few seconds for significance.
        let third = windows.len() / 3;
        let (first, last) = (&windows[..third], &windows[windows.len() - third..]);
        let rate: Vec<f64> = quarters.iter().map(|part| median(&rates(part))).collect();
        let latency: Vec<f64> = quarters.iter().map(|part| median(&medians(part))).collect();
        let sure = |a: &[f64], b: &[f64]| {
            // A few seconds cannot reach a smaller p-value.
            let bound = if a.len().min(b.len()) < 8 { 0.05 } else { CHANCE };
            same_distribution(a, b) < bound
        };
        // In the closed model, a user's cycle consists of thinking and waiting. If the cycle became longer but the
        // waiting did not, the generator was the cause.
        let cycle = |rate: f64| windows[0].level / rate.max(f64::MIN_POSITIVE) * 1000.0;
        let waited = latency[3] - latency[0] >= (cycle(rate[3]) - cycle(rate[0])) * EXPLAINED;
        let slower = waited
            && rate[3] < rate[0] * MAX_RATE_SHARE
            && rate.is_sorted_by(|a, b| *b <= a * 1.05)
            && sure(&rates(first), &rates(last));
        let longer = latency[3] > latency[0] * MIN_LATENCY_FACTOR
            && latency[3] > latency[0] + RISEN_BY
            && latency.is_sorted_by(|a, b| *b >= a * 0.95)
            && sure(&medians(first), &medians(last));
        if !slower && !longer {
            continue;
        }
        found.push(Finding {
            trouble: Problem::Decay,
            text: format!(
                "it becomes steadily slower under the same load: {:.0} responses per second at first and {:.0} at the \
                 end, median latency {:.1} ms at first and {:.1} ms at the end",
                rate[0], rate[3], latency[0], latency[3]
            ),
            operation: culprit::most_affected(result, first, last),
            seconds: Some((windows[0].second, windows[windows.len() - 1].second + 1)),
        });
    }
    found
}

//! Slow path: most operations are fast, a small share takes many times as long, and there is almost nothing in between.

use super::stretch::LEAST;
use crate::measure::Distribution;
use crate::result::{Finding, Problem, RunResult};

/// Minimum latency of a slow operation, as a multiple of the median.
const FACTOR: f64 = 5.0;
/// Minimum milliseconds by which a slow operation exceeds the median.
const LEAST_MORE: f64 = 20.0;
/// Range of the share of slow operations, from 0 to 1, that is reported as a slow path.
const SHARE: std::ops::RangeInclusive<f64> = 0.003..=0.10;
/// Minimum number of slow operations.
const LEAST_SLOW: f64 = 8.0;
/// Limit on the operations between the fast and the slow group, and on those beyond the slow group, per slow operation.
const BETWEEN: f64 = 0.25;

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let counted: Vec<_> = result.windows.iter().filter(|window| window.counted && window.done > 0).collect();
    if counted.len() < LEAST {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, operation) in result.operations.iter().enumerate() {
        let Some((share, usual, slow)) = split(&operation.latency) else { continue };
        // A stall makes many operations slow at one time, whereas a slow path is present throughout. The number of
        // seconds with slow operations distinguishes them.
        let maxima =
            counted.iter().filter(|window| window.operations.iter().any(|of| of.operation == at && of.done > 0));
        let (with, slow_ones) = maxima.fold((0_u32, 0_u32), |(with, slow_ones), window| {
            (with + 1, slow_ones + u32::from(window.max > slow * 0.7))
        });
        let expected = (operation.done as f64 * share).min(f64::from(with)) * 0.3;
        if f64::from(slow_ones) < expected.max(4.0) {
            continue;
        }
        found.push(Finding {
            trouble: Problem::SlowPath,
            text: format!(
                "{:.1} % of \"{}\" take about {slow:.0} ms instead of {usual:.1} ms, with almost nothing in between: \
                 they take a different path",
                share * 100.0,
                operation.label
            ),
            operation: Some(operation.label.clone()),
            seconds: None,
        });
    }
    found
}

/// Returns the share, usual latency and slow latency of two separate groups; `None` if there is only one group.
fn split(latency: &Distribution) -> Option<(f64, f64, f64)> {
    let usual = latency.percentile(50.0);
    let count = latency.count() as f64;
    // The groups are separated where the percentile curve rises by the most milliseconds. The last few operations are
    // outliers of their own and excluded from the search.
    let (from, to) = (100.0 - SHARE.end() * 100.0, 100.0 - SHARE.start() * 100.0);
    let steps: Vec<f64> =
        (0..=200).map(|step| from + f64::from(step) * 0.05).take_while(|step| *step <= to + 0.05).collect();
    let rise = |pair: &[f64]| latency.percentile(pair[1]) - latency.percentile(pair[0]);
    let jump = steps.windows(2).max_by(|a, b| rise(a).total_cmp(&rise(b)))?;
    let share = (100.0 - jump[0]) / 100.0;
    // Median of the upper group.
    let slow = latency.percentile(100.0 - share * 50.0);
    let far = slow > usual * FACTOR && slow > usual + LEAST_MORE;
    if !far || !SHARE.contains(&share) || count * share < LEAST_SLOW {
        return None;
    }
    // The distribution must have two peaks with a valley: almost nothing in between, and the slow operations close
    // together.
    let (valley, hill, far_off) = (slow / 4.0, slow * 0.6, slow * 2.0);
    let above_hill = share_above(latency, hill);
    let between = share_above(latency, valley.max(usual * 2.0)) - above_hill;
    let apart = between <= above_hill * BETWEEN && share_above(latency, far_off) <= above_hill * BETWEEN;
    (apart && above_hill > 0.0).then_some((above_hill, usual, slow))
}

fn share_above(latency: &Distribution, milliseconds: f64) -> f64 {
    1.0 - latency.share_up_to(milliseconds)
}

//! A slow path: most operations are quick, a small part takes many times as long, and next to nothing lies between.

use super::stretch::LEAST;
use crate::measure::Distribution;
use crate::result::{Finding, RunResult, Trouble};

/// A slow operation takes at least this many times the median.
const FACTOR: f64 = 5.0;
/// And at least this many milliseconds more.
const LEAST_MORE: f64 = 20.0;
/// Shares of slow operations that are called a slow path, 0 to 1.
const SHARE: std::ops::RangeInclusive<f64> = 0.003..=0.10;
/// Fewest slow operations that say anything.
const LEAST_SLOW: f64 = 8.0;
/// Between the quick and the slow ones, and beyond the slow ones, are at most this many for each slow one.
const BETWEEN: f64 = 0.25;

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let counted: Vec<_> = result.windows.iter().filter(|window| window.counted && window.done > 0).collect();
    if counted.len() < LEAST {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (at, operation) in result.operations.iter().enumerate() {
        let Some((share, usual, slow)) = split(&operation.latency) else { continue };
        // A stall makes many slow at one time; a slow path is there all the time. The seconds in which it shows tell.
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
            trouble: Trouble::SlowPath,
            text: format!(
                "{:.1} % of \"{}\" take about {slow:.0} ms instead of {usual:.1} ms, with next to nothing between: they go another way",
                share * 100.0,
                operation.label
            ),
            operation: Some(operation.label.clone()),
            seconds: None,
        });
    }
    found
}

/// Share, usual latency and slow latency of two separate groups; none when there is one group.
fn split(latency: &Distribution) -> Option<(f64, f64, f64)> {
    let usual = latency.percentile(50.0);
    let count = latency.count() as f64;
    // Where the curve rises by the most milliseconds, the groups part; the last few stand for themselves.
    let (from, to) = (100.0 - SHARE.end() * 100.0, 100.0 - SHARE.start() * 100.0);
    let steps: Vec<f64> =
        (0..=200).map(|step| from + f64::from(step) * 0.05).take_while(|step| *step <= to + 0.05).collect();
    let rise = |pair: &[f64]| latency.percentile(pair[1]) - latency.percentile(pair[0]);
    let jump = steps.windows(2).max_by(|a, b| rise(a).total_cmp(&rise(b)))?;
    let share = (100.0 - jump[0]) / 100.0;
    // The middle of the upper group.
    let slow = latency.percentile(100.0 - share * 50.0);
    let far = slow > usual * FACTOR && slow > usual + LEAST_MORE;
    if !far || !SHARE.contains(&share) || count * share < LEAST_SLOW {
        return None;
    }
    // Two hills with a valley: next to nothing between, and the slow ones close together.
    let (valley, hill, far_off) = (slow / 4.0, slow * 0.6, slow * 2.0);
    let above_hill = share_above(latency, hill);
    let between = share_above(latency, valley.max(usual * 2.0)) - above_hill;
    let apart = between <= above_hill * BETWEEN && share_above(latency, far_off) <= above_hill * BETWEEN;
    (apart && above_hill > 0.0).then_some((above_hill, usual, slow))
}

fn share_above(latency: &Distribution, milliseconds: f64) -> f64 {
    1.0 - latency.share_up_to(milliseconds)
}

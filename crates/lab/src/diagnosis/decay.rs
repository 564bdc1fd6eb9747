//! A slow decay: under the same load, the last part of the run is slower than the first, and it went that way all the time.

use super::culprit;
use super::stretch::{LEAST, medians, rates, stretches};
use crate::result::{Finding, RunResult, Trouble};
use crate::stats::{median, same_distribution};

/// The rate must have fallen to this share, or
const FALLEN: f64 = 0.6;
/// the median latency risen by this factor: in 19 runs of a minute with nothing wrong, on a machine that others share, it rose up to 1.48
/// times from the first quarter to the last,
const RISEN: f64 = 1.75;
/// and by so many milliseconds.
const RISEN_BY: f64 = 1.0;
/// Of what users took longer, at least this share must have been waiting for answers.
const EXPLAINED: f64 = 0.3;
/// How unlikely it must be that chance did it.
const CHANCE: f64 = 0.001;

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let mut found = Vec::new();
    for windows in stretches(result).into_iter().filter(|windows| windows.len() >= LEAST) {
        let quarter = windows.len() / 4;
        let quarters: Vec<_> = (0..4).map(|at| &windows[at * quarter..(at + 1) * quarter]).collect();
        // Thirds, since quarters of a short run are too few to be sure of anything.
        let third = windows.len() / 3;
        let (first, last) = (&windows[..third], &windows[windows.len() - third..]);
        let rate: Vec<f64> = quarters.iter().map(|part| median(&rates(part))).collect();
        let latency: Vec<f64> = quarters.iter().map(|part| median(&medians(part))).collect();
        let sure = |a: &[f64], b: &[f64]| {
            // Few seconds cannot be surer than their number allows.
            let bound = if a.len().min(b.len()) < 8 { 0.05 } else { CHANCE };
            same_distribution(a, b) < bound
        };
        // Users who wait have a cycle of thinking and waiting. When it became longer but waiting did not, it was the generator.
        let cycle = |rate: f64| windows[0].level / rate.max(f64::MIN_POSITIVE) * 1000.0;
        let waited = latency[3] - latency[0] >= (cycle(rate[3]) - cycle(rate[0])) * EXPLAINED;
        let slower = waited
            && rate[3] < rate[0] * FALLEN
            && rate.is_sorted_by(|a, b| *b <= a * 1.05)
            && sure(&rates(first), &rates(last));
        let longer = latency[3] > latency[0] * RISEN
            && latency[3] > latency[0] + RISEN_BY
            && latency.is_sorted_by(|a, b| *b >= a * 0.95)
            && sure(&medians(first), &medians(last));
        if !slower && !longer {
            continue;
        }
        found.push(Finding {
            trouble: Trouble::Decay,
            text: format!(
                "it becomes slower all the time under the same load: {:.0} answers each second at first and {:.0} at last, median latency {:.1} ms at first and {:.1} ms at last",
                rate[0], rate[3], latency[0], latency[3]
            ),
            operation: culprit::between(result, first, last),
            seconds: Some((windows[0].second, windows[windows.len() - 1].second + 1)),
        });
    }
    found
}

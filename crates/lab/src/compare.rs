//! Two results beside each other: what differs, and whether chance may have done it.

use crate::error::{Error, Result};
use crate::report::{milliseconds, number, table_of};
use crate::result::RunResult;
use crate::stats::{median, ratio_interval, same_distribution};

/// Differences that chance makes more often than this are not called differences.
const CHANCE: f64 = 0.01;
/// Fewest seconds of each result.
const LEAST: usize = 8;

/// One figure of two results.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Difference {
    /// What it is.
    pub figure: String,
    /// Median over the seconds of the first result.
    pub first: f64,
    /// Median over the seconds of the second result.
    pub second: f64,
    /// Second by first.
    pub ratio: f64,
    /// What holds that ratio with 95 % confidence.
    pub interval: (f64, f64),
    /// The probability that chance did it.
    pub chance: f64,
    /// Whether it is a difference.
    pub significant: bool,
}

/// Compares two results second by second.
///
/// # Errors
/// When they are of different plans, or too short.
pub fn compare(first: &RunResult, second: &RunResult) -> Result<Vec<Difference>> {
    let labels = |result: &RunResult| result.operations.iter().map(|of| of.label.clone()).collect::<Vec<_>>();
    if labels(first) != labels(second) {
        return Err(Error::new("these results are of different mixes and cannot be compared"));
    }
    let windows =
        |result: &RunResult| result.windows.iter().filter(|window| window.counted).cloned().collect::<Vec<_>>();
    let (a, b) = (windows(first), windows(second));
    if a.len() < LEAST || b.len() < LEAST {
        return Err(Error::new(format!("a result that is compared must have at least {LEAST} seconds that count")));
    }
    let mut found = vec![
        difference("answers each second", &series(&a, |w| Some(w.done as f64)), &series(&b, |w| Some(w.done as f64))),
        difference("median latency, ms", &series(&a, |w| some(w.p50)), &series(&b, |w| some(w.p50))),
        difference("95th percentile, ms", &series(&a, |w| some(w.p95)), &series(&b, |w| some(w.p95))),
        difference("99th percentile, ms", &series(&a, |w| some(w.p99)), &series(&b, |w| some(w.p99))),
    ];
    for (at, label) in labels(first).into_iter().enumerate() {
        let of = |window: &crate::measure::Window| {
            window.operations.iter().find(|of| of.operation == at && of.done > 0).map(|of| of.p50)
        };
        let (a, b) = (series(&a, of), series(&b, of));
        if a.len() >= LEAST && b.len() >= LEAST {
            found.push(difference(&format!("{label}: median latency, ms"), &a, &b));
        }
    }
    Ok(found)
}

fn some(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}

fn series(windows: &[crate::measure::Window], of: impl Fn(&crate::measure::Window) -> Option<f64>) -> Vec<f64> {
    windows.iter().filter_map(of).collect()
}

fn difference(figure: &str, a: &[f64], b: &[f64]) -> Difference {
    let (first, second) = (median(a), median(b));
    let interval = ratio_interval(a, b);
    let chance = same_distribution(a, b);
    // Seconds of one run are not independent of each other, so the interval has to be clear of 1 as well.
    let significant = chance < CHANCE && (interval.0 > 1.02 || interval.1 < 0.98);
    Difference {
        figure: figure.to_owned(),
        first,
        second,
        ratio: second / first.max(f64::MIN_POSITIVE),
        interval,
        chance,
        significant,
    }
}

/// The comparison as Markdown.
pub fn markdown(first: &RunResult, second: &RunResult, found: &[Difference]) -> String {
    let show = |difference: &Difference, value: f64| {
        if difference.figure.ends_with("ms") { milliseconds(value) } else { number(value) }
    };
    let rows: Vec<Vec<String>> = found
        .iter()
        .map(|of| {
            let verdict = match (of.significant, of.ratio > 1.0) {
                (false, _) => "may be chance".to_owned(),
                (true, true) => "more".to_owned(),
                (true, false) => "less".to_owned(),
            };
            let interval = format!("{} to {}", number(of.interval.0), number(of.interval.1));
            vec![of.figure.clone(), show(of, of.first), show(of, of.second), number(of.ratio), interval, verdict]
        })
        .collect();
    let mut text = format!("# {} and {}\n\n", first.label, second.label);
    for result in [first, second] {
        for reason in &result.invalid_because {
            text += &format!("**The figures of {} say nothing about its target: {reason}.**\n\n", result.label);
        }
    }
    text + &table_of(&["figure", &first.label, &second.label, "ratio", "95 % of the ratio", "difference"], &rows)
}

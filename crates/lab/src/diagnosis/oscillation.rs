//! An oscillation: under the same load, throughput rises and falls in a rhythm, and answers are waited for in the same measure.

use super::stretch::{LEAST, rates, stretches};
use crate::measure::Window;
use crate::result::{Finding, RunResult, Trouble};
use crate::stats::{autocorrelation, deviation, mean};

/// How far throughput must swing: its standard deviation as a share of its mean.
const SWING: f64 = 0.25;
/// How alike the series must be to itself a period later.
const ALIKE: f64 = 0.5;
/// Fewest periods that make a rhythm.
const PERIODS: usize = 3;
/// How much of what waiting must swing by, if the server is what swings, is to be seen at least.
const WAITING: f64 = 0.25;

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
        if let Some(period) = crest.filter(|period| waits(windows, &rates, *period as f64)) {
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

/// Whether the time of answers swings as it must when the server brings the rhythm. What swings without it is the load: users
/// who pause for about as long as each other come in waves.
///
/// A server whose throughput swings by a share `s` of its mean with a period `P` lets `s * P / (2 * pi)` seconds of arrivals
/// pile up and go, so that answers take up to that much longer. When nobody arrives but those who were answered (`N` users
/// at a rate `X`), the time of an answer swings by no more than the same share of the time of a round, `s * N / X`
/// (Little's law). In the open model the level is the rate, which makes that bound the share of a second.
fn waits(windows: &[Window], rates: &[f64], period: f64) -> bool {
    let (middle, longest) = (mean(rates), windows.iter().map(|window| window.max));
    let share = deviation(rates) / middle;
    let pile = share * period / std::f64::consts::TAU;
    let round = share * windows[0].level / middle;
    let (high, low) = (longest.clone().fold(0.0, f64::max), longest.fold(f64::INFINITY, f64::min));
    (high - low) / 1000.0 >= WAITING * pile.min(round)
}

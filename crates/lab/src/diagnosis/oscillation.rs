//! Oscillation: under constant load, throughput rises and falls periodically, and response times swing accordingly.

use super::stretch::{LEAST, rates, stretches};
use crate::measure::Window;
use crate::result::{Finding, Problem, RunResult};
use crate::stats::{autocorrelation, deviation, mean};

/// Minimum swing of the throughput: its standard deviation as a share of its mean.
const SWING: f64 = 0.25;
/// Minimum autocorrelation of the throughput at a lag of one period.
const MIN_AUTOCORRELATION: f64 = 0.5;
/// Minimum number of periods.
const PERIODS: usize = 3;
/// Minimum swing of the response times, as a share of the swing expected if the server causes the oscillation.
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
        // The period is the lag of the first crest of the autocorrelation after its first negative value. Crests at
        // multiples of the period may be higher by chance.
        let trough = alike.iter().position(|value| *value < 0.0);
        let crest = trough.and_then(|trough| {
            (trough.max(3)..alike.len())
                .skip_while(|lag| alike[*lag] <= MIN_AUTOCORRELATION)
                .take_while(|lag| alike[*lag] > MIN_AUTOCORRELATION)
                .max_by(|a, b| alike[*a].total_cmp(&alike[*b]))
        });
        if let Some(period) = crest.filter(|period| waits(windows, &rates, *period as f64)) {
            let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
            let high = rates.iter().copied().fold(0.0, f64::max);
            found.push(Finding {
                trouble: Problem::Oscillation,
                text: format!(
                    "throughput swings between {low:.0} and {high:.0} responses per second about every {period} s"
                ),
                operation: None,
                seconds: Some((windows[0].second, windows[windows.len() - 1].second + 1)),
            });
        }
    }
    found
}

/// Returns whether response times swing as they must if the server causes the oscillation. If they do not, the load
/// itself oscillates: users with similar pauses arrive in waves.
///
/// A server whose throughput swings by a share `s` of its mean with a period `P` lets `s * P / (2 * pi)` seconds of
/// arrivals queue up and drain, so response times rise by up to that much. In the closed model (`N` users at a rate
/// `X`), users return only after their response, so response times swing by no more than the same share of the cycle
/// time, `s * N / X` (Little's law). In the open model the level is the rate, so this bound is the same share of one
/// second.
fn waits(windows: &[Window], rates: &[f64], period: f64) -> bool {
    let (middle, longest) = (mean(rates), windows.iter().map(|window| window.max));
    let share = deviation(rates) / middle;
    let pile = share * period / std::f64::consts::TAU;
    let round = share * windows[0].level / middle;
    let (high, low) = (longest.clone().fold(0.0, f64::max), longest.fold(f64::INFINITY, f64::min));
    (high - low) / 1000.0 >= WAITING * pile.min(round)
}

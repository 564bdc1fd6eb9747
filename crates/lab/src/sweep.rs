//! How much a target takes: the same plan at rising levels, and the highest level at which its answers are still good enough.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::report::{milliseconds, number, table_of};
use crate::result::RunResult;
use crate::stats::{mean, median, quantile};

/// Most levels of a sweep.
const MOST: usize = 30;
/// The first seconds of a level still answer what the level before asked.
const SETTLING: usize = 2;
/// Errors above this share are not good enough.
const ERRORS: f64 = 0.01;

/// Levels from one to another, each so many times the one before.
///
/// # Errors
/// When they make no row of levels.
pub fn levels(from: f64, to: f64, factor: f64) -> Result<Vec<f64>> {
    if !(from >= 1.0 && to >= from && factor >= 1.05 && to.is_finite()) {
        return Err(Error::new("a sweep goes from 1 or more to at least as many, by a factor of 1.05 or more"));
    }
    let mut levels = Vec::new();
    let mut level = from;
    while level < to && levels.len() < MOST {
        levels.push(level.round());
        level *= factor;
    }
    levels.push(to.round());
    levels.dedup();
    Ok(levels)
}

/// One level of a sweep.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// Users, or operations asked for each second.
    pub level: f64,
    /// Operations each second: the mean, and what holds it with 95 % confidence.
    pub rate: f64,
    /// Lower end of that.
    pub low: f64,
    /// Upper end of that.
    pub high: f64,
    /// Median over seconds of the 95th percentile of latency, in milliseconds.
    pub p95: f64,
    /// Share of operations that failed.
    pub errors: f64,
    /// Whether the answers are good enough.
    pub good: bool,
}

/// What each level of a run with steps brought; `p95` is the longest 95th percentile that is good enough, in milliseconds.
pub fn evaluate(result: &RunResult, p95: f64) -> Vec<Level> {
    let counted: Vec<_> = result.windows.iter().filter(|window| window.counted).collect();
    let steps = counted.chunk_by(|a, b| a.level == b.level);
    steps
        .filter_map(|step| {
            let settled = step.get(SETTLING.min(step.len() - 1)..)?;
            let rates: Vec<f64> = settled.iter().map(|window| window.done as f64).collect();
            let (done, failed) = settled.iter().fold((0, 0), |(done, failed), w| (done + w.done, failed + w.failed));
            let errors = if done + failed == 0 { 1.0 } else { failed as f64 / (done + failed) as f64 };
            let slow = median(&settled.iter().map(|window| window.p95).collect::<Vec<_>>());
            let (low, high) = interval(&rates);
            let good = errors <= ERRORS && slow <= p95 && done > 0;
            Some(Level { level: step[0].level, rate: mean(&rates), low, high, p95: slow, errors, good })
        })
        .collect()
}

/// The level with the highest rate among those that are good enough and that no level below spoils; none when the first is not.
pub fn capacity(levels: &[Level]) -> Option<&Level> {
    levels.iter().take_while(|level| level.good).max_by(|a, b| a.rate.total_cmp(&b.rate))
}

/// What holds the mean with 95 % confidence, by drawing stretches of seconds again: seconds beside each other are alike.
fn interval(rates: &[f64]) -> (f64, f64) {
    const DRAWS: usize = 2_000;
    const STRETCH: usize = 3;
    if rates.len() <= STRETCH {
        return (rates.iter().copied().fold(f64::INFINITY, f64::min), rates.iter().copied().fold(0.0, f64::max));
    }
    let mut random = fastrand::Rng::with_seed(95);
    let means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let mut drawn = Vec::with_capacity(rates.len() + STRETCH);
            while drawn.len() < rates.len() {
                let at = random.usize(0..=rates.len() - STRETCH);
                drawn.extend_from_slice(&rates[at..at + STRETCH]);
            }
            mean(&drawn[..rates.len()])
        })
        .collect();
    (quantile(&means, 0.025), quantile(&means, 0.975))
}

/// The sweep as Markdown.
pub fn markdown(result: &RunResult, levels: &[Level], p95: f64) -> String {
    let rows: Vec<Vec<String>> = levels
        .iter()
        .map(|level| {
            vec![
                number(level.level),
                number(level.rate),
                format!("{} to {}", number(level.low), number(level.high)),
                milliseconds(level.p95),
                format!("{} %", number(level.errors * 100.0)),
                if level.good { "yes" } else { "no" }.to_owned(),
            ]
        })
        .collect();
    let said = match capacity(levels) {
        Some(best) => format!(
            "{} answers each second ({} to {} with 95 % confidence) at a load of {}, with 95 % of them within {}",
            number(best.rate),
            number(best.low),
            number(best.high),
            number(best.level),
            milliseconds(p95)
        ),
        None => "even the lowest level is not answered well enough".to_owned(),
    };
    let heading = ["load", "answers each second", "95 % of that", "p95", "failed", "good enough"];
    let mut text =
        format!("# Capacity: {}\n\n{}: {said}.\n\n{}", result.label, result.target, table_of(&heading, &rows));
    for reason in &result.invalid_because {
        text += &format!("\n**These figures say nothing about the target: {reason}.**\n");
    }
    for finding in &result.findings {
        text += &format!("\n- {}\n", finding.text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(level: f64, rate: f64, good: bool) -> Level {
        Level { level, rate, low: rate, high: rate, p95: 1.0, errors: 0.0, good }
    }

    #[test]
    fn levels_rise_by_a_factor_up_to_the_last() {
        assert_eq!(levels(10.0, 100.0, 2.0).unwrap(), [10.0, 20.0, 40.0, 80.0, 100.0]);
        assert_eq!(levels(5.0, 5.0, 2.0).unwrap(), [5.0]);
        assert!(levels(0.0, 5.0, 2.0).is_err() && levels(5.0, 1.0, 2.0).is_err() && levels(1.0, 5.0, 1.0).is_err());
        assert!(levels(1.0, 1e9, 1.05).unwrap().len() <= MOST + 1);
    }

    #[test]
    fn capacity_is_the_best_of_the_levels_before_the_first_bad_one() {
        let levels = [level(1.0, 10.0, true), level(2.0, 19.0, true), level(4.0, 25.0, false), level(8.0, 40.0, true)];
        assert_eq!(capacity(&levels).map(|best| best.level), Some(2.0));
        assert!(capacity(&levels[2..]).is_none());
    }
}

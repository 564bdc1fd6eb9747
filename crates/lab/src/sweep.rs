//! Capacity of a target: the same plan at rising levels, to find the highest level at which the responses are still
//! good enough.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::evaluation::is_generator_bottleneck;
use crate::event::Event;
use crate::measure::Window;
use crate::report::{in_markdown, milliseconds, number, table_of};
use crate::result::RunResult;
use crate::stats::{mean, median, quantile};
use crate::stop::Stop;

/// Limit on the levels of a sweep.
const MAX_LEVELS: usize = 30;
/// Seconds at the beginning of a level that are ignored, because they still complete requests of the previous level.
const SETTLING: usize = 2;
/// Largest share of errors that is good enough.
const ERRORS: f64 = 0.01;

/// Returns the levels from one to another, each larger than the previous one by a factor.
///
/// # Errors
/// If the bounds or the factor are invalid, or there are too many levels.
pub fn levels(from: f64, to: f64, factor: f64) -> Result<Vec<f64>> {
    if !(from >= 1.0 && to >= from && factor >= 1.05 && to.is_finite()) {
        return Err(Error::new(
            "a sweep needs a --from of 1 or more, a --to that is not below it, and a --factor of 1.05 or more",
        ));
    }
    let mut levels: Vec<f64> = Vec::new();
    let mut level = from;
    while level < to {
        levels.push(level.round());
        level *= factor;
    }
    levels.push(to.round());
    levels.dedup();
    if levels.len() > MAX_LEVELS {
        return Err(Error::new(format!(
            "from {from} to {to} by a factor of {factor} are {} levels, and a sweep has at most {MAX_LEVELS}: raise \
             --from or --factor, or lower --to",
            levels.len()
        )));
    }
    Ok(levels)
}

/// Figures of one level of a sweep.
#[derive(Clone, Debug, Serialize)]
pub struct Level {
    /// Users, or requested operations per second.
    pub level: f64,
    /// Mean number of operations per second.
    pub rate: f64,
    /// Lower end of the 95 % confidence interval of `rate`.
    pub low: f64,
    /// Upper end of the 95 % confidence interval of `rate`.
    pub high: f64,
    /// Median of the 95th percentiles of latency of all seconds, in milliseconds.
    pub p95: f64,
    /// Share of operations that failed.
    pub errors: f64,
    /// True if the responses are good enough.
    pub good: bool,
    /// True if the generator kept up with this level; otherwise it was itself the bottleneck.
    pub valid: bool,
}

/// Evaluates each level of a run with steps.
fn evaluate(windows: &[Window], p95: f64) -> Vec<Level> {
    let counted: Vec<_> = windows.iter().filter(|window| window.counted).collect();
    let steps = counted.chunk_by(|a, b| a.level == b.level);
    steps
        .filter_map(|step| {
            let settled = step.get(SETTLING.min(step.len() - 1)..)?;
            let of = |figure: fn(&Window) -> f64| settled.iter().map(|window| figure(window)).collect::<Vec<f64>>();
            let rates = of(|window| window.done as f64);
            let (done, failed) = settled.iter().fold((0, 0), |(done, failed), w| (done + w.done, failed + w.failed));
            let errors = if done + failed == 0 { 1.0 } else { failed as f64 / (done + failed) as f64 };
            let slow = median(&of(|window| window.p95));
            let (low, high) = interval(&rates);
            let good = errors <= ERRORS && slow <= p95 && done > 0;
            let (busy, lag) = (mean(&of(|window| window.generator)), median(&of(|window| window.lag)));
            let valid = !is_generator_bottleneck(busy, lag, median(&of(|window| window.p50)));
            Some(Level { level: step[0].level, rate: mean(&rates), low, high, p95: slow, errors, good, valid })
        })
        .collect()
}

/// Observer of a sweep, which ends it after a level that was not good enough: higher levels would only load the target.
pub struct SweepObserver {
    stop: Stop,
    p95: f64,
    windows: Vec<Window>,
}

impl SweepObserver {
    /// Creates a judge that ends the run through `stop`. `p95` is the longest 95th percentile of latency that is good
    /// enough, in milliseconds.
    pub fn new(stop: Stop, p95: f64) -> Self {
        Self { stop, p95, windows: Vec::new() }
    }

    /// Processes an event of the run.
    pub fn take(&mut self, event: &Event) {
        let Event::Second(window) = event else { return };
        if self.stop.is_finished() {
            return;
        }
        let over = self.windows.last().is_some_and(|last| last.counted && last.level != window.level);
        if over && self.levels().last().is_some_and(|level| !level.good || !level.valid) {
            self.stop.finish();
            return;
        }
        self.windows.push((**window).clone());
    }

    /// Ends the sweep and evaluates its levels. A level that was interrupted is left out.
    pub fn end(mut self) -> Sweep {
        let ended = match (self.stop.is_requested(), self.stop.is_finished()) {
            (true, _) => Ended::Interrupted,
            (_, true) => Ended::LimitReached,
            _ => Ended::Completed,
        };
        if let (Ended::Interrupted, Some(last)) = (ended, self.windows.last().map(|last| last.level)) {
            self.windows.retain(|window| window.level != last);
        }
        Sweep { levels: self.levels(), p95: self.p95, ended }
    }

    fn levels(&self) -> Vec<Level> {
        evaluate(&self.windows, self.p95)
    }
}

/// Result of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// Levels in rising order.
    pub levels: Vec<Level>,
    /// Longest 95th percentile of latency that is good enough, in milliseconds.
    pub p95: f64,
    /// Outcome.
    pub ended: Ended,
}

/// Reason for the end of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The last level was completed.
    Completed,
    /// A level was not good enough, or the generator was the bottleneck.
    LimitReached,
    /// The user requested a stop.
    Interrupted,
}

/// Returns the 95 % confidence interval of the mean. It is computed by a block bootstrap, because adjacent seconds are
/// correlated. For few seconds Student's t-distribution is used, because so few values show too little of the possible
/// variation.
fn interval(rates: &[f64]) -> (f64, f64) {
    const DRAWS: usize = 2_000;
    const STRETCH: usize = 3;
    /// Two-sided 95 % quantiles of Student's t-distribution, from 1 degree of freedom upwards.
    const STUDENT: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    let middle = mean(rates);
    if let Some(quantile) = rates.len().checked_sub(2).and_then(|at| STUDENT.get(at)) {
        let squares: f64 = rates.iter().map(|rate| (rate - middle).powi(2)).sum();
        let half = quantile * (squares / (rates.len() - 1) as f64 / rates.len() as f64).sqrt();
        return ((middle - half).max(0.0), middle + half);
    }
    if rates.len() <= STRETCH {
        return (0.0, f64::INFINITY);
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

impl Sweep {
    /// Returns the level with the highest rate before the first level that is not good enough or not valid; `None` if
    /// that is the first level.
    pub fn capacity(&self) -> Option<&Level> {
        let good = self.levels.iter().take_while(|level| level.good && level.valid);
        good.max_by(|a, b| a.rate.total_cmp(&b.rate))
    }

    /// Formats the sweep as Markdown, with the result of its run.
    pub fn markdown(&self, result: &RunResult) -> String {
        let rows: Vec<Vec<String>> = self
            .levels
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
        let heading = ["load", "responses per second", "95 % confidence", "p95", "failed", "good enough"];
        let (said, table) = (self.said(), table_of(&heading, &rows));
        let mut text = format!("# Capacity: {}\n\n{}: {said}.\n\n{table}", result.label, result.target);
        for level in self.levels.iter().filter(|level| !level.valid) {
            text += &format!(
                "\n\
                 **At a load of {} the generator itself was the limit: that level says nothing about the target. Give \
                 the generator threads, or a machine of its own.**\n",
                number(level.level)
            );
        }
        if self.ended == Ended::Interrupted {
            text += "\n**The sweep was interrupted: higher levels were not tried.**\n";
        }
        for finding in &result.findings {
            text += &format!("\n- {}\n", in_markdown(&finding.text));
        }
        text
    }

    fn said(&self) -> String {
        let Some(best) = self.capacity() else {
            return "not even the lowest level is good enough".to_owned();
        };
        let found = self.levels.iter().any(|level| level.valid && !level.good);
        let (at_least, hint) = match self.ended {
            _ if found => ("", ""),
            Ended::Completed if self.levels.iter().all(|level| level.valid) => {
                ("at least ", "; the limit was not reached: raise --to")
            }
            Ended::Interrupted => ("at least ", ""),
            _ => ("at least ", "; beyond it the generator was the limit"),
        };
        format!(
            "{at_least}{} responses per second ({} to {} with 95 % confidence) at a load of {}, 95 % of them within \
             {}{hint}",
            number(best.rate),
            number(best.low),
            number(best.high),
            number(best.level),
            milliseconds(self.p95)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(level: f64, rate: f64, good: bool) -> Level {
        Level { level, rate, low: rate, high: rate, p95: 1.0, errors: 0.0, good, valid: true }
    }

    fn windows(levels: &[(f64, f64)]) -> Vec<Window> {
        let seconds = levels.iter().flat_map(|of| [*of; 6]).enumerate();
        let window = |(second, (level, p95)): (usize, (f64, f64))| Window {
            second: second as u64,
            counted: true,
            level,
            done: level as u64 + second as u64 % 3,
            p95,
            ..Window::default()
        };
        seconds.map(window).collect()
    }

    fn judged(windows: Vec<Window>, stop: &Stop) -> SweepObserver {
        let mut judge = SweepObserver::new(stop.clone(), 100.0);
        windows.into_iter().for_each(|window| judge.take(&Event::Second(Box::new(window))));
        judge
    }

    #[test]
    fn a_sweep_ends_after_the_first_level_that_is_not_good_enough() {
        let stop = Stop::default();
        let found = judged(windows(&[(10.0, 5.0), (20.0, 6.0), (40.0, 500.0), (80.0, 900.0)]), &stop).end();
        assert!(stop.is_finished());
        assert!(!stop.is_requested());
        assert_eq!(found.levels.iter().map(|level| level.good).collect::<Vec<_>>(), [true, true, false]);
        assert!(found.said().starts_with("21.2 responses per second"), "{}", found.said());
        let found = judged(windows(&[(10.0, 5.0), (20.0, 6.0)]), &Stop::default()).end();
        assert!(found.said().starts_with("at least 21.2"), "{}", found.said());
        assert!(found.said().contains("raise --to"), "{}", found.said());
        let stop = Stop::default();
        let judge = judged(windows(&[(10.0, 5.0), (20.0, 6.0)]), &stop);
        stop.request();
        let found = judge.end();
        assert_eq!((found.ended, found.levels.len()), (Ended::Interrupted, 1), "the level in its midst says nothing");
    }

    #[test]
    fn few_seconds_make_a_wide_interval() {
        let (low, high) = interval(&[993.0, 1217.0, 1253.0, 925.0]);
        assert!(low < 900.0, "{low} to {high}");
        assert!(high > 1_300.0, "{low} to {high}");
        assert_eq!(interval(&[5.0]), (0.0, f64::INFINITY));
    }

    #[test]
    fn a_level_at_which_the_generator_was_the_limit_is_no_capacity() {
        let mut windows = windows(&[(10.0, 5.0), (20.0, 6.0)]);
        windows[6..].iter_mut().for_each(|window| window.generator = 0.99);
        let found = judged(windows, &Stop::default()).end();
        assert_eq!(found.capacity().map(|best| best.level), Some(10.0));
        assert!(found.said().contains("at least 11.2"), "{}", found.said());
        assert!(found.said().contains("beyond it"), "{}", found.said());
    }

    #[test]
    fn levels_rise_by_a_factor_up_to_the_last() {
        assert_eq!(levels(10.0, 100.0, 2.0).unwrap(), [10.0, 20.0, 40.0, 80.0, 100.0]);
        assert_eq!(levels(5.0, 5.0, 2.0).unwrap(), [5.0]);
        assert!(levels(0.0, 5.0, 2.0).is_err());
        assert!(levels(5.0, 1.0, 2.0).is_err());
        assert!(levels(1.0, 5.0, 1.0).is_err());
        assert!(levels(1.0, 1e9, 1.05).is_err(), "too many, and none is left out unsaid");
    }

    #[test]
    fn capacity_is_the_best_of_the_levels_before_the_first_bad_one() {
        let levels =
            vec![level(1.0, 10.0, true), level(2.0, 19.0, true), level(4.0, 25.0, false), level(8.0, 40.0, true)];
        let sweep = |levels| Sweep { levels, p95: 1.0, ended: Ended::Completed };
        assert!(sweep(levels[2..].to_vec()).capacity().is_none());
        assert_eq!(sweep(levels).capacity().map(|best| best.level), Some(2.0));
    }
}

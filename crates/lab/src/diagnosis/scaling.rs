//! Throughput that stops scaling although no resource is saturated: a lock, a pool that is too small, or a queue with a
//! single server.

use super::culprit;
use super::stretch::{medians, rates, stretches};
use crate::measure::Window;
use crate::result::{Finding, Problem, RunResult};
use crate::stats::median;

/// Factor by which the load must have risen.
const MORE_LOAD: f64 = 1.5;
/// Throughput must have grown by less than this share of the load's growth.
const SAME: f64 = 0.15;
/// Latency must have grown by more than this share of the load's growth.
const LONGER: f64 = 0.5;
/// CPU usage, in percent, above which the CPU explains the limit.
const BUSY: f64 = 80.0;

pub fn examine(result: &RunResult) -> Option<Finding> {
    let steps: Vec<&[Window]> = stretches(result).into_iter().filter(|windows| windows.len() >= 3).collect();
    let rate = |windows: &[Window]| median(&rates(windows));
    let latency = |windows: &[Window]| median(&medians(windows));
    let (before, after) = steps.windows(2).map(|pair| (pair[0], pair[1])).find(|(before, after)| {
        after[0].level >= before[0].level * MORE_LOAD
            && growth(rate(before), rate(after)) < growth(before[0].level, after[0].level) * SAME
            && growth(latency(before), latency(after)) > growth(before[0].level, after[0].level) * LONGER
    })?;
    let busy = busiest(result, after);
    if busy.is_some_and(|busy| busy > BUSY) {
        return None;
    }
    let why = match busy {
        Some(busy) => format!("although no processor was the limit ({busy:.0} % busy): requests wait for each other"),
        None => "and no monitor shows what was busy: monitor the machine to find out".to_owned(),
    };
    Some(Finding {
        trouble: Problem::Scaling,
        text: format!(
            "from {:.0} to {:.0} users, throughput stayed at {:.0} responses per second ({:.0} before), {why}",
            before[0].level,
            after[0].level,
            rate(after),
            rate(before)
        ),
        operation: culprit::most_affected(result, before, after),
        seconds: Some((after[0].second, after[after.len() - 1].second + 1)),
    })
}

/// Returns the growth from the first value to the second, as a share of the first.
fn growth(first: f64, second: f64) -> f64 {
    second / first.max(f64::MIN_POSITIVE) - 1.0
}

/// CPU usage of the machine in this time, in percent; `None` if the machine was not monitored. With several machines,
/// the busiest counts.
fn busiest(result: &RunResult, windows: &[Window]) -> Option<f64> {
    let (from, to) = (windows.first()?.second as f64, windows.last()?.second as f64 + 1.0);
    let machines = result.monitors.iter().filter(|series| series.name.ends_with(crate::monitor::CPU));
    let busy = machines.filter_map(|series| {
        let values = series.points.iter().filter(|(at, _)| (from..=to).contains(at)).map(|(_, value)| *value);
        let values: Vec<f64> = values.collect();
        (!values.is_empty()).then(|| median(&values))
    });
    busy.max_by(f64::total_cmp)
}

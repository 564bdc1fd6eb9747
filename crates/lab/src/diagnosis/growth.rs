//! Memory growth: the memory of a monitored process grows evenly, does not level off, and is not released after the
//! load.

use std::time::Duration;

use crate::measure::Window;
use crate::monitor::Series;
use crate::result::{Finding, Problem, RunResult};
use crate::stats::trend;

/// Minimum number of readings: a freshly started server also fills its caches evenly, and may do so for half a minute.
const LEAST: usize = 40;
/// Minimum goodness of fit of the trend line.
const FIT: f64 = 0.9;
/// Minimum growth over the run, as a share of the initial value.
const SHARE: f64 = 0.15;
/// Minimum growth over the run in bytes, required as well.
const BYTES: f64 = 24e6;
/// Minimum slope of the second half, relative to that of the first: a cache that fills up slows down.
const MIN_LATE_SLOPE: f64 = 0.5;
/// Share of the growth that may be released after the load. A larger share was in use by in-flight requests, or
/// retained by the allocator for a while.
const MAX_RELEASED_SHARE: f64 = 0.25;
/// Time for which growing memory is still monitored after the load.
pub const WATCH_TIME: Duration = Duration::from_secs(20);

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let found = growing(&result.monitors, &result.windows);
    found
        .map(|(series, grown)| Finding {
            trouble: Problem::Growth,
            text: format!(
                "{} grows steadily, by {:.0} MB in this run to {:.0} MB, and does not shrink after it: something is \
                 retained that should be released",
                series.name,
                grown / 1e6,
                counted(series, &result.windows).last().copied().unwrap_or_default() / 1e6
            ),
            operation: None,
            seconds: None,
        })
        .collect()
}

/// Returns whether a process may be leaking memory, so that it should be monitored after the load as well.
pub fn may_grow(seen: &[Series], windows: &[Window]) -> bool {
    growing(seen, windows).next().is_some()
}

/// Returns the series that grow, each with its growth in bytes.
fn growing<'a>(seen: &'a [Series], windows: &'a [Window]) -> impl Iterator<Item = (&'a Series, f64)> {
    let memory = seen.iter().filter(|series| series.name.ends_with(crate::monitor::MEMORY));
    memory.filter_map(|series| Some((series, grows(series, windows)?)))
}

/// Values of a series in the counted time. Before that, the server is still warming up.
fn counted(series: &Series, windows: &[Window]) -> Vec<f64> {
    let seconds = || windows.iter().filter(|window| window.counted).map(|window| window.second as f64);
    let (Some(first), Some(last)) = (seconds().next(), seconds().next_back()) else { return Vec::new() };
    let within = series.points.iter().filter(|(at, _)| (first..=last + 1.0).contains(at));
    within.map(|(_, value)| *value).collect()
}

fn grows(series: &Series, windows: &[Window]) -> Option<f64> {
    let points = counted(series, windows);
    if points.len() < LEAST {
        return None;
    }
    let (slope, fit) = trend(&points);
    let grown = slope * points.len() as f64;
    let middle = points.len() / 2;
    let (early, late) = (trend(&points[..middle]).0, trend(&points[middle..]).0);
    let steady = fit > FIT && early > 0.0 && late > early * MIN_LATE_SLOPE;
    let much = grown > BYTES && grown > points[0] * SHARE;
    // A process that has ended reports no memory, which does not count as a release.
    let (end, now) = (points.last()?, series.points.iter().rev().find(|(_, value)| *value > 0.0)?.1);
    (steady && much && end - now < grown * MAX_RELEASED_SHARE).then_some(grown)
}

//! Memory of a watched process that grows evenly, does not stop, and does not come back when the load has ended.

use std::time::Duration;

use crate::measure::Window;
use crate::monitor::Series;
use crate::result::{Finding, RunResult, Trouble};
use crate::stats::trend;

/// Fewest seconds: a server that has just begun fills its caches evenly, too, and for longer than that.
const LEAST: usize = 40;
/// The line must fit this well.
const FIT: f64 = 0.9;
/// Growth over the run: at least this share of the beginning,
const SHARE: f64 = 0.15;
/// and so many bytes.
const BYTES: f64 = 24e6;
/// The second half must grow at least this much as fast as the first: a cache that fills up slows down.
const STILL: f64 = 0.5;
/// After the load, less than this share of the growth comes back: more is what requests on their way took, or what an allocator keeps
/// for a while.
const BACK: f64 = 0.25;
/// How long memory that grew is watched after the load.
pub const PATIENCE: Duration = Duration::from_secs(20);

pub fn examine(result: &RunResult) -> Vec<Finding> {
    let found = growing(&result.monitors, &result.windows);
    found
        .map(|(series, grown)| Finding {
            trouble: Trouble::Growth,
            text: format!(
                "{} grows evenly, by {:.0} MB in this run to {:.0} MB, and does not come back after it: something is kept that \
                 should be let go",
                series.name,
                grown / 1e6,
                counted(series, &result.windows).last().copied().unwrap_or_default() / 1e6
            ),
            operation: None,
            seconds: None,
        })
        .collect()
}

/// Whether a process may be growing, so that it is worth to look on after the load.
pub fn may_grow(seen: &[Series], windows: &[Window]) -> bool {
    growing(seen, windows).next().is_some()
}

/// Series that grow, and by how many bytes.
fn growing<'a>(seen: &'a [Series], windows: &'a [Window]) -> impl Iterator<Item = (&'a Series, f64)> {
    let memory = seen.iter().filter(|series| series.name.ends_with(crate::monitor::MEMORY));
    memory.filter_map(|series| Some((series, grows(series, windows)?)))
}

/// What a series had in the counted time: before, the server is still warming up.
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
    let steady = fit > FIT && early > 0.0 && late > early * STILL;
    let much = grown > BYTES && grown > points[0] * SHARE;
    // A process that has ended has no memory, and let nothing go.
    let (end, now) = (points.last()?, series.points.iter().rev().find(|(_, value)| *value > 0.0)?.1);
    (steady && much && end - now < grown * BACK).then_some(grown)
}

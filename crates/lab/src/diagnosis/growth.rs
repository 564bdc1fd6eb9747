//! Memory of a watched process that grows evenly and does not stop.

use super::{Finding, Trouble};
use crate::monitor::Series;
use crate::result::RunResult;
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

pub fn examine(result: &RunResult) -> Vec<Finding> {
    result
        .monitors
        .iter()
        .filter(|series| series.name.ends_with(crate::monitor::MEMORY))
        .filter_map(|series| grows(series, result))
        .collect()
}

fn grows(series: &Series, result: &RunResult) -> Option<Finding> {
    // What comes before the counted time is the server warming up.
    let begins = result.windows.iter().find(|window| window.counted).map_or(0.0, |window| window.second as f64);
    let points: Vec<f64> = series.points.iter().filter(|(at, _)| *at >= begins).map(|(_, value)| *value).collect();
    if points.len() < LEAST {
        return None;
    }
    let (slope, fit) = trend(&points);
    let grown = slope * points.len() as f64;
    let middle = points.len() / 2;
    let (early, late) = (trend(&points[..middle]).0, trend(&points[middle..]).0);
    let steady = fit > FIT && early > 0.0 && late > early * STILL;
    let much = grown > BYTES && grown > points[0] * SHARE;
    (steady && much).then(|| Finding {
        trouble: Trouble::Growth,
        text: format!(
            "{} grows evenly, by {:.0} MB in this run from {:.0} MB, and does not stop: something is kept that should be let go",
            series.name,
            grown / 1e6,
            points[0] / 1e6
        ),
        operation: None,
        seconds: None,
    })
}

//! Monitored figures in reports: their units, and their values in the counted time.

use std::collections::HashSet;

use crate::monitor::Series;
use crate::numbers::{bytes, milliseconds, number};
use crate::result::RunResult;
use crate::stats::mean;

/// Headings of the table of monitored figures.
pub const WATCHED: &[&str] = &["figure", "mean", "least", "most"];

/// Rows of the table of monitored figures: each figure with readings in the counted time.
pub fn watched(result: &RunResult) -> Vec<Vec<String>> {
    let row = |series: &Series| {
        let values = while_counted(result, series);
        let unit = unit(&series.name);
        let least = values.iter().copied().reduce(f64::min)?;
        let most = values.iter().copied().reduce(f64::max)?;
        let figures = [mean(&values), least, most].map(|value| with_unit(value, unit));
        Some(std::iter::once(series.name.clone()).chain(figures).collect())
    };
    result.monitors.iter().filter_map(row).collect()
}

/// Returns the values of a figure in the counted seconds.
pub fn while_counted(result: &RunResult, series: &Series) -> Vec<f64> {
    let counted: HashSet<u64> =
        result.windows.iter().filter(|window| window.counted).map(|window| window.second).collect();
    let points = series.points.iter().filter(|(at, value)| counted.contains(&(*at as u64)) && value.is_finite());
    points.map(|(_, value)| *value).collect()
}

/// Returns the unit of a figure from its name: `B`, `s`, `ms` or `%`, with `/s` for rates; empty for a plain number.
/// Names of the lab end with the unit; names of Prometheus have it at the end of their base.
pub fn unit(name: &str) -> &'static str {
    let (figure, rate) = match name.strip_suffix(" each second") {
        Some(figure) => (figure.trim_end_matches(','), true),
        None => (name, false),
    };
    let figure = figure.strip_suffix(": mean").unwrap_or(figure);
    let base = figure.split('{').next().unwrap_or(figure);
    let base = base.strip_suffix("_total").unwrap_or(base);
    let bytes = figure.ends_with(", bytes") || base.ends_with("_bytes");
    match (bytes, rate) {
        (true, true) => "B/s",
        (true, false) => "B",
        (false, true) => "/s",
        (false, false) if figure.ends_with(", %") || figure.ends_with(", % of one") => "%",
        (false, false) if figure.ends_with(", ms") => "ms",
        (false, false) if base.ends_with("_seconds") => "s",
        (false, false) => "",
    }
}

/// Formats a value with its unit for people.
pub fn with_unit(value: f64, unit: &str) -> String {
    match unit {
        "B" => bytes(value),
        "B/s" => format!("{}/s", bytes(value)),
        "ms" => milliseconds(value),
        "s" => milliseconds(value * 1000.0),
        "%" => format!("{} %", number(value)),
        unit => format!("{}{unit}", number(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Window;

    #[test]
    fn units_are_those_of_the_names() {
        for (name, expected) in [
            ("machine: memory in use, bytes", "B"),
            ("disks: written, bytes each second", "B/s"),
            ("disks: operations each second", "/s"),
            ("network: TCP segments sent again, each second", "/s"),
            ("10.0.0.2:8099: machine: processors, %", "%"),
            ("strongroom 77: processors, % of one", "%"),
            ("disks: one read, ms", "ms"),
            ("database: busy sessions", ""),
            ("file main.db: size, bytes", "B"),
            ("database_size_bytes{database=\"main\"}", "B"),
            ("database_log_bytes_total{database=\"main\"}, each second", "B/s"),
            ("database_lock_seconds{database=\"a, bytes\"}: mean", "s"),
            ("database_cache{database=\"main\"}: found, %", "%"),
            ("process_cpu_seconds_total, each second", "/s"),
            ("open", ""),
        ] {
            assert_eq!(unit(name), expected, "{name}");
        }
        assert_eq!(with_unit(3_210_000_000.0, "B"), "3.21 GB");
        assert_eq!(with_unit(0.25, "s"), "250 ms");
    }

    #[test]
    fn only_what_was_seen_while_it_counted_is_summed_up() {
        let series = |name: &str, points: &[(f64, f64)]| Series { name: name.to_owned(), points: points.to_vec() };
        let window = |second| Window { second, counted: second > 0, ..Window::default() };
        let result = RunResult {
            windows: (0..3).map(window).collect(),
            monitors: vec![
                series("machine: memory in use, bytes", &[(0.9, 9e9), (1.1, 1e6), (2.1, 3e6), (3.1, 9e9)]),
                series("early", &[(0.1, 1.0)]),
            ],
            ..crate::result::sample()
        };
        assert_eq!(watched(&result), [["machine: memory in use, bytes", "2.00 MB", "1.00 MB", "3.00 MB"]]);
    }
}

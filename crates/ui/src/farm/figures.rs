//! The figures of this server as charts, and as a table with the same content that works without scripts.

use std::time::Duration;

use askama::Template;
use axum::extract::{Query, State};
use model::Timestamp;
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::navigation;
use crate::frame::page::{Page, html};
use crate::frame::texts::Language;
use crate::frame::visit::Visit;
use http_core::figures::{FIGURES, MetricsHistory, Span, Summary, Unit, position};
use http_core::server::state::AppState;

/// URL of the page.
pub const HERE: &str = "/farm/figures";

/// Charts: each key with its figures, which share one unit, and their colours.
const CHARTS: [(&str, &[(&str, &str)]); 12] = [
    ("requests", &[("requests", ONE)]),
    ("answers", &[("answer_p50", ONE), ("answer_p99", OTHER)]),
    ("traffic", &[("sent", ONE), ("received", OTHER)]),
    ("memory", &[("memory", ONE)]),
    ("refusals", &[("refused", "tone-orange"), ("failed", "tone-red")]),
    ("documents", &[("downloads", ONE), ("uploads", OTHER)]),
    ("blobs", &[("blob_reads", ONE), ("blob_writes", OTHER)]),
    ("blob-times", &[("blob_read_time", ONE), ("blob_write_time", OTHER)]),
    ("database", &[("database_reads", ONE), ("database_writes", OTHER)]),
    ("database-times", &[("database_wait", ONE), ("database_commit", OTHER)]),
    ("connections", &[("connections", ONE)]),
    ("jobs", &[("jobs", ONE)]),
];
const ONE: &str = "tone-accent";
const OTHER: &str = "tone-violet";
/// Number of charts on the farm overview.
const FIRST: usize = 4;

/// Text for a missing value.
const NOTHING: &str = "–";

/// Time range of a page.
#[derive(Clone, Copy)]
struct Range {
    word: &'static str,
    span: Span,
    seconds: u64,
}

const RANGES: [Range; 3] = [
    Range { word: "15m", span: Span::Fine, seconds: 15 * 60 },
    Range { word: "1h", span: Span::Fine, seconds: 60 * 60 },
    Range { word: "24h", span: Span::Coarse, seconds: 24 * 60 * 60 },
];

/// Charts with the data that the script needs to draw them.
pub struct Charts {
    /// Width of a chart in seconds.
    pub seconds: u64,
    /// Seconds between samples.
    pub step: u64,
    /// The charts.
    pub charts: Vec<Chart>,
}

/// One chart.
pub struct Chart {
    /// Text key of the chart.
    pub key: &'static str,
    /// Title.
    pub title: &'static str,
    /// Unit of all lines.
    pub unit: &'static str,
    /// Lines of the chart.
    pub lines: Vec<Line>,
}

/// A line of a chart, and a row of the table.
pub struct Line {
    /// Public name of the figure.
    pub name: &'static str,
    /// Label within the chart; empty when the chart has only one line.
    pub label: &'static str,
    /// Full title of the figure.
    pub title: &'static str,
    /// CSS class of the colour.
    pub tone: &'static str,
    /// Newest value.
    pub last: String,
    /// Mean value.
    pub mean: String,
    /// Highest value.
    pub highest: String,
}

impl Charts {
    /// Returns the charts of the farm overview.
    pub fn first(page: &Page, figures: &MetricsHistory) -> Self {
        Self::of(page, figures, RANGES[0], FIRST)
    }

    /// Returns whether nothing has been measured yet.
    pub fn is_empty(&self) -> bool {
        self.charts.iter().flat_map(|chart| &chart.lines).all(|line| line.highest == NOTHING)
    }

    fn of(page: &Page, figures: &MetricsHistory, range: Range, count: usize) -> Self {
        let since = Timestamp::now().before(Duration::from_secs(range.seconds));
        let summaries = figures.summaries(range.span, since);
        let charts = CHARTS[..count].iter().map(|(key, lines)| {
            let unit = lines.first().and_then(|(name, _)| position(name)).map_or(Unit::Number, |at| FIGURES[at].unit);
            let line = |(name, tone): &(&'static str, &'static str)| {
                let summary = position(name).and_then(|at| summaries[at]);
                let of = |value: fn(Summary) -> Option<f64>| text(page.language, unit, summary.and_then(value));
                Line {
                    name,
                    label: if lines.len() > 1 { page.s(&format!("figure-short.{name}")) } else { "" },
                    title: page.s(&format!("figure.{name}")),
                    tone,
                    last: of(|summary| summary.last),
                    mean: of(|summary| Some(summary.mean)),
                    highest: of(|summary| Some(summary.highest)),
                }
            };
            let lines = lines.iter().map(line).collect();
            Chart { key, title: page.s(&format!("chart.{key}")), unit: unit.as_str(), lines }
        });
        Self { seconds: range.seconds, step: range.span.ring().step.as_secs(), charts: charts.collect() }
    }
}

/// Formats a value with its unit, in the same way as the script.
fn text(language: Language, unit: Unit, value: Option<f64>) -> String {
    let Some(value) = value else { return NOTHING.to_owned() };
    let scaled = |value: f64, by: f64, units: &[&str]| {
        let (mut value, mut unit) = (value, 0);
        while value >= 999.5 && unit + 1 < units.len() {
            (value, unit) = (value / by, unit + 1);
        }
        format!("{}\u{a0}{}", number(language, value), units[unit])
    };
    match unit {
        Unit::PerSecond => format!("{}\u{a0}/s", number(language, value)),
        Unit::BytesPerSecond => scaled(value, 1024.0, &["B/s", "KiB/s", "MiB/s", "GiB/s"]),
        Unit::Bytes => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
        Unit::Seconds => scaled(value * 1e6, 1000.0, &["µs", "ms", "s"]),
        Unit::Number => language.number(value.round() as u64),
    }
}

/// Formats a number with three significant digits, but never rounds before the decimal point.
fn number(language: Language, value: f64) -> String {
    let digits = match value {
        0.0 | 99.95.. => return language.number(value.round() as u64),
        9.995.. => 1,
        _ => 2,
    };
    language.decimal(format!("{value:.digits$}"))
}

/// Query parameters: the time range.
#[derive(Deserialize)]
pub struct RangeQuery {
    #[serde(default)]
    range: String,
}

#[derive(Template)]
#[template(path = "figures.html")]
struct FiguresPage<'a> {
    page: &'a Page,
    figures: Charts,
    /// URL, label, and whether this range is selected.
    ranges: Vec<(String, &'static str, bool)>,
    started_at: Timestamp,
}

/// Shows all figures.
pub async fn show(State(state): State<AppState>, mut visit: Visit, Query(wanted): Query<RangeQuery>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    visit.session.may_see_figures()?;
    let page = &visit.page;
    let range = RANGES.into_iter().find(|range| range.word == wanted.range).unwrap_or(RANGES[0]);
    let link = |other: Range| {
        let label = page.s(&format!("figures.range-{}", other.word));
        (format!("{HERE}?range={}", other.word), label, other.word == range.word)
    };
    Ok(html(&FiguresPage {
        page,
        figures: Charts::of(page, state.figures(), range, CHARTS.len()),
        ranges: RANGES.map(link).into(),
        started_at: state.figures().started_at(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_in_one_chart_with_others_of_its_unit() {
        let mut shown: Vec<&str> = CHARTS.iter().flat_map(|(_, lines)| lines.iter().map(|(name, _)| *name)).collect();
        for (key, lines) in CHARTS {
            let units = lines.iter().map(|(name, _)| FIGURES[position(name).unwrap()].unit).collect::<Vec<_>>();
            assert!(units.iter().all(|unit| *unit == units[0]), "{key}");
        }
        shown.sort_unstable();
        let mut all: Vec<&str> = FIGURES.iter().map(|figure| figure.name).collect();
        all.sort_unstable();
        assert_eq!(shown, all);
    }

    #[test]
    fn every_figure_and_chart_has_its_words() {
        for language in Language::all() {
            for (key, lines) in CHARTS {
                assert!(language.find(&format!("chart.{key}")).is_some(), "{key}");
                for (name, _) in lines {
                    assert!(language.find(&format!("figure.{name}")).is_some(), "{name}");
                    assert!(lines.len() == 1 || language.find(&format!("figure-short.{name}")).is_some(), "{name}");
                }
            }
            for range in RANGES {
                assert!(language.find(&format!("figures.range-{}", range.word)).is_some());
            }
        }
    }

    #[test]
    fn values_have_three_digits_and_a_unit() {
        let of = |unit, value: f64| text(Language::ENGLISH, unit, Some(value)).replace('\u{a0}', " ");
        assert_eq!(text(Language::ENGLISH, Unit::Bytes, None), "–");
        assert_eq!((of(Unit::PerSecond, 0.0), of(Unit::PerSecond, 12_345.6)), ("0 /s".into(), "12,346 /s".into()));
        assert_eq!((of(Unit::PerSecond, 0.25), of(Unit::PerSecond, 12.34)), ("0.25 /s".into(), "12.3 /s".into()));
        assert_eq!((of(Unit::Seconds, 0.00042), of(Unit::Seconds, 0.0125)), ("420 µs".into(), "12.5 ms".into()));
        assert_eq!((of(Unit::Seconds, 75.0), of(Unit::Bytes, 180.0 * 1048576.0)), ("75.0 s".into(), "180 MiB".into()));
        assert_eq!((of(Unit::BytesPerSecond, 512.0), of(Unit::Number, 3.0)), ("512 B/s".into(), "3".into()));
        assert_eq!(text(Language::parse("de").unwrap(), Unit::Seconds, Some(0.0125)), "12,5\u{a0}ms");
    }
}

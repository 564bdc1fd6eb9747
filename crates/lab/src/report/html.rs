//! The report as one self-contained HTML file: tables, and charts drawn by uPlot, which is embedded.

use serde_json::json;

use super::markdown::{OPERATIONS, PARTS, date, facts, kind, late, measured, operations, parts};
use super::table::{self, escape};
use super::text::in_script;
use super::watched::unit;
use crate::result::RunResult;

const UPLOT: &str = include_str!("../../vendor/uplot/uPlot.iife.min.js");
const UPLOT_STYLE: &str = include_str!("../../vendor/uplot/uPlot.min.css");
const STYLE: &str = include_str!("page.css");
const CHART: &str = include_str!("chart.js");
const SCRIPT: &str = include_str!("page.js");
const LIVE: &str = include_str!("live.js");

/// Container of the charts over time, with the legend of the shading, which is shown if there is any.
const TIME: &str = "<h2>Over time</h2><p id=\"shaded\" class=\"soft\" hidden><span class=\"shade\"></span> \
                    Shaded: ramp and warm-up, which are not counted.</p><div id=\"time\"></div>";

/// Percentiles on the latency curves.
const CURVE: &[f64] = &[0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 98.0, 99.0, 99.5, 99.9, 99.95, 99.99, 100.0];

/// Formats the report.
pub fn html(result: &RunResult) -> String {
    let mut body = format!("<h1>{}</h1><p>{}</p>", escape(&result.label), escape(&result.description));
    let version = if result.target_version.is_empty() { "" } else { ", version " };
    body += &format!(
        "<p class=\"soft\">{}{version}{}, {}<br>{}</p>",
        escape(&result.target),
        escape(&result.target_version),
        date(result.started_at),
        escape(&result.load)
    );
    for reason in &result.invalid_because {
        body += &format!("<p class=\"bad\">These figures say nothing about the target: {}.</p>", escape(reason));
    }
    body += &verdicts(result);
    body += &findings(result);
    body += TIME;
    body += "<h2>Latency by percentile</h2><div id=\"curves\"></div><h2>Operations</h2>";
    body += &table::html(OPERATIONS, &operations(result));
    body += &late(result).map(|late| format!("<p>{}</p>", escape(&late))).unwrap_or_default();
    body += &missing(result);
    for (title, all) in [("Servers", &result.servers), ("Agents", &result.agents)] {
        if !all.is_empty() {
            body += &format!("<h2>{title}</h2>{}", table::html(PARTS, &parts(all)));
        }
    }
    if !result.faults.is_empty() {
        let rows: Vec<Vec<String>> = result
            .faults
            .iter()
            .map(|fault| vec![fault.operation.clone(), kind(fault), fault.count.to_string(), fault.first.clone()])
            .collect();
        body += "<h2>Faults</h2>";
        body += &table::html(&["operation", "kind", "count", "first message"], &rows);
    }
    if !result.monitors.is_empty() {
        body += "<h2>Monitors</h2><div id=\"monitors\"></div>";
    }
    let rows: Vec<Vec<String>> = facts(result).into_iter().map(|(name, value)| vec![name, value]).collect();
    body += "<h2>Environment</h2>";
    body += &table::html(&["what", "value"], &rows);
    body += &format!("<details><summary>The plan</summary><pre>{}</pre></details>", escape(&result.plan_text));
    let data = in_script(&data(result).to_string());
    let data = format!("<script id=\"data\" type=\"application/json\">{data}</script>");
    page(&result.label, &body, &data, SCRIPT)
}

/// Builds the page that follows a run in progress.
pub fn live_page(title: &str) -> String {
    let body = format!("<h1>{}</h1><p id=\"state\" role=\"status\"></p><ul id=\"said\"></ul>{TIME}", escape(title));
    page(title, &body, "", LIVE)
}

fn page(title: &str, body: &str, data: &str, script: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width, initial-scale=1\"><meta name=\"color-scheme\" content=\"light dark\">\
         <title>{}</title><style>{UPLOT_STYLE}{STYLE}</style></head><body><main>{body}</main>\
         <script>{UPLOT}</script>{data}<script>{CHART}</script><script>{script}</script></body></html>\n",
        escape(title)
    )
}

fn verdicts(result: &RunResult) -> String {
    let mut text = String::new();
    for verdict in &result.thresholds {
        let (class, word) = if verdict.passed { ("good", "holds") } else { ("bad", "failed") };
        text += &format!("<li class=\"{class}\">{} {word} ({})</li>", escape(&verdict.threshold), measured(verdict));
    }
    if text.is_empty() { text } else { format!("<h2>Thresholds</h2><ul>{text}</ul>") }
}

fn findings(result: &RunResult) -> String {
    let items: String = result
        .findings
        .iter()
        .map(|finding| {
            let operation = finding.operation.as_ref().map(|of| format!(" (most of all: {})", escape(of)));
            format!("<li class=\"bad\">{}{}</li>", escape(&finding.text), operation.unwrap_or_default())
        })
        .collect();
    let items = if items.is_empty() { "<li class=\"good\">Nothing.</li>".to_owned() } else { items };
    format!("<h2>What stands out</h2><ul>{items}</ul>")
}

fn missing(result: &RunResult) -> String {
    if result.missing.is_empty() {
        return String::new();
    }
    let share: f64 = result.missing.iter().map(|missing| missing.share).sum();
    let items: String = result
        .missing
        .iter()
        .map(|of| format!("<li>{} ({:.1} %): needs {}</li>", escape(&of.label), of.share * 100.0, escape(&of.needs)))
        .collect();
    format!(
        "<p class=\"bad\">Partial: {:.1} % of the mix is not offered by the target; the rest was scaled \
         up.</p><ul>{items}</ul>",
        share * 100.0
    )
}

/// Returns the data of the charts.
fn data(result: &RunResult) -> serde_json::Value {
    let column = |of: &dyn Fn(&crate::measure::Window) -> f64| result.windows.iter().map(of).collect::<Vec<f64>>();
    let operations = result.operations.iter().enumerate().filter(|(_, operation)| operation.done > 0);
    let of_operations: Vec<_> = operations
        .clone()
        .map(|(at, operation)| {
            let values: Vec<Option<f64>> = result
                .windows
                .iter()
                .map(|window| window.operations.iter().find(|of| of.operation == at && of.done > 0).map(|of| of.p95))
                .collect();
            json!({ "label": operation.label, "values": values })
        })
        .collect();
    let curves: Vec<_> = operations
        .map(|(_, operation)| {
            let values: Vec<f64> = CURVE.iter().map(|percent| operation.latency.percentile(*percent)).collect();
            json!({ "label": operation.label, "values": values })
        })
        .collect();
    let monitors: Vec<_> = result
        .monitors
        .iter()
        .map(|series| json!({ "name": series.name, "unit": unit(&series.name), "points": series.points }))
        .collect();
    json!({
        "seconds": column(&|window| window.second as f64),
        "counted": result.windows.iter().map(|window| window.counted).collect::<Vec<_>>(),
        "level": column(&|window| window.level),
        "done": column(&|window| window.done as f64),
        "failed": column(&|window| window.failed as f64),
        "p50": column(&|window| window.p50),
        "p95": column(&|window| window.p95),
        "p99": column(&|window| window.p99),
        "max": column(&|window| window.max),
        "sent": column(&|window| window.sent as f64),
        "received": column(&|window| window.received as f64),
        "generator": column(&|window| window.generator * 100.0),
        "operations": of_operations,
        "percents": CURVE,
        "curves": curves,
        "monitors": monitors,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::{Distribution, Window};
    use crate::monitor::Series;
    use crate::result::{OperationResult, sample};

    /// Returns the data that the page's script reads.
    fn data_of(page: &str) -> serde_json::Value {
        let from = page.split_once("<script id=\"data\" type=\"application/json\">").unwrap().1;
        serde_json::from_str(from.split_once("</script>").unwrap().0).unwrap()
    }

    #[test]
    fn a_label_takes_no_chart_away() {
        let label = "<!--<script>";
        let mut latency = Distribution::default();
        latency.record(std::time::Duration::from_millis(3));
        let operation = OperationResult { label: label.to_owned(), done: 1, latency, ..OperationResult::default() };
        let page = html(&RunResult { label: label.to_owned(), operations: vec![operation], ..sample() });
        assert!(!page.contains("<!--"), "nothing in the page begins a comment");
        assert_eq!(data_of(&page)["operations"][0]["label"], label);
        assert_eq!(data_of(&page)["curves"][0]["values"].as_array().map(Vec::len), Some(CURVE.len()));
    }

    #[test]
    fn curves_know_their_units_and_which_seconds_count() {
        let monitor = Series { name: "machine: memory in use, bytes".to_owned(), points: vec![(0.5, 7e9)] };
        let window = |second| Window { second, counted: second > 0, sent: 1_500_000, ..Window::default() };
        let page = html(&RunResult { monitors: vec![monitor], windows: vec![window(0), window(1)], ..sample() });
        let data = data_of(&page);
        assert_eq!(data["monitors"][0]["unit"], "B");
        assert_eq!(data["counted"], json!([false, true]));
        assert_eq!(data["sent"][0], 1_500_000.0);
    }

    #[test]
    fn the_head_says_what_was_asked_of_which_version() {
        let load = "closed model, 2 users without pauses; 5 s counted".to_owned();
        let mut result = RunResult { target: "http://a".to_owned(), load: load.clone(), ..sample() };
        assert!(html(&result).contains(&format!("http://a, 1970-01-01 00:00 UTC<br>{load}</p>")));
        result.target_version = "0.9.1".to_owned();
        assert!(html(&result).contains("http://a, version 0.9.1, 1970"));
    }
}

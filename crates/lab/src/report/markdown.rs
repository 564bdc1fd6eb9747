//! The report as Markdown, for pasting into other texts.

use super::table;
use super::text::markdown as line;
use super::watched::{WATCHED, watched, with_unit};
use crate::numbers::{bytes, milliseconds, number};
use crate::plan::{Figure, Threshold, Verdict};
use crate::result::{OperationResult, PartResult, RunResult};

/// Share of operations that ended after the counted time, above which their effect is visible.
const MANY_LATE: f64 = 0.005;

/// Headings of the table of operations.
pub const OPERATIONS: &[&str] =
    &["operation", "share", "done", "failed", "per second", "mean", "p50", "p95", "p99", "p99.9", "longest"];

/// Rows of the table of operations, with the total last.
pub fn operations(result: &RunResult) -> Vec<Vec<String>> {
    let all = result.operations.iter().chain([&result.total]);
    all.map(row).collect()
}

fn row(operation: &OperationResult) -> Vec<String> {
    let mut cells = vec![
        operation.label.clone(),
        format!("{} %", number(operation.share * 100.0)),
        operation.done.to_string(),
        operation.failed.to_string(),
        number(operation.rate),
    ];
    let times = [operation.mean, operation.p50, operation.p95, operation.p99, operation.p999, operation.max];
    cells.extend(times.into_iter().map(|time| if operation.done == 0 { "-".to_owned() } else { milliseconds(time) }));
    cells
}

/// Headings of the tables of servers and of agents.
pub const PARTS: &[&str] = &["address", "users", "done", "failed", "per second", "p50", "p95", "p99"];

/// Rows of the table of servers or of agents.
pub fn parts(parts: &[PartResult]) -> Vec<Vec<String>> {
    let row = |part: &PartResult| {
        let mut cells = vec![
            part.name.clone(),
            part.users.to_string(),
            part.done.to_string(),
            part.failed.to_string(),
            number(part.rate),
        ];
        cells.extend([part.p50, part.p95, part.p99].map(milliseconds));
        cells
    };
    parts.iter().map(row).collect()
}

/// Explains why "done" and "each second" do not agree, if a considerable share of the operations ended after the
/// counted time.
pub fn late(result: &RunResult) -> Option<String> {
    let in_time: u64 = result.windows.iter().filter(|window| window.counted).map(|window| window.done).sum();
    let late = result.total.done.saturating_sub(in_time);
    (late as f64 > result.total.done as f64 * MANY_LATE).then(|| {
        format!(
            "{late} operations began in the counted time and ended after it: \"done\" and the latencies include them, \
             but \"per second\" does not, so it is not \"done\" divided by the seconds."
        )
    })
}

/// Formats the measured value of a threshold, with its unit.
pub fn measured(verdict: &Verdict) -> String {
    let Some(value) = verdict.measured else { return "nothing measured".to_owned() };
    let value = match Threshold::parse(&verdict.threshold).map(|threshold| threshold.figure) {
        Ok(Figure::Errors) => with_unit(value * 100.0, "%"),
        Ok(Figure::Rate) => with_unit(value, "/s"),
        Ok(Figure::Percentile(_) | Figure::Mean | Figure::Maximum) => milliseconds(value),
        Err(_) => number(value),
    };
    format!("measured: {value}")
}

/// Returns facts about the run: where and how it was measured.
pub fn facts(result: &RunResult) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let generator = &result.generator;
    let mut facts = vec![
        fact("Target", result.target.clone()),
        fact("Version of the target", result.target_version.clone()),
        fact("Load", result.load.clone()),
        fact("Began", date(result.started_at)),
        fact("Counted", format!("{} s", result.seconds)),
        fact("Corpus", format!("{} documents, {}", result.corpus.documents, bytes(result.corpus.bytes as f64))),
        fact("Loaded", loaded(result)),
        fact("Full crawl", crawled(result)),
        fact(
            "Machine of the generator",
            format!("{}, {} of memory", result.environment.processor, bytes(result.environment.memory as f64)),
        ),
        fact("System", result.environment.system.clone()),
        fact("Lab", format!("version {}", result.environment.version)),
        fact(
            "Generator",
            format!(
                "{} threads, {:.0} % busy, {} requests per second of processor time, timers {} late (p99)",
                generator.threads,
                generator.busy * 100.0,
                number(generator.requests_per_cpu_second),
                milliseconds(generator.lag)
            ),
        ),
        fact(
            "Wire",
            format!(
                "{} requests, {} sent, {} received",
                result.total.requests,
                bytes(result.total.sent as f64),
                bytes(result.total.received as f64)
            ),
        ),
    ];
    // Results of older versions lack the load, and not every target reports its version.
    facts.retain(|(_, value)| !value.is_empty());
    facts
}

fn loaded(result: &RunResult) -> String {
    let loaded = result.corpus.loaded;
    if loaded.documents == 0 {
        return "already there".to_owned();
    }
    let seconds = loaded.seconds.max(0.001);
    format!(
        "{} documents in {} s: {} per second, {}/s",
        loaded.documents,
        number(seconds),
        number(loaded.documents as f64 / seconds),
        bytes(loaded.bytes as f64 / seconds)
    )
}

/// Describes the full crawl after the load; empty if the plan has none.
fn crawled(result: &RunResult) -> String {
    let Some(crawl) = &result.crawl else { return String::new() };
    let Some(rate) = crawl.rate() else {
        return format!("not measured: {}", crawl.problem.as_deref().unwrap_or("it took no time"));
    };
    format!(
        "{} documents ({} without a readable text), {}, in {} s: {} per second",
        crawl.documents,
        crawl.unreadable,
        bytes(crawl.bytes as f64),
        number(crawl.seconds),
        number(rate)
    )
}

/// Formats the report.
pub fn markdown(result: &RunResult) -> String {
    let mut text = format!("# {}\n\n{}\n\n", line(&result.label), line(&result.description));
    for reason in &result.invalid_because {
        text += &format!("**These figures say nothing about the target: {}.**\n\n", line(reason));
    }
    for (name, value) in facts(result) {
        text += &format!("- {name}: {}\n", line(&value));
    }
    text += "\n## Operations\n\n";
    text += &table::markdown(OPERATIONS, &operations(result));
    text += &late(result).map(|late| format!("\n{late}\n")).unwrap_or_default();
    for (title, all) in [("Servers", &result.servers), ("Agents", &result.agents)] {
        if !all.is_empty() {
            text += &format!("\n## {title}\n\n");
            text += &table::markdown(PARTS, &parts(all));
        }
    }
    if !result.missing.is_empty() {
        let share: f64 = result.missing.iter().map(|missing| missing.share).sum();
        text += &format!(
            "\n**Partial:** {} % of the mix is not offered by the target; the rest was scaled up.\n\n",
            number(share * 100.0)
        );
        for missing in &result.missing {
            let share = number(missing.share * 100.0);
            text += &format!("- {} ({share} %): needs {}\n", line(&missing.label), line(&missing.needs));
        }
    }
    if !result.thresholds.is_empty() {
        text += "\n## Thresholds\n\n";
        for verdict in &result.thresholds {
            let word = if verdict.passed { "holds" } else { "FAILED" };
            text += &format!("- {word}: {} ({})\n", line(&verdict.threshold), measured(verdict));
        }
    }
    text += "\n## What stands out\n\n";
    if result.findings.is_empty() {
        text += "Nothing.\n";
    }
    for finding in &result.findings {
        let operation = finding.operation.as_ref().map(|of| format!(" (most of all: {})", line(of)));
        text += &format!("- {}{}\n", line(&finding.text), operation.unwrap_or_default());
    }
    if !result.faults.is_empty() {
        text += "\n## Faults\n\n";
        let rows = result
            .faults
            .iter()
            .map(|fault| vec![fault.operation.clone(), kind(fault), fault.count.to_string(), fault.first.clone()]);
        text += &table::markdown(&["operation", "kind", "count", "first message"], &rows.collect::<Vec<_>>());
    }
    let watched = watched(result);
    if !watched.is_empty() {
        text += "\n## Monitors, over the counted time\n\n";
        text += &table::markdown(WATCHED, &watched);
    }
    text
}

/// Returns the kind of a fault as a word.
pub fn kind(fault: &crate::result::FaultResult) -> String {
    format!("{:?}", fault.kind).to_lowercase()
}

/// Formats a time in UTC.
pub fn date(seconds: u64) -> String {
    // Converts days to a civil date, after Howard Hinnant's description of the civil calendar.
    let days = seconds / 86_400 + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (seconds % 86_400 / 3600, seconds % 3600 / 60);
    format!("{year}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measure::Window;
    use crate::result::{FaultResult, sample};
    use crate::wire::FaultKind;

    fn operation(label: &str, done: u64) -> OperationResult {
        OperationResult { label: label.to_owned(), done, ..OperationResult::default() }
    }

    #[test]
    fn what_others_wrote_neither_breaks_tables_nor_moves_a_terminal() {
        let hostile = "a\u{1b}[2J|b\n<img src=x>`";
        let text = markdown(&RunResult {
            label: hostile.to_owned(),
            description: hostile.to_owned(),
            target: hostile.to_owned(),
            operations: vec![operation(hostile, 1)],
            missing: vec![crate::engine::MissingShare {
                label: hostile.to_owned(),
                share: 1e300,
                needs: hostile.to_owned(),
            }],
            faults: vec![FaultResult {
                operation: hostile.to_owned(),
                kind: FaultKind::Status,
                count: 1,
                first: hostile.to_owned(),
            }],
            thresholds: vec![Verdict { threshold: hostile.to_owned(), measured: None, passed: false }],
            findings: vec![crate::result::Finding {
                trouble: crate::result::Problem::Stall,
                text: hostile.to_owned(),
                operation: Some(hostile.to_owned()),
                seconds: None,
            }],
            invalid_because: vec![hostile.to_owned()],
            ..sample()
        });
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        let shown = "a\u{fffd}\\[2J\\|b \\<img src=x>\\`";
        assert_eq!(text.matches("a\u{fffd}").count(), text.matches(shown).count(), "{text}");
        assert_eq!(text.matches(shown).count(), 12, "{text}");
        assert!(text.len() < 4_000, "{text}");
    }

    #[test]
    fn the_head_says_what_was_asked_of_which_version() {
        let mut result = sample();
        let text = markdown(&result);
        assert!(!text.contains("- Load:"), "{text}");
        assert!(!text.contains("- Version of"), "{text}");
        result.load = "closed model, 2 users without pauses; 5 s counted".to_owned();
        result.target_version = "0.9.1".to_owned();
        let text = markdown(&result);
        assert!(text.contains("- Load: closed model, 2 users without pauses; 5 s counted\n"), "{text}");
        assert!(text.contains("- Version of the target: 0.9.1\n"), "{text}");
    }

    #[test]
    fn operations_that_ended_too_late_are_told_when_they_are_many() {
        let window = Window { counted: true, done: 990, ..Window::default() };
        let before = Window { done: 100, ..Window::default() };
        let mut result = RunResult { total: operation("all", 1000), windows: vec![before, window], ..sample() };
        let said = late(&result).unwrap();
        assert!(said.starts_with("10 operations"), "{said}");
        assert!(markdown(&result).contains(&said), "{said}");
        result.windows[1].done = 996;
        assert_eq!(late(&result), None);
    }

    #[test]
    fn what_was_measured_for_a_threshold_has_its_unit() {
        let verdict = |threshold: &str, measured| {
            super::measured(&Verdict { threshold: threshold.to_owned(), measured, passed: true })
        };
        assert_eq!(verdict("download p95 < 500ms", Some(1.1)), "measured: 1.10 ms");
        assert_eq!(verdict("errors < 0.1%", Some(0.0005)), "measured: 0.05 %");
        assert_eq!(verdict("rate > 100", Some(250.0)), "measured: 250/s");
        assert_eq!(verdict("max < 1s", None), "nothing measured");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_709_209_800), "2024-02-29 12:30 UTC");
        assert_eq!(date(1_767_225_540), "2025-12-31 23:59 UTC");
    }
}

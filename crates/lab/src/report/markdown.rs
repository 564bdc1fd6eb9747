//! The report as Markdown: what people paste.

use super::table::{self, bytes, milliseconds, number};
use crate::result::{OperationResult, PartResult, RunResult};

/// Headings of the table of operations.
pub const OPERATIONS: &[&str] =
    &["operation", "share", "done", "failed", "each second", "mean", "p50", "p95", "p99", "p99.9", "longest"];

/// Rows of the table of operations, all together last.
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
pub const PARTS: &[&str] = &["address", "users", "done", "failed", "each second", "p50", "p95", "p99"];

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

/// Lines that say where and how it was measured.
pub fn facts(result: &RunResult) -> Vec<(String, String)> {
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let generator = &result.generator;
    vec![
        fact("Target", result.target.clone()),
        fact("Began", date(result.started_at)),
        fact("Counted", format!("{} s", result.seconds)),
        fact("Corpus", format!("{} documents, {}", result.corpus.documents, bytes(result.corpus.bytes as f64))),
        fact("Loaded", loaded(result)),
        fact(
            "Machine of the generator",
            format!("{}, {} of memory", result.environment.processor, bytes(result.environment.memory as f64)),
        ),
        fact("System", result.environment.system.clone()),
        fact("Lab", format!("version {}", result.environment.version)),
        fact(
            "Generator",
            format!(
                "{} threads, {:.0} % busy, {} requests for each second of processor time, timers {} late (p99)",
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
    ]
}

fn loaded(result: &RunResult) -> String {
    let loaded = result.corpus.loaded;
    if loaded.documents == 0 {
        return "it was there already".to_owned();
    }
    let seconds = loaded.seconds.max(0.001);
    format!(
        "{} documents in {} s: {} each second, {}/s",
        loaded.documents,
        number(seconds),
        number(loaded.documents as f64 / seconds),
        bytes(loaded.bytes as f64 / seconds)
    )
}

/// The report.
pub fn markdown(result: &RunResult) -> String {
    let mut text = format!("# {}\n\n{}\n\n", result.label, result.description);
    for reason in &result.invalid_because {
        text += &format!("**These figures say nothing about the target: {reason}.**\n\n");
    }
    for (name, value) in facts(result) {
        text += &format!("- {name}: {value}\n");
    }
    text += "\n## Operations\n\n";
    text += &table::markdown(OPERATIONS, &operations(result));
    for (title, all) in [("Servers", &result.servers), ("Agents", &result.agents)] {
        if !all.is_empty() {
            text += &format!("\n## {title}\n\n");
            text += &table::markdown(PARTS, &parts(all));
        }
    }
    if !result.missing.is_empty() {
        let share: f64 = result.missing.iter().map(|missing| missing.share).sum();
        text += &format!(
            "\n**Partial:** {:.1} % of the mix is not offered by the target; the rest was scaled up.\n\n",
            share * 100.0
        );
        for missing in &result.missing {
            text += &format!("- {} ({:.1} %): needs {}\n", missing.label, missing.share * 100.0, missing.needs);
        }
    }
    if !result.thresholds.is_empty() {
        text += "\n## Thresholds\n\n";
        for verdict in &result.thresholds {
            let measured = verdict.measured.map_or("nothing measured".to_owned(), number);
            let word = if verdict.passed { "holds" } else { "FAILED" };
            text += &format!("- {word}: {} (measured: {measured})\n", verdict.threshold);
        }
    }
    text += "\n## What stands out\n\n";
    if result.findings.is_empty() {
        text += "Nothing.\n";
    }
    for finding in &result.findings {
        let operation = finding.operation.as_ref().map(|of| format!(" (most of all: {of})")).unwrap_or_default();
        text += &format!("- {}{operation}\n", finding.text);
    }
    if !result.faults.is_empty() {
        text += "\n## Faults\n\n";
        let rows = result
            .faults
            .iter()
            .map(|fault| vec![fault.operation.clone(), kind(fault), fault.count.to_string(), fault.first.clone()]);
        text += &table::markdown(&["operation", "kind", "how many", "the first said"], &rows.collect::<Vec<_>>());
    }
    text
}

/// The kind of a fault as a word.
pub fn kind(fault: &crate::result::FaultResult) -> String {
    format!("{:?}", fault.kind).to_lowercase()
}

/// A time in UTC.
pub fn date(seconds: u64) -> String {
    // Days to a date, after Howard Hinnant's description of the civil calendar.
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

    #[test]
    fn dates_are_those_of_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_709_209_800), "2024-02-29 12:30 UTC");
        assert_eq!(date(1_767_225_540), "2025-12-31 23:59 UTC");
    }
}

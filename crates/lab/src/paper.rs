//! Papers whose workloads the plans reproduce. Their figures are compared with ours as ratios, because machines differ
//! and ratios differ less.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::report::{number, table_of, while_counted};
use crate::result::{OperationResult, RunResult};
use crate::stats::mean;

const PAPERS: &[(&str, &str)] = &[
    ("rbs-2010", include_str!("../papers/rbs-2010.toml")),
    ("ebs-2007", include_str!("../papers/ebs-2007.toml")),
    ("rbs-2010-sp1", include_str!("../papers/rbs-2010-sp1.toml")),
    ("dms-2012", include_str!("../papers/dms-2012.toml")),
    ("web-tuning", include_str!("../papers/web-tuning.toml")),
];

/// A paper: the plans that reproduce it, and the figures that it reports.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Name.
    pub name: String,
    /// Subject.
    pub title: String,
    /// Names of the plans that reproduce the paper, in order.
    pub phases: Vec<String>,
    /// Parts of the paper that are not reproduced here.
    unmeasured: Vec<String>,
    #[serde(default)]
    tables: Vec<Table>,
}

/// A table of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    /// Plan whose results are shown beside the table.
    phase: String,
    rows: Vec<Row>,
}

/// A row: its label, the corresponding figure of ours, and the paper's values.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
enum Row {
    /// Values with documents in the database, and with external documents.
    Both(String, String, f64, f64),
    /// Value with documents in the database only.
    One(String, String, f64),
    /// No value, but an expectation.
    Expected(String, String, Expectation),
}

/// Statement of a paper about a figure without a value.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
enum Expectation {
    /// External is higher than in the database.
    Higher,
    /// External is lower than in the database.
    Lower,
    /// Both are about the same.
    Equal,
    /// Both are below this value.
    Below(f64),
}

/// Relative difference up to which two figures count as about the same.
const ABOUT: f64 = 0.15;

impl TryFrom<String> for Expectation {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Self, String> {
        match text.as_str() {
            "higher" => Ok(Self::Higher),
            "lower" => Ok(Self::Lower),
            "equal" => Ok(Self::Equal),
            other => {
                let bound = other.strip_prefix("below ").and_then(|number| number.parse().ok());
                bound.map(Self::Below).ok_or_else(|| {
                    format!("\"{other}\" is not an expectation: write higher, lower, equal or below and a number")
                })
            }
        }
    }
}

impl Expectation {
    fn words(&self) -> String {
        match self {
            Self::Higher => "above 1".to_owned(),
            Self::Lower => "below 1".to_owned(),
            Self::Equal => "about 1".to_owned(),
            Self::Below(bound) => format!("below {}", number(*bound)),
        }
    }

    /// Returns whether our figures meet the expectation; `None` if a figure is missing.
    fn holds(&self, internal: Option<f64>, external: Option<f64>) -> Option<bool> {
        let (internal, external) = (internal?, external?);
        Some(match self {
            Self::Below(bound) => internal < *bound && external < *bound,
            _ if internal <= 0.0 => return None,
            Self::Higher => external > internal,
            Self::Lower => external < internal,
            Self::Equal => (external / internal - 1.0).abs() < ABOUT,
        })
    }
}

impl Row {
    fn name(&self) -> &str {
        let (Self::Both(name, ..) | Self::One(name, ..) | Self::Expected(name, ..)) = self;
        name
    }

    fn figure(&self) -> &str {
        let (Self::Both(_, figure, ..) | Self::One(_, figure, _) | Self::Expected(_, figure, _)) = self;
        figure
    }

    /// Returns the paper's values: in the database, external, and their ratio.
    fn paper(&self) -> [String; 3] {
        let none = || "-".to_owned();
        match self {
            Self::Both(_, _, a, b) => [number(*a), number(*b), ratio(Some(*a), Some(*b))],
            Self::One(_, _, a) => [number(*a), none(), none()],
            Self::Expected(_, _, expected @ Expectation::Below(_)) => [expected.words(), none(), none()],
            Self::Expected(_, _, expected) => [none(), none(), expected.words()],
        }
    }
}

/// The result of a configuration in a phase, and the disk space that its documents take afterwards.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Measured result.
    pub result: RunResult,
    /// Bytes of the content database, including its log if the database has its own.
    pub database: u64,
    /// Bytes of the BLOB store.
    pub store: u64,
}

/// Names of all papers.
pub fn names() -> Vec<&'static str> {
    PAPERS.iter().map(|(name, _)| *name).collect()
}

impl Paper {
    /// Returns the paper with the given name.
    ///
    /// # Errors
    /// If there is no such paper; the message lists the names.
    pub fn find(name: &str) -> Result<Self> {
        let text = PAPERS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        let none = || Error::new(format!("there is no paper \"{name}\": there are {}", names().join(", ")));
        toml::from_str(text.ok_or_else(none)?).map_err(|error| Error::new(format!("the paper {name}: {error}")))
    }

    /// Formats the paper's tables with our figures beside them, as Markdown. `internal` holds the phases with documents
    /// in the database, `external` those with documents outside.
    pub fn tables(&self, scale: f64, engine: &str, internal: &[Phase], external: &[Phase]) -> String {
        let mut text =
            format!("# {}: {}\n\nCorpus at a scale of {scale}, databases on {engine}.\n\n", self.name, self.title);
        for (what, configuration) in [("in the database", internal), ("external", external)] {
            for result in configuration.iter().map(|phase| &phase.result) {
                for reason in &result.invalid_because {
                    text += &format!(
                        "**{} {what}: these figures say nothing about the target: {reason}.**\n\n",
                        result.plan
                    );
                }
            }
        }
        for table in &self.tables {
            text += &format!("## {}\n\n", table.title);
            let rows: Vec<Vec<String>> =
                table.rows.iter().map(|row| line(row, &table.phase, internal, external)).collect();
            let heading = [
                "figure",
                "paper: in database",
                "paper: external",
                "ratio",
                "here: in database",
                "here: external",
                "ratio",
            ];
            text += &table_of(&heading, &rows);
            text.push('\n');
        }
        text += "## All operations here\n\n";
        text += &ours(internal, external);
        text += &self.remarks(internal);
        text
    }

    fn remarks(&self, phases: &[Phase]) -> String {
        let mut text = String::new();
        for result in phases.iter().map(|phase| &phase.result).filter(|result| !result.missing.is_empty()) {
            let share: f64 = result.missing.iter().map(|missing| missing.share).sum();
            let names: Vec<String> = result
                .missing
                .iter()
                .map(|of| format!("{} ({:.1} %, needs {})", of.label, of.share * 100.0, of.needs))
                .collect();
            text += &format!(
                "\n**{} is partial:** {:.1} % of its mix is not offered, the rest was scaled up: {}.\n",
                result.plan,
                share * 100.0,
                names.join(", ")
            );
        }
        if !self.unmeasured.is_empty() {
            text += &format!("\nNot reproduced here: {}.\n", self.unmeasured.join("; "));
        }
        text
    }
}

fn line(row: &Row, phase: &str, internal: &[Phase], external: &[Phase]) -> Vec<String> {
    let figure = row.figure();
    let (a, b) = (measured(internal, phase, figure), measured(external, phase, figure));
    let label = figure.split_once(':').map_or("", |(_, label)| label);
    let missing = internal.iter().flat_map(|phase| &phase.result.missing).any(|missing| missing.label == label);
    let none = if missing { "not offered" } else { "none done" };
    let none = match figure {
        _ if figure.starts_with("monitor:") => "not seen",
        _ if figure.starts_with("crawl-") => "not measured",
        _ => none,
    };
    let show = |value: Option<f64>| value.map_or(none.to_owned(), number);
    let verdict = match row {
        Row::Expected(_, _, expected) => match expected.holds(a, b) {
            Some(true) => ", as in the paper",
            Some(false) => ", not as in the paper",
            None => "",
        },
        _ => "",
    };
    let mut cells = vec![row.name().to_owned()];
    cells.extend(row.paper());
    cells.extend([show(a), show(b), ratio(a, b) + verdict]);
    cells
}

/// Returns the ratio of the external value to the value in the database.
fn ratio(internal: Option<f64>, external: Option<f64>) -> String {
    match (internal, external) {
        (Some(internal), Some(external)) if internal > 0.0 => number(external / internal),
        _ => "-".to_owned(),
    }
}

fn measured(phases: &[Phase], phase: &str, figure: &str) -> Option<f64> {
    let (what, label) = figure.split_once(':')?;
    let of = phases.iter().find(|of| of.result.plan == phase)?;
    let result = &of.result;
    match what {
        "database-gb" => return Some(of.database as f64 / 1e9),
        "store-gb" => return Some(of.store as f64 / 1e9),
        "monitor" => return watched(result, label),
        "peak-rate" => return Some(peak_rate(result)),
        "crawl-documents" | "crawl-min" | "crawl-rate" => return crawled(result, what),
        _ => {}
    }
    let operation: &OperationResult = if label == "all" {
        &result.total
    } else {
        result.operations.iter().find(|operation| operation.label == label)?
    };
    match what {
        "failed" => Some(operation.failed as f64),
        "rate" => Some(operation.rate),
        "requests" => Some(operation.requests as f64 / result.seconds.max(1) as f64),
        _ if operation.done == 0 => None,
        "mean" => Some(operation.mean / 1000.0),
        "mean-ms" => Some(operation.mean),
        _ => None,
    }
}

/// Returns the mean of a monitored figure in the counted time.
fn watched(result: &RunResult, name: &str) -> Option<f64> {
    let series = result.monitors.iter().find(|series| series.name == name)?;
    let values = while_counted(result, series);
    (!values.is_empty()).then(|| mean(&values))
}

/// Returns a figure of the full crawl; `None` if it was not measured.
fn crawled(result: &RunResult, what: &str) -> Option<f64> {
    let crawl = result.crawl.as_ref()?;
    let rate = crawl.rate()?;
    Some(match what {
        "crawl-documents" => crawl.documents as f64,
        "crawl-min" => crawl.seconds / 60.0,
        _ => rate,
    })
}

/// Returns the operations per second while the load was highest.
fn peak_rate(result: &RunResult) -> f64 {
    let counted = || result.windows.iter().filter(|window| window.counted);
    let highest = counted().map(|window| window.level).fold(0.0, f64::max);
    let rates: Vec<f64> = counted().filter(|window| window.level >= highest).map(|window| window.done as f64).collect();
    mean(&rates)
}

fn ours(internal: &[Phase], external: &[Phase]) -> String {
    let mut rows = Vec::new();
    for (a, b) in internal.iter().zip(external).map(|(a, b)| (&a.result, &b.result)) {
        for (x, y) in a.operations.iter().chain([&a.total]).zip(b.operations.iter().chain([&b.total])) {
            rows.push(vec![
                a.plan.clone(),
                x.label.clone(),
                number(x.rate),
                number(y.rate),
                ratio(Some(x.rate), Some(y.rate)),
                number(x.mean),
                number(y.mean),
                ratio(Some(x.mean), Some(y.mean)),
                format!("{} / {}", x.failed, y.failed),
            ]);
        }
    }
    let heading = [
        "plan",
        "operation",
        "each second: in database",
        "external",
        "ratio",
        "mean ms: in database",
        "external",
        "ratio",
        "failed",
    ];
    table_of(&heading, &rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, shipped};
    use crate::result::CrawlResult;

    #[test]
    fn every_paper_stands_on_plans_that_know_what_its_tables_name() {
        for name in names() {
            let paper = Paper::find(name).unwrap();
            assert_eq!(paper.name, name);
            for phase in &paper.phases {
                let plan = Plan::parse(shipped(phase).unwrap()).unwrap();
                for table in paper.tables.iter().filter(|table| table.phase == *phase) {
                    for row in &table.rows {
                        let (what, label) = row.figure().split_once(':').unwrap();
                        let known = what == "monitor" && !plan.monitors.is_empty()
                            || label == "all"
                            || plan.mix.iter().any(|share| share.label() == label);
                        assert!(known, "{name}: {}: {label}", row.name());
                    }
                }
            }
            assert!(paper.tables.iter().all(|table| paper.phases.contains(&table.phase)));
        }
    }

    #[test]
    fn a_full_crawl_is_held_against_that_of_the_paper() {
        let with = |crawl: CrawlResult| {
            let result = RunResult { plan: "rbs-2010".to_owned(), crawl: Some(crawl), ..crate::result::sample() };
            vec![Phase { result, database: 0, store: 0 }]
        };
        let crawl = |seconds| CrawlResult { documents: 600, seconds, ..CrawlResult::default() };
        let failed = CrawlResult::failed("refused");
        let paper = Paper::find("rbs-2010").unwrap();
        let text = paper.tables(1.0, "SQLite", &with(crawl(6.0)), &with(crawl(3.0)));
        assert!(text.contains("| objects/s | 55.9 | 57.4 | 1.03 | 100 | 200 | 2.00 |"), "{text}");
        let text = paper.tables(1.0, "SQLite", &with(crawl(6.0)), &with(failed));
        assert!(text.contains("| objects/s | 55.9 | 57.4 | 1.03 | 100 | not measured | - |"), "{text}");
    }

    #[test]
    fn what_a_paper_says_without_a_figure_is_held_against_ours() {
        let with = |mean: f64, busy: f64| {
            let latency =
                OperationResult { label: "read 1 MB".to_owned(), done: 1, mean, ..OperationResult::default() };
            let window = |second| crate::measure::Window { second, counted: true, done: 7, ..Default::default() };
            let series = |name: &str, value| crate::monitor::Series {
                name: name.to_owned(),
                points: vec![(0.0, value), (1.0, value), (9.0, 1e9)],
            };
            let result = RunResult {
                plan: "rbs-2010-sp1".to_owned(),
                seconds: 2,
                operations: vec![latency],
                windows: vec![window(0), window(1)],
                monitors: vec![series("machine: processors, %", busy)],
                ..crate::result::sample()
            };
            vec![Phase { result, database: 0, store: 0 }]
        };
        let text = Paper::find("rbs-2010-sp1").unwrap().tables(1.0, "SQLite", &with(2000.0, 80.0), &with(1000.0, 90.0));
        assert!(text.contains("| read 1 MB, s | - | - | below 1 | 2.00 | 1.00 | 0.50, as in the paper |"), "{text}");
        assert!(text.contains("| - | - | below 1 | 80.0 | 90.0 | 1.12, not as in the paper |"), "{text}");
        let mut below = with(2000.0, 40.0);
        below[0].result.plan = "dms-2012-upload".to_owned();
        let text = Paper::find("dms-2012").unwrap().tables(1.0, "SQLite", &below, &below);
        assert!(
            text.contains("| processors, % | below 50.0 | - | - | 40.0 | 40.0 | 1.00, as in the paper |"),
            "{text}"
        );
        assert!(text.contains("| requests/s | 116 | - | - | 0 | 0 | - |"), "{text}");
        assert!(text.contains("below 0.50 | - | - | not seen | not seen | - |"), "{text}");
    }
}

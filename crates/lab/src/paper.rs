//! The papers whose workloads the plans reproduce: their figures beside ours, in ratios, since machines differ and ratios less so.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::report::{number, table_of};
use crate::result::{OperationResult, RunResult};

const PAPERS: &[(&str, &str)] = &[
    ("rbs-2010", include_str!("../papers/rbs-2010.toml")),
    ("ebs-2007", include_str!("../papers/ebs-2007.toml")),
    ("rbs-2010-sp1", include_str!("../papers/rbs-2010-sp1.toml")),
    ("dms-2012", include_str!("../papers/dms-2012.toml")),
    ("web-tuning", include_str!("../papers/web-tuning.toml")),
];

/// A paper: which plans reproduce it, and what it reports.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Paper {
    /// Its name.
    pub name: String,
    /// What it is about.
    pub title: String,
    /// Names of the plans that reproduce it, one after the other.
    pub phases: Vec<String>,
    /// What of it is not reproduced here.
    unmeasured: Vec<String>,
    #[serde(default)]
    tables: Vec<Table>,
}

/// A table of a paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    title: String,
    /// The plan whose results stand beside it.
    phase: String,
    /// What it is called, which of our figures it is, in the database, external.
    rows: Vec<(String, String, f64, f64)>,
}

/// What a configuration did: results by phase, and what its documents take on disk.
#[derive(Clone, Debug, Default)]
pub struct Configuration {
    /// Results in the order of the phases.
    pub results: Vec<RunResult>,
    /// Bytes of the content database with its log.
    pub database: u64,
    /// Bytes of the store.
    pub store: u64,
}

/// Names of all papers.
pub fn names() -> Vec<&'static str> {
    PAPERS.iter().map(|(name, _)| *name).collect()
}

impl Paper {
    /// The paper of a name.
    ///
    /// # Errors
    /// The names that there are, when there is none of this name.
    pub fn find(name: &str) -> Result<Self> {
        let text = PAPERS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text);
        let none = || Error::new(format!("there is no paper \"{name}\": there are {}", names().join(", ")));
        toml::from_str(text.ok_or_else(none)?).map_err(|error| Error::new(format!("the paper {name}: {error}")))
    }

    /// The paper's tables with our figures beside, as Markdown.
    pub fn tables(&self, scale: f64, internal: &Configuration, external: &Configuration) -> String {
        let mut text = format!("# {}: {}\n\nCorpus at a scale of {scale}.\n\n", self.name, self.title);
        for (what, configuration) in [("in the database", internal), ("external", external)] {
            for result in &configuration.results {
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

    fn remarks(&self, configuration: &Configuration) -> String {
        let mut text = String::new();
        for result in configuration.results.iter().filter(|result| !result.missing.is_empty()) {
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

fn line(
    row: &(String, String, f64, f64),
    phase: &str,
    internal: &Configuration,
    external: &Configuration,
) -> Vec<String> {
    let (name, figure, paper_internal, paper_external) = row;
    let (a, b) = (measured(internal, phase, figure), measured(external, phase, figure));
    let label = figure.split_once(':').map_or("", |(_, label)| label);
    let missing = internal.results.iter().flat_map(|result| &result.missing).any(|missing| missing.label == label);
    let none = if missing { "not offered" } else { "none done" };
    let show = |value: Option<f64>| value.map_or(none.to_owned(), number);
    vec![
        name.clone(),
        number(*paper_internal),
        number(*paper_external),
        ratio(Some(*paper_internal), Some(*paper_external)),
        show(a),
        show(b),
        ratio(a, b),
    ]
}

/// External by in the database.
fn ratio(internal: Option<f64>, external: Option<f64>) -> String {
    match (internal, external) {
        (Some(internal), Some(external)) if internal > 0.0 => number(external / internal),
        _ => "-".to_owned(),
    }
}

fn measured(of: &Configuration, phase: &str, figure: &str) -> Option<f64> {
    let (what, label) = figure.split_once(':')?;
    match what {
        "database-gb" => return Some(of.database as f64 / 1e9),
        "store-gb" => return Some(of.store as f64 / 1e9),
        _ => {}
    }
    let result = of.results.iter().find(|result| result.plan == phase)?;
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

fn ours(internal: &Configuration, external: &Configuration) -> String {
    let mut rows = Vec::new();
    for (a, b) in internal.results.iter().zip(&external.results) {
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

    #[test]
    fn every_paper_stands_on_plans_that_know_what_its_tables_name() {
        for name in names() {
            let paper = Paper::find(name).unwrap();
            assert_eq!(paper.name, name);
            for phase in &paper.phases {
                let plan = Plan::parse(shipped(phase).unwrap()).unwrap();
                for table in paper.tables.iter().filter(|table| table.phase == *phase) {
                    for (row, figure, ..) in &table.rows {
                        let label = figure.split_once(':').unwrap().1;
                        let known = label == "all" || plan.mix.iter().any(|share| share.label() == label);
                        assert!(known, "{name}: {row}: {label}");
                    }
                }
            }
            assert!(paper.tables.iter().all(|table| paper.phases.contains(&table.phase)));
        }
    }
}

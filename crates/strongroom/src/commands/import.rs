//! `strongroom import`: imports a directory tree into a library.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use maintenance::{ImportOptions, ImportSummary, Mapping, Progress};
use model::{Error, Result, counted, grouped};
use repository::Target;
use serde_json::json;

use super::farm;
use super::fault_log::FaultLog;
use super::output::show;
use super::progress::{Bar, shows_progress};
use super::size::size;
use crate::configuration::{CommonArguments, Settings};

/// Source, target and options of an import.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    /// Directory whose content is imported
    #[arg(value_name = "DIR")]
    source: PathBuf,
    /// Existing library, or folder in it, to import into
    #[arg(value_name = "SITE/LIBRARY[/FOLDER]")]
    target: String,
    /// TOML file that maps file owners, groups and permission bits to users, groups and roles of the farm
    #[arg(long, value_name = "FILE")]
    mapping: Option<PathBuf>,
    /// Only report what would be done
    #[arg(long)]
    dry_run: bool,
    /// Write the items that were not imported to a file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs `strongroom import`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let mapping = match &arguments.mapping {
        Some(path) => {
            let text = std::fs::read_to_string(path).map_err(|error| {
                Error::invalid(format!("the mapping {} cannot be read: {error}", path.display())).with_source(error)
            })?;
            Some(Mapping::parse(&text)?)
        }
        None => None,
    };
    let target = Target::path(&arguments.target)?;
    let directory = Settings::read(&arguments.common)?.directory();
    let (repository, session) = farm::open(&arguments.common).await?;
    let log = FaultLog::begin(arguments.report.as_deref())?;
    let progress = Arc::new(Progress::default());
    let shown = shows_progress(arguments.common.json);
    let started = Instant::now();
    let bar = Bar::of_task(&progress, shown);
    let options = ImportOptions {
        source: arguments.source,
        target,
        mapping,
        dry_run: arguments.dry_run,
        exclude: Some(directory),
        count: shown,
    };
    let outcome = maintenance::import(session, options, progress, log.listener()).await;
    drop(bar);
    repository.close().await;
    let summary = outcome?;
    let (faults, shown) = log.finish(&summary.faults)?;
    let seconds = started.elapsed().as_secs_f64();
    let not_taken: BTreeMap<_, _> = summary.faults.iter().map(|(reason, n)| (reason.as_str(), n)).collect();
    let value = json!({
        "dry_run": arguments.dry_run,
        "created": summary.created,
        "replaced": summary.replaced,
        "unchanged": summary.unchanged,
        "folders": summary.folders,
        "bytes": summary.bytes,
        "seconds": seconds,
        "not_taken": not_taken,
        "first_not_taken": faults,
        "unmapped_users": summary.unmapped_users,
        "unmapped_groups": summary.unmapped_groups,
    });
    show(arguments.common.json, &value, &(text(&summary, arguments.dry_run, seconds) + &shown));
    Ok(if summary.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text(summary: &ImportSummary, dry_run: bool, seconds: f64) -> String {
    let would = if dry_run { "would be " } else { "" };
    let mut text = format!(
        "{} {would}imported ({} new, {} with a new version), {} in {seconds:.1} s; {} {would}created; {} already \
         there.\n",
        counted(summary.created + summary.replaced, "document"),
        grouped(summary.created),
        grouped(summary.replaced),
        size(summary.bytes),
        counted(summary.folders, "folder"),
        counted(summary.unchanged, "document"),
    );
    for (what, names, became) in [
        ("Users", &summary.unmapped_users, "what they own belongs to the default owner"),
        ("Groups", &summary.unmapped_groups, "they got no permission"),
    ] {
        if !names.is_empty() {
            text.push_str(&format!("{what} without an entry in the mapping: {}; {became}.\n", names.join(", ")));
        }
    }
    text
}

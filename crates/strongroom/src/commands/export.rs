//! `strongroom export`: writes a library or folder into a directory.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use maintenance::{ExportOptions, ExportSummary, Progress};
use model::{Result, counted};
use repository::Target;
use serde_json::json;

use super::farm;
use super::fault_log::FaultLog;
use super::output::show;
use super::progress::{Bar, shows_progress};
use super::size::size;
use crate::configuration::CommonArguments;

/// Source, destination and options of an export.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    /// Library, or a folder in it
    #[arg(value_name = "SITE/LIBRARY[/FOLDER]")]
    source: String,
    /// Destination directory; existing files that differ from their documents are replaced
    #[arg(value_name = "DIR")]
    destination: PathBuf,
    /// Also export earlier versions, into DIR/.versions
    #[arg(long)]
    versions: bool,
    /// Write the items that were not exported to a file, one JSON object per line
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
}

/// Runs `strongroom export`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let source = Target::path(&arguments.source)?;
    let (repository, session) = farm::open(&arguments.common).await?;
    let log = FaultLog::begin(arguments.report.as_deref())?;
    let progress = Arc::new(Progress::default());
    let shown = shows_progress(arguments.common.json);
    let started = Instant::now();
    let bar = Bar::of_task(&progress, shown);
    let options =
        ExportOptions { source, destination: arguments.destination, versions: arguments.versions, count: shown };
    let outcome = maintenance::export(session, options, progress, log.listener()).await;
    drop(bar);
    repository.close().await;
    let summary = outcome?;
    let (faults, shown) = log.finish(&summary.faults)?;
    let seconds = started.elapsed().as_secs_f64();
    let not_taken: BTreeMap<_, _> = summary.faults.iter().map(|(reason, n)| (reason.as_str(), n)).collect();
    let value = json!({
        "written": summary.written,
        "unchanged": summary.unchanged,
        "versions": summary.versions,
        "folders": summary.folders,
        "bytes": summary.bytes,
        "seconds": seconds,
        "not_taken": not_taken,
        "first_not_taken": faults,
    });
    show(arguments.common.json, &value, &(text(&summary, seconds) + &shown));
    Ok(if summary.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text(summary: &ExportSummary, seconds: f64) -> String {
    let versions = match summary.versions {
        0 => String::new(),
        n => format!(" and {}", counted(n, "earlier version")),
    };
    format!(
        "{}{versions} exported, {} in {seconds:.1} s; {}; {} already there.\n",
        counted(summary.written, "document"),
        size(summary.bytes),
        counted(summary.folders, "folder"),
        counted(summary.unchanged, "document"),
    )
}

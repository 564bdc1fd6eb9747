//! `strongroom restore`: brings a farm back from a backup.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use maintenance::{Progress, RestoreOptions, RestoreSummary};
use model::{Error, Id, Result};
use serde_json::json;

use super::backup::KeyFile;
use super::output::{show, time};
use super::transfer::{Bar, shows_progress, size};
use crate::configuration::{Place, Settings};

/// What to restore, and where to.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    /// The directory that holds the farm's backups
    #[arg(value_name = "SOURCE")]
    source: PathBuf,
    #[command(flatten)]
    key: KeyFile,
    /// The backup; `strongroom backup list SOURCE` shows them [default: the latest]
    #[arg(long, value_name = "ID")]
    set: Option<Id>,
    /// A new, empty PostgreSQL database, once for each such database of the backup; "configuration" names the configuration database
    #[arg(long, value_name = "NAME=postgres://...")]
    database_url: Vec<String>,
    /// Use BLOB stores outside of the data directory where they are; only what is missing there is copied
    #[arg(long)]
    use_stores: bool,
    /// Replace the farm that is in the data directory; its databases are set aside
    #[arg(long)]
    force: bool,
    /// Restore everything else when some BLOBs are missing or damaged in the backup
    #[arg(long)]
    accept_missing: bool,
}

/// Runs `strongroom restore`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let directory = Settings::read(&arguments.place)?.directory();
    let progress = Arc::new(Progress::default());
    let bar = Bar::of_task(&progress, shows_progress(arguments.place.json));
    let started = Instant::now();
    let options = RestoreOptions {
        source: arguments.source,
        key_file: arguments.key.encrypt_with,
        set: arguments.set,
        directory,
        database_urls: database_urls(&arguments.database_url)?,
        use_stores: arguments.use_stores,
        force: arguments.force,
        accept_missing: arguments.accept_missing,
    };
    let outcome = maintenance::restore_farm(&options, progress).await;
    drop(bar);
    let summary = outcome?;
    let seconds = started.elapsed().as_secs_f64();
    let value = json!({
        "id": summary.set.to_string(),
        "started_at": time(summary.started_at),
        "databases": summary.databases,
        "copied_blobs": summary.copied.0,
        "copied_bytes": summary.copied.1,
        "present_blobs": summary.present.0,
        "present_bytes": summary.present.1,
        "missing_blobs": summary.missing,
        "notes": summary.notes,
        "seconds": seconds,
    });
    show(arguments.place.json, &value, &text(&summary, seconds));
    Ok(if summary.missing == 0 { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text(summary: &RestoreSummary, seconds: f64) -> String {
    let mut text = format!(
        "The farm is as of {} (backup {}): {} databases, {} BLOBs copied ({}), {} were in their stores already ({}), in {seconds:.1} s.\n",
        time(summary.started_at),
        summary.set,
        summary.databases,
        summary.copied.0,
        size(summary.copied.1),
        summary.present.0,
        size(summary.present.1),
    );
    for note in &summary.notes {
        text.push_str(&format!("Note: {note}.\n"));
    }
    if summary.missing > 0 {
        text.push_str(&format!(
            "{} BLOBs are missing; `strongroom blobs check` names their documents.\n",
            summary.missing
        ));
    }
    text
}

/// Reads `NAME=postgres://...`, once for each database.
pub fn database_urls(given: &[String]) -> Result<BTreeMap<String, String>> {
    let read = |text: &String| {
        let (name, url) = text.split_once('=').ok_or_else(|| {
            Error::invalid("--database-url takes the name of a database and its new place: NAME=postgres://...")
        })?;
        Ok((name.to_owned(), url.to_owned()))
    };
    given.iter().map(read).collect()
}

//! `strongroom backup`: takes, lists, verifies and prunes backups.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, Subcommand};
use maintenance::{BackupOptions, BackupSummary, PostgresMethod, Progress, RestoreOptions, Retain};
use model::{Error, Id, Result, counted};
use serde_json::{Value, json};

use super::backup_destination::{Access, database_urls};
use super::backup_sets::{self, lost_text, pruned_json, pruned_text};
use super::backup_verify;
use super::farm;
use super::output::{show, time};
use super::progress::{Bar, shows_progress};
use super::size::size;
use crate::configuration::{CommonArguments, Settings};

/// Backup destination, or an action on existing backups.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Option<Action>,
    /// Directory or s3://BUCKET/PREFIX for the farm's backups; a missing or empty one is initialised
    #[arg(value_name = "DEST", required = true)]
    destination: Option<String>,
    #[command(flatten)]
    access: Access,
    /// Back up the databases only; their BLOBs stay in the stores, which retain them for as long as this backup is kept
    #[arg(long)]
    databases_only: bool,
    /// After the backup, remove backups that no rule retains, such as last=3,daily=7,weekly=4,monthly=12
    #[arg(long, value_name = "RULES")]
    retain: Option<Retain>,
    /// PostgreSQL method: dump (each database by pg_dump) or basebackup (each whole server by pg_basebackup)
    #[arg(long, value_name = "METHOD", default_value = "dump")]
    postgres: PostgresMethod,
}

#[derive(Subcommand)]
enum Action {
    /// List the backups; exit status 1 if the description of any backup cannot be read
    List {
        /// Directory or s3://BUCKET/PREFIX that holds the backups
        #[arg(value_name = "DEST")]
        destination: String,
        #[command(flatten)]
        access: Access,
    },
    /// Re-read all data that the backups need; exit status 1 if anything is missing or damaged, 3 if nothing is but a
    /// drill could not check every BLOB
    Verify {
        /// Directory or s3://BUCKET/PREFIX that holds the backups
        #[arg(value_name = "DEST")]
        destination: String,
        #[command(flatten)]
        access: Access,
        /// Verify only this backup
        #[arg(long, value_name = "ID")]
        set: Option<Id>,
        /// Also restore the latest backup (or the one chosen by --set) into a scratch directory and compare every
        /// version of every document
        #[arg(long)]
        drill: bool,
        /// Scratch directory for the drill [default: the system's directory for temporary files]
        #[arg(long, value_name = "DIR", requires = "drill")]
        scratch: Option<PathBuf>,
        /// Empty PostgreSQL database for the drill; give it once for each PostgreSQL database in the backup
        #[arg(long, value_name = "NAME=postgres://...", requires = "drill")]
        database_url: Vec<String>,
    },
    /// Remove backups that no rule retains, and data that no remaining backup needs; exit status 1 if that data was
    /// kept because a backup cannot be read
    Prune {
        /// Directory or s3://BUCKET/PREFIX that holds the backups
        #[arg(value_name = "DEST")]
        destination: String,
        #[command(flatten)]
        access: Access,
        /// Retention rules, such as last=3,daily=7,weekly=4,monthly=12
        #[arg(long, value_name = "RULES")]
        retain: Retain,
        /// Only report which backups would be removed
        #[arg(long)]
        dry_run: bool,
    },
    /// Remove one backup, even if it cannot be read, and data that no remaining backup needs
    Remove {
        /// Directory or s3://BUCKET/PREFIX that holds the backup
        #[arg(value_name = "DEST")]
        destination: String,
        /// ID of the backup
        #[arg(value_name = "ID")]
        set: Id,
        #[command(flatten)]
        access: Access,
    },
    /// Make the farm forget a backup whose destination no longer exists, so that the backup no longer holds BLOBs back
    /// from deletion
    Forget {
        /// ID of the backup; `strongroom blobs status` shows the backups that hold BLOBs back
        #[arg(value_name = "ID")]
        set: Id,
        #[command(flatten)]
        access: Access,
        /// Forget the backup without looking at its destination, even if the backup still exists; the BLOBs it needs
        /// may then be deleted
        #[arg(long)]
        force: bool,
    },
}

/// Runs `strongroom backup`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let json = arguments.common.json;
    match arguments.action {
        None => take(arguments).await,
        Some(Action::List { destination, access }) => {
            backup_sets::list(json, &access.destination(&destination)?, &access).await
        }
        Some(Action::Verify { destination, access, set, drill, scratch, database_url }) => {
            let urls = database_urls(&database_url)?;
            let place = access.destination(&destination)?;
            let options = RestoreOptions {
                source: place,
                key_file: access.encrypt_with,
                set,
                database_urls: urls,
                ..RestoreOptions::default()
            };
            backup_verify::run(&arguments.common, options, drill, scratch).await
        }
        Some(Action::Prune { destination, access, retain, dry_run }) => {
            backup_sets::prune(&arguments.common, &access.destination(&destination)?, &access, &retain, dry_run).await
        }
        Some(Action::Remove { destination, set, access }) => {
            backup_sets::remove(&arguments.common, &access.destination(&destination)?, &access, set).await
        }
        Some(Action::Forget { set, access, force }) => {
            backup_sets::forget(&arguments.common, &access, set, force).await
        }
    }
}

async fn take(arguments: Arguments) -> Result<ExitCode> {
    let Some(destination) = arguments.destination else {
        return Err(Error::invalid("name the destination of the backup"));
    };
    let configuration = farm::options(&Settings::read(&arguments.common)?, false)?.configuration_location();
    let (repository, session) = farm::open(&arguments.common).await?;
    let progress = Arc::new(Progress::default());
    let bar = Bar::of_task(&progress, shows_progress(arguments.common.json));
    let started = Instant::now();
    let options = BackupOptions {
        destination: arguments.access.destination(&destination)?,
        configuration,
        key_file: arguments.access.encrypt_with,
        databases_only: arguments.databases_only,
        retain: arguments.retain,
        postgres: arguments.postgres,
    };
    let outcome = maintenance::backup(&session, &options, progress).await;
    drop(bar);
    repository.close().await;
    let summary = outcome?;
    let seconds = started.elapsed().as_secs_f64();
    show(arguments.common.json, &backup_json(&summary, seconds), &backup_text(&summary, seconds));
    let is_pruned = summary.prune_error.is_none() && summary.pruned.is_none_or(|pruned| pruned.unreadable.is_empty());
    Ok(if is_pruned { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn backup_json(summary: &BackupSummary, seconds: f64) -> Value {
    json!({
        "id": summary.id.to_string(),
        "started_at": time(summary.started_at),
        "databases": summary.databases.0,
        "database_bytes": summary.databases.1,
        "blobs": summary.blobs.0,
        "blob_bytes": summary.blobs.1,
        "bytes": summary.bytes,
        "new_bytes": summary.new_bytes,
        "lost": summary.lost,
        "seconds": seconds,
        "pruned": summary.pruned.as_ref().map(pruned_json),
        "prune_error": summary.prune_error,
    })
}

fn backup_text(summary: &BackupSummary, seconds: f64) -> String {
    let mut text = format!(
        "Backup {} is complete: {} ({}) and {} ({}) as of {}; {} were new, in {seconds:.1} s.\n",
        summary.id,
        counted(summary.databases.0, "database"),
        size(summary.databases.1),
        counted(summary.blobs.0, "BLOB"),
        size(summary.blobs.1),
        time(summary.started_at),
        size(summary.new_bytes),
    );
    text.push_str(&lost_text(summary.lost));
    if let Some(pruned) = &summary.pruned {
        text.push_str(&pruned_text(pruned, false));
    }
    if let Some(error) = &summary.prune_error {
        text.push_str(&format!("Older backups could not be removed according to --retain: {error}\n"));
    }
    text
}

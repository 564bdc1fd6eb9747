//! `strongroom restore`: restores a farm, or parts of one, from a backup.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;
use maintenance::{ItemsOptions, Progress, RestoreOptions, RestoreSummary};
use model::{NodeKind, NodePath, Result, counted, grouped};
use serde_json::json;

use super::backup_destination::{ChosenBackup, database_urls};
use super::backup_sets::lost_text;
use super::farm;
use super::output::{are, show, time};
use super::progress::{Bar, shows_progress};
use super::restore_servers;
use super::size::size;
use crate::configuration::{CommonArguments, Settings};

/// Parts to restore, and options.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(flatten)]
    backup: ChosenBackup,
    /// Restore only this content database, into the existing farm, while no server is running
    #[arg(long, value_name = "NAME", group = "part")]
    content_database: Option<String>,
    /// Restore only this site or site collection with everything below it, into the running farm
    #[arg(long, value_name = "PATH", group = "part")]
    site: Option<String>,
    /// Restore only this library, into the running farm
    #[arg(long, value_name = "PATH", group = "part")]
    library: Option<String>,
    /// Restore only this list, into the running farm; rows that it lacks are added with new numbers
    #[arg(long, value_name = "PATH", group = "part")]
    list: Option<String>,
    /// Restore only this document with its versions, into the running farm; an existing document gets a new version
    #[arg(long, value_name = "PATH", group = "part")]
    document: Option<String>,
    /// Restore the site, library, list or document next to the existing one, under a name with the date of the backup
    #[arg(long, requires = "part", conflicts_with = "content_database")]
    beside: bool,
    /// New, empty PostgreSQL database; give it once for each PostgreSQL database in the backup; "configuration" is the
    /// name of the configuration database
    #[arg(long, value_name = "NAME=postgres://...")]
    database_url: Vec<String>,
    /// Only unpack the PostgreSQL servers of a backup taken with --postgres basebackup into this new directory, and
    /// print how to start them
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["part", "database_url", "use_stores", "force", "accept_missing", "rebuild_checksums"]
    )]
    postgres_directory: Option<PathBuf>,
    /// Use BLOB stores outside the data directory, including object storage, in their present location; only missing
    /// BLOBs are copied
    #[arg(long)]
    use_stores: bool,
    /// Replace the farm in the data directory; its databases are set aside
    #[arg(long)]
    force: bool,
    /// Restore everything else if BLOBs, content databases or site collections are missing or damaged in the backup
    #[arg(long)]
    accept_missing: bool,
    /// Compute new checksums for SQLite pages whose checksum is wrong, if SQLite finds the database intact; for backups
    /// of earlier versions, if no other backup is intact. The content of such pages may still be wrong
    #[arg(long)]
    rebuild_checksums: bool,
}

/// Runs `strongroom restore`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let parts = [
        (&arguments.site, NodeKind::Site),
        (&arguments.library, NodeKind::Library),
        (&arguments.list, NodeKind::List),
        (&arguments.document, NodeKind::Document),
    ];
    if let Some((path, kind)) = parts.into_iter().find_map(|(path, kind)| Some((path.as_deref()?, kind))) {
        return items(&arguments, path, kind).await;
    }
    let directory = Settings::read(&arguments.common)?.directory();
    if let Some(postgres) = &arguments.postgres_directory {
        return restore_servers::run(&arguments.backup, arguments.common.json, postgres, &directory).await;
    }
    let progress = Arc::new(Progress::default());
    let bar = Bar::of_task(&progress, shows_progress(arguments.common.json));
    let started = Instant::now();
    let options = RestoreOptions {
        source: arguments.backup.access.destination(&arguments.backup.source)?,
        key_file: arguments.backup.access.encrypt_with,
        set: arguments.backup.set,
        directory,
        database_urls: database_urls(&arguments.database_url)?,
        use_stores: arguments.use_stores,
        force: arguments.force,
        accept_missing: arguments.accept_missing,
        rebuild_checksums: arguments.rebuild_checksums,
        leave_blobs: false,
        is_scratch: false,
    };
    let outcome = match &arguments.content_database {
        Some(name) => {
            let (_, session) = farm::open_to_restore(&arguments.common, name).await?;
            maintenance::restore_content_database(session, &options, name, progress).await
        }
        None => maintenance::restore_farm(&options, progress).await,
    };
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
        "lacks": summary.lacks,
        "lost_blobs": summary.lost,
        "notes": summary.notes,
        "seconds": seconds,
    });
    let next = format!("Next: `{}` starts the farm.\n", repository::serve_command(&options.directory));
    show(arguments.common.json, &value, &(text(&summary, seconds) + &next));
    Ok(if summary.missing == 0 && summary.lacks.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// Restores a site, library, list or document into the running farm.
async fn items(arguments: &Arguments, path: &str, kind: NodeKind) -> Result<ExitCode> {
    let options = ItemsOptions {
        source: arguments.backup.access.destination(&arguments.backup.source)?,
        key_file: arguments.backup.access.encrypt_with.clone(),
        set: arguments.backup.set,
        path: NodePath::parse(path)?,
        kind,
        beside: arguments.beside,
        rebuild_checksums: arguments.rebuild_checksums,
        database_urls: database_urls(&arguments.database_url)?,
    };
    let (repository, session) = farm::open(&arguments.common).await?;
    let progress = Arc::new(Progress::default());
    let bar = Bar::of_task(&progress, shows_progress(arguments.common.json));
    let outcome = maintenance::restore_items(&session, &options, progress).await;
    drop(bar);
    repository.close().await;
    let summary = outcome?;
    let value = json!({
        "id": summary.set.map(|id| id.to_string()),
        "path": summary.path,
        "created": summary.created,
        "replaced": summary.replaced,
        "unchanged": summary.unchanged,
        "versions": summary.versions,
        "bytes": summary.bytes,
        "faults": summary.faults,
        "notes": summary.notes,
    });
    let mut text = format!(
        "\"/{}\" was restored: {} created, {} with a new version, {} unchanged; {}, {}.\n",
        summary.path,
        counted(summary.created, "document"),
        grouped(summary.replaced),
        grouped(summary.unchanged),
        counted(summary.versions, "version"),
        size(summary.bytes),
    );
    summary.notes.iter().for_each(|note| text.push_str(&format!("Note: {note}.\n")));
    summary.faults.iter().for_each(|fault| text.push_str(&format!("Not restored: {fault}\n")));
    show(arguments.common.json, &value, &text);
    Ok(if summary.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn text(summary: &RestoreSummary, seconds: f64) -> String {
    let mut text = format!(
        "The farm was restored as of {} (backup {}): {}, {} copied ({}), {} already in a store ({}), in {seconds:.1} \
         s.\n",
        time(summary.started_at),
        summary.set,
        counted(summary.databases, "database"),
        counted(summary.copied.0, "BLOB"),
        size(summary.copied.1),
        grouped(summary.present.0),
        size(summary.present.1),
    );
    for note in &summary.notes {
        text.push_str(&format!("Note: {note}.\n"));
    }
    for what in &summary.lacks {
        text.push_str(&format!("Not in this backup: {what}.\n"));
    }
    text.push_str(&lost_text(summary.lost));
    if summary.missing > 0 {
        text.push_str(&format!(
            "{} {} missing; `strongroom blobs check` names the documents.\n",
            counted(summary.missing, "BLOB"),
            are(summary.missing)
        ));
    }
    text
}

//! `strongroom restore --postgres-directory`: unpacks whole PostgreSQL servers and prints the next steps.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use maintenance::{ClusterOptions, ClustersSummary, CopiedDatabase, Progress, RestoredCluster};
use model::Result;
use serde_json::{Value, json};

use super::backup_destination::ChosenBackup;
use crate::commands::output::{show, time};
use crate::commands::progress::{Bar, shows_progress};
use crate::commands::size::size;

/// Unpacks the servers of a backup into a directory. `data` is the data directory for the later restore of the farm.
pub async fn run(backup: &ChosenBackup, as_json: bool, directory: &Path, data: &Path) -> Result<ExitCode> {
    let options = ClusterOptions {
        source: backup.access.destination(&backup.source)?,
        key_file: backup.access.encrypt_with.clone(),
        set: backup.set,
        directory: std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned()),
    };
    let progress = Arc::new(Progress::default());
    let bar = Bar::of_task(&progress, shows_progress(as_json));
    let outcome = maintenance::restore_clusters(&options, progress).await;
    drop(bar);
    let summary = outcome?;
    let next = next(backup, &summary, data);
    show(as_json, &value(&summary, &next), &text(&summary, &next));
    Ok(ExitCode::SUCCESS)
}

/// Returns the command that starts a server.
fn start(cluster: &RestoredCluster) -> String {
    let (version, directory) = (&cluster.version, cluster.directory.display());
    let program = format!("/usr/lib/postgresql/{version}/bin/pg_ctl");
    let program = if Path::new(&program).exists() { program } else { "pg_ctl".to_owned() };
    let settings = if cluster.has_settings {
        String::new()
    } else {
        format!(" -o \"-c config_file=/etc/postgresql/{version}/main/postgresql.conf -c data_directory={directory}\"")
    };
    format!("{program} -D {directory}{settings} -w start")
}

/// Returns the command that restores the farm once the servers are running.
fn next(backup: &ChosenBackup, summary: &ClustersSummary, data: &Path) -> String {
    let mut command = format!("strongroom restore {} --set {} --data {}", backup.source, summary.set, data.display());
    if let Some(key) = &backup.access.encrypt_with {
        command.push_str(&format!(" --encrypt-with {}", key.display()));
    }
    for CopiedDatabase { name, location, .. } in &summary.databases {
        command.push_str(&format!(" --database-url {name}={location}"));
    }
    command
}

fn value(summary: &ClustersSummary, next: &str) -> Value {
    json!({
        "id": summary.set.to_string(),
        "started_at": time(summary.started_at),
        "servers": summary.clusters.iter().map(|cluster| json!({
            "server": cluster.server,
            "directory": cluster.directory,
            "version": cluster.version,
            "has_settings": cluster.has_settings,
            "bytes": cluster.bytes,
            "start": start(cluster),
        })).collect::<Value>(),
        "databases": summary.databases.iter().map(|one| json!({ "name": one.name, "location": one.location }))
            .collect::<Value>(),
        "next": next,
    })
}

fn text(summary: &ClustersSummary, next: &str) -> String {
    let mut text = format!(
        "The PostgreSQL servers were restored from the backup {} of {}; none was started.\n",
        summary.set,
        time(summary.started_at)
    );
    for cluster in &summary.clusters {
        text.push_str(&format!(
            "\n{}: {} in {}. Start it as the user that the files belong to:\n  {}\n",
            cluster.server,
            size(cluster.bytes),
            cluster.directory.display(),
            start(cluster)
        ));
        if !cluster.has_settings {
            text.push_str(
                "  Its settings were kept outside of its directory and are not in the backup: the command uses those \
                 of this machine.\n",
            );
        }
    }
    text.push_str(&format!(
        "\n\
         Then restore the farm from these databases (add passwords, and change hosts and ports that differ now):\n  \
         {next}\n"
    ));
    text
}

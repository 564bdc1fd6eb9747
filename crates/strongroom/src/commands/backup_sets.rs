//! Actions on existing backups: listing, pruning, removing and forgetting.

use std::process::ExitCode;

use maintenance::{BackupLocation, Forgotten, Pruned, Retain, SetSummary, Unreadable};
use model::{ErrorKind, Id, Result, counted, grouped};
use repository::{NotedBackup, Repository, Storage};
use serde_json::{Value, json};

use super::backup_destination::Access;
use super::farm;
use super::output::{are, show, table, time};
use super::size::size;
use crate::configuration::CommonArguments;

/// Lists the backups in a destination.
pub async fn list(json: bool, place: &BackupLocation, access: &Access) -> Result<ExitCode> {
    let found = maintenance::list_backups(place, access.encrypt_with.as_deref()).await?;
    let value = json!({
        "sets": found.sets.iter().map(set_json).collect::<Value>(),
        "unreadable": unreadable_json(&found.unreadable),
    });
    let mut text = sets_text(&found.sets);
    if !found.unreadable.is_empty() {
        text.push_str(&format!(
            "{} cannot be read:\n{}`strongroom backup remove {place} BACKUP` removes one of them.\n",
            counted(found.unreadable.len() as u64, "backup"),
            unreadable_text(&found.unreadable)
        ));
    }
    show(json, &value, &text);
    Ok(if found.unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn unreadable_json(sets: &[Unreadable]) -> Value {
    sets.iter().map(|set| json!({ "id": set.id.to_string(), "why": set.why })).collect()
}

fn unreadable_text(sets: &[Unreadable]) -> String {
    sets.iter().map(|set| format!("  {}: {}\n", set.id, set.why)).collect()
}

fn set_json(set: &SetSummary) -> Value {
    json!({
        "id": set.id.to_string(),
        "started_at": time(set.started_at),
        "finished_at": time(set.finished_at),
        "databases_only": set.needs_stores,
        "databases": set.databases,
        "servers": set.clusters,
        "blobs": set.blobs,
        "bytes": set.bytes,
        "new_bytes": set.new_bytes,
    })
}

fn sets_text(sets: &[SetSummary]) -> String {
    let rows: Vec<_> = sets
        .iter()
        .map(|set| {
            let mut holds = if set.needs_stores { "databases only" } else { "everything" }.to_owned();
            if !set.clusters.is_empty() {
                holds.push_str(&format!(", all of {}", set.clusters.join(", ")));
            }
            [
                set.id.to_string(),
                time(set.started_at),
                holds,
                set.databases.join(", "),
                if set.needs_stores { "in the stores".to_owned() } else { grouped(set.blobs) },
                size(set.bytes),
                size(set.new_bytes),
            ]
        })
        .collect();
    table(["BACKUP", "AS OF", "HOLDS", "DATABASES", "BLOBS", "SIZE", "ADDED"], &rows)
}

/// Removes the backups that no rule retains.
pub async fn prune(
    common: &CommonArguments,
    destination: &BackupLocation,
    access: &Access,
    rules: &Retain,
    dry_run: bool,
) -> Result<ExitCode> {
    let key = access.encrypt_with.as_deref();
    let farm = Farm::open(common).await?;
    let pruned = maintenance::prune_backups(destination, key, farm.storage(), rules, dry_run).await;
    farm.close().await;
    show_pruned(common, &pruned?, dry_run)
}

/// Removes one backup.
pub async fn remove(
    common: &CommonArguments,
    destination: &BackupLocation,
    access: &Access,
    set: Id,
) -> Result<ExitCode> {
    let farm = Farm::open(common).await?;
    let removed = maintenance::remove_backup(destination, access.encrypt_with.as_deref(), farm.storage(), set).await;
    farm.close().await;
    show_pruned(common, &removed?, false)
}

fn show_pruned(common: &CommonArguments, pruned: &Pruned, dry_run: bool) -> Result<ExitCode> {
    show(common.json, &pruned_json(pruned), &pruned_text(pruned, dry_run));
    Ok(if pruned.unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

/// The farm, if there is one. Backups can also be managed without a farm.
pub struct Farm(Option<(Repository, Storage)>);

impl Farm {
    /// Opens the farm, if it exists.
    pub async fn open(common: &CommonArguments) -> Result<Self> {
        match farm::open(common).await {
            Ok((repository, session)) => Ok(Self(Some((repository, session.storage().await?)))),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self(None)),
            Err(error) => Err(error),
        }
    }

    /// The farm's databases and stores.
    pub fn storage(&self) -> Option<&Storage> {
        self.0.as_ref().map(|(_, storage)| storage)
    }

    /// Closes the farm.
    pub async fn close(&self) {
        if let Some((repository, _)) = &self.0 {
            repository.close().await;
        }
    }
}

/// Makes the farm forget a backup.
pub async fn forget(common: &CommonArguments, access: &Access, set: Id, force: bool) -> Result<ExitCode> {
    let (repository, session) = farm::open(common).await?;
    let forgotten = async {
        let kept = session.kept_backup(set).await?;
        let destination = if force { None } else { Some(access.destination(&kept.destination)?) };
        maintenance::forget_backup(&session, set, destination.as_ref()).await
    };
    let forgotten = forgotten.await;
    repository.close().await;
    let forgotten = forgotten?;
    show(common.json, &forgotten_json(&forgotten), &forgotten_text(&forgotten));
    Ok(ExitCode::SUCCESS)
}

fn forgotten_json(forgotten: &Forgotten) -> Value {
    json!({
        "id": forgotten.backup.id.to_string(),
        "as_of": time(forgotten.backup.as_of),
        "place": forgotten.backup.destination,
        "place_has_backups": forgotten.other_backups_present,
        "held_blobs": forgotten.held.as_ref().map_or(0, |hold| hold.blobs),
        "held_bytes": forgotten.held.as_ref().map_or(0, |hold| hold.bytes),
    })
}

fn forgotten_text(forgotten: &Forgotten) -> String {
    let NotedBackup { id, destination, as_of } = &forgotten.backup;
    let mut text = format!("The farm has forgotten the backup {id} as of {} in {destination}", time(*as_of));
    match forgotten.other_backups_present {
        Some(true) => text.push_str(", which holds other backups but not this one.\n"),
        Some(false) => text.push_str(", which now holds no backups.\n"),
        None => text.push_str("; the destination was not checked.\n"),
    }
    match &forgotten.held {
        Some(hold) => text.push_str(&format!(
            "{} ({}) that it held may be deleted by the next collection, unless another backup needs them. If its \
             destination becomes available again, the backup can be restored only without the deleted BLOBs.\n",
            counted(hold.blobs, "BLOB"),
            size(hold.bytes)
        )),
        None => text.push_str("It has its own copies of the BLOBs, so it held none in the stores.\n"),
    }
    text
}

/// The result of a removal as JSON.
pub fn pruned_json(pruned: &Pruned) -> Value {
    let texts = |ids: &[Id]| ids.iter().map(Id::to_string).collect::<Vec<_>>();
    json!({
        "kept": texts(&pruned.kept),
        "removed": texts(&pruned.removed),
        "unreadable": unreadable_json(&pruned.unreadable),
        "things": pruned.objects,
        "bytes": pruned.bytes,
    })
}

/// The result of a removal as text.
pub fn pruned_text(pruned: &Pruned, dry_run: bool) -> String {
    let (kept, removed) = (counted(pruned.kept.len() as u64, "backup"), grouped(pruned.removed.len() as u64));
    let mut text = match (dry_run, pruned.removed.is_empty()) {
        (true, true) => format!("{kept} would be kept, none would be removed.\n"),
        (true, false) => {
            let ids: Vec<String> = pruned.removed.iter().map(Id::to_string).collect();
            format!("{kept} would be kept, {removed} would be removed: {}.\n", ids.join(", "))
        }
        (false, _) => format!("{kept} kept, {removed} removed; {} freed.\n", size(pruned.bytes)),
    };
    if pruned.kept_for_blobs > 0 {
        text.push_str(&format!(
            "The rules are also applied to the backups with BLOBs alone, so that backups of databases only never \
             displace them. This keeps {}.\n",
            counted(pruned.kept_for_blobs, "more backup")
        ));
    }
    if !pruned.unreadable.is_empty() {
        text.push_str(&format!(
            "{} cannot be read, so it is not known which bytes are still needed, and none are freed:\n\
             {}Bring its file back, or remove the backup with `strongroom backup remove DEST BACKUP`; this also frees \
             the bytes that no backup needs.\n",
            counted(pruned.unreadable.len() as u64, "backup"),
            unreadable_text(&pruned.unreadable)
        ));
    }
    text
}

/// The sentence about BLOBs whose loss is accepted, or an empty string if there are none.
pub fn lost_text(lost: u64) -> String {
    match lost {
        0 => String::new(),
        _ => format!("{} whose loss was accepted {} not in the backup.\n", counted(lost, "BLOB"), are(lost)),
    }
}

//! `strongroom blobs status`: content databases, stores, and BLOBs waiting for deletion.

use model::{Result, grouped};
use repository::{BackupHold, Session};
use serde_json::{Value, json};

use crate::commands::output::{table, time};
use crate::commands::size::size;
use crate::commands::verdict::{CommandResult, Verdict};

pub async fn status(session: &Session) -> Result<CommandResult> {
    let (databases, stores) = session.storage_status().await?;
    let mut rows = Vec::new();
    for database in &databases {
        let policy = format!("{} from {}", database.active_store, size(database.minimum_size));
        let references: Vec<_> = database
            .references
            .iter()
            .map(|(store, n, bytes)| format!("{} in {store} ({})", grouped(*n), size(*bytes)))
            .collect();
        let references = if references.is_empty() { "none".to_owned() } else { references.join(", ") };
        let bytes = database.bytes.map_or_else(|| "unknown".to_owned(), size);
        let references = database.trouble.clone().unwrap_or(references);
        rows.push([database.name.clone(), database.engine.to_owned(), bytes, policy, references]);
    }
    let mut text = table(["DATABASE", "ENGINE", "SIZE", "NEW BLOBS GO TO", "REFERENCED BLOBS"], &rows);
    let store_rows: Vec<_> = stores
        .iter()
        .map(|store| {
            let usage = store.usage.as_ref();
            let or_unknown = |value: Option<String>| value.unwrap_or_else(|| "does not answer".to_owned());
            [
                store.name.clone(),
                store.kind.to_string(),
                store.state.to_string(),
                or_unknown(usage.map(|usage| grouped(usage.blobs))),
                usage.map_or_else(String::new, |usage| size(usage.content_bytes)),
                usage.map_or_else(String::new, |usage| size(usage.disk_bytes)),
                store.location.clone(),
            ]
        })
        .collect();
    text.push('\n');
    text.push_str(&table(["STORE", "KIND", "STATE", "BLOBS", "CONTENT", "ON DISK", "LOCATION"], &store_rows));
    for (store, trouble) in stores.iter().filter_map(|store| Some((store, store.trouble.as_ref()?))) {
        text.push_str(&format!("{}: {trouble}\n", store.name));
    }
    let pending = session.pending_reclaim().await?;
    if !pending.is_empty() {
        let rows: Vec<_> = pending
            .iter()
            .map(|waiting| {
                [
                    waiting.reason.to_string(),
                    waiting.database.clone(),
                    waiting.store.clone(),
                    grouped(waiting.blobs),
                    size(waiting.bytes),
                    time(waiting.since),
                    if waiting.held { "held by a backup".to_owned() } else { time(waiting.due) },
                ]
            })
            .collect();
        text.push_str("\nWaiting to be deleted by a collection:\n");
        text.push_str(&table(["WHY", "DATABASE", "STORE", "BLOBS", "CONTENT", "SINCE", "DUE"], &rows));
    }
    let holds = session.backup_holds().await?;
    text.push_str(&holds_text(&holds));
    let value = json!({
        "databases": databases.iter().map(|database| json!({
            "name": database.name,
            "engine": database.engine,
            "trouble": database.trouble,
            "bytes": database.bytes,
            "active_store": database.active_store,
            "minimum_size": database.minimum_size,
            "references": database.references.iter().map(|(store, blobs, bytes)| json!({
                "store": store, "blobs": blobs, "bytes": bytes,
            })).collect::<Value>(),
        })).collect::<Value>(),
        "pending_reclaim": pending.iter().map(|waiting| json!({
            "reason": waiting.reason.as_str(),
            "database": waiting.database,
            "store": waiting.store,
            "blobs": waiting.blobs,
            "bytes": waiting.bytes,
            "since": time(waiting.since),
            "due": time(waiting.due),
            "held_by_backup": waiting.held,
        })).collect::<Value>(),
        "held_by_backups": holds.iter().map(hold_json).collect::<Value>(),
        "stores": stores.iter().map(|store| json!({
            "name": store.name,
            "kind": store.kind.as_str(),
            "state": store.state.as_str(),
            "location": store.location,
            "answers": store.trouble.is_none(),
            "trouble": store.trouble,
            "blobs": store.usage.map(|usage| usage.blobs),
            "content_bytes": store.usage.map(|usage| usage.content_bytes),
            "disk_bytes": store.usage.map(|usage| usage.disk_bytes),
            "reclaimable_bytes": store.usage.map(|usage| usage.reclaimable_bytes),
            "free_bytes": store.usage.and_then(|usage| usage.free_bytes),
        })).collect::<Value>(),
    });
    let is_whole = databases.iter().all(|database| database.trouble.is_none());
    Ok((value, text, Verdict::from(is_whole)))
}

/// The text about backups that hold BLOBs back from deletion, and how to end the holds.
fn holds_text(holds: &[BackupHold]) -> String {
    if holds.is_empty() {
        return String::new();
    }
    let rows: Vec<_> = holds
        .iter()
        .map(|hold| {
            [
                hold.id.to_string(),
                time(hold.as_of),
                if hold.is_running { "running" } else { "databases only" }.to_owned(),
                if hold.blobs == 0 { "none".to_owned() } else { grouped(hold.blobs) },
                size(hold.bytes),
                hold.destination.clone(),
            ]
        })
        .collect();
    let heading = ["BACKUP", "AS OF", "WHAT", "HELD BLOBS", "CONTENT", "DESTINATION"];
    let mut text = format!(
        "\nRunning backups, and backups whose BLOBs are in the stores. No collection deletes the BLOBs that they \
         need:\n{}",
        table(heading, &rows)
    );
    if holds.len() > 1 {
        text.push_str("BLOBs that several backups need are counted for each of them.\n");
    }
    if holds.iter().any(|hold| !hold.is_running) {
        text.push_str(
            "`strongroom backup prune DEST --retain RULES` and `strongroom backup remove DEST BACKUP` remove a backup \
             and end its hold; if its destination is gone for good, `strongroom backup forget BACKUP` does so.\n",
        );
    }
    text
}

/// A hold as JSON.
fn hold_json(hold: &BackupHold) -> Value {
    json!({
        "id": hold.id.to_string(),
        "as_of": time(hold.as_of),
        "running": hold.is_running,
        "blobs": hold.blobs,
        "bytes": hold.bytes,
        "place": hold.destination,
    })
}

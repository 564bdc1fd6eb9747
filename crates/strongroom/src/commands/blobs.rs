//! `strongroom blobs`: where the bytes of documents are, whether all are there and undamaged, and where new ones go.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Instant;

use clap::{Args, Subcommand};
use model::Result;
use repository::{CheckReport, CheckedBlob, Session, StoragePolicy};
use serde_json::{Value, json};

use super::output::{show, table};
use super::transfer::{new_bar, pace, parse_size, size};
use crate::commands;
use crate::configuration::Place;

/// What to do with BLOBs.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Show content databases and BLOB stores, and what they hold
    Status,
    /// Re-read every BLOB and follow every reference; exit status 1 when anything is missing or damaged
    Check,
    /// Where new BLOBs go
    Policy {
        #[command(subcommand)]
        action: PolicyAction,
    },
}

#[derive(Subcommand)]
enum PolicyAction {
    /// Show the policies of all content databases
    Show,
    /// Change the policy of a content database, for what is uploaded from now on
    Set {
        /// The content database
        #[arg(long, value_name = "NAME")]
        database: String,
        /// The BLOB store that new BLOBs go to
        #[arg(long, value_name = "STORE", required_unless_present = "minimum_size")]
        active: Option<String>,
        /// BLOBs smaller than this stay in the content database, such as 64k
        #[arg(long, value_name = "SIZE", value_parser = parse_size)]
        minimum_size: Option<u64>,
    },
}

/// Runs `strongroom blobs`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let (repository, session) = commands::open(&arguments.place).await?;
    let outcome = match arguments.action {
        Action::Status => status(&session).await,
        Action::Check => check(&session, arguments.place.json).await,
        Action::Policy { action: PolicyAction::Show } => {
            session.storage_policies().await.map(|policies| policies_shown(&policies))
        }
        Action::Policy { action: PolicyAction::Set { database, active, minimum_size } } => session
            .set_storage_policy(&database, active.as_deref(), minimum_size)
            .await
            .map(|policy| (policy_json(&policy), policies_shown(std::slice::from_ref(&policy)).1, true)),
    };
    repository.close().await;
    let (value, text, is_sound) = outcome?;
    show(arguments.place.json, &value, &text);
    Ok(if is_sound { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

type Shown = (Value, String, bool);

async fn status(session: &Session) -> Result<Shown> {
    let (databases, stores) = session.storage_status().await?;
    let mut rows = Vec::new();
    for database in &databases {
        let policy = format!("{} from {}", database.active_store, size(database.minimum_size));
        let references: Vec<_> =
            database.references.iter().map(|(store, n, bytes)| format!("{n} in {store} ({})", size(*bytes))).collect();
        let references = if references.is_empty() { "none".to_owned() } else { references.join(", ") };
        rows.push([database.name.clone(), database.engine.to_owned(), size(database.bytes), policy, references]);
    }
    let mut text = table(["DATABASE", "ENGINE", "SIZE", "NEW BLOBS GO TO", "REFERS TO BLOBS"], &rows);
    let store_rows: Vec<_> = stores
        .iter()
        .map(|store| {
            let usage = store.usage.as_ref();
            let or_unknown = |value: Option<String>| value.unwrap_or_else(|| "does not answer".to_owned());
            [
                store.name.clone(),
                store.kind.clone(),
                store.state.clone(),
                or_unknown(usage.map(|usage| usage.blobs.to_string())),
                usage.map_or_else(String::new, |usage| size(usage.content_bytes)),
                usage.map_or_else(String::new, |usage| size(usage.disk_bytes)),
                store.location.clone(),
            ]
        })
        .collect();
    text.push('\n');
    text.push_str(&table(["STORE", "KIND", "STATE", "BLOBS", "CONTENT", "ON DISK", "PLACE"], &store_rows));
    let value = json!({
        "databases": databases.iter().map(|database| json!({
            "name": database.name,
            "engine": database.engine,
            "bytes": database.bytes,
            "active_store": database.active_store,
            "minimum_size": database.minimum_size,
            "references": database.references.iter().map(|(store, blobs, bytes)| json!({
                "store": store, "blobs": blobs, "bytes": bytes,
            })).collect::<Value>(),
        })).collect::<Value>(),
        "stores": stores.iter().map(|store| json!({
            "name": store.name,
            "kind": store.kind,
            "state": store.state,
            "location": store.location,
            "answers": store.usage.is_some(),
            "blobs": store.usage.map(|usage| usage.blobs),
            "content_bytes": store.usage.map(|usage| usage.content_bytes),
            "disk_bytes": store.usage.map(|usage| usage.disk_bytes),
            "reclaimable_bytes": store.usage.map(|usage| usage.reclaimable_bytes),
            "free_bytes": store.usage.and_then(|usage| usage.free_bytes),
        })).collect::<Value>(),
    });
    Ok((value, text, true))
}

async fn check(session: &Session, as_json: bool) -> Result<Shown> {
    let bar = (!as_json && std::io::stderr().is_terminal()).then(new_bar);
    let started = Instant::now();
    let progress = |bytes, all| {
        if let Some(bar) = &bar {
            bar.set_length(all);
            bar.set_position(bytes);
            bar.set_message(pace(bytes, all, started.elapsed(), true).trim_start_matches(", ").to_owned());
        }
    };
    let report = session.check_blobs(progress).await;
    if let Some(bar) = &bar {
        bar.finish_and_clear();
    }
    let report = report?;
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for fault in &report.faults {
        let documents = named(session, fault).await;
        let shown: Vec<&str> = documents.iter().map(|(_, path)| path.as_str()).collect();
        let shown = if shown.is_empty() { "none".to_owned() } else { shown.join(", ") };
        rows.push([fault.state.to_owned(), fault.store.clone(), shown, digest(fault), fault.detail.clone()]);
        faults.push(json!({
            "digest": fault.digest.map(|digest| digest.to_string()),
            "store": fault.store,
            "state": fault.state,
            "detail": fault.detail,
            "documents": documents.iter().map(|(id, path)| json!({ "id": id, "path": path })).collect::<Value>(),
        }));
    }
    let value = json!({
        "blobs": report.blobs,
        "bytes": report.bytes,
        "references": report.references,
        "unreferenced_blobs": report.unreferenced.0,
        "unreferenced_bytes": report.unreferenced.1,
        "faults": faults,
    });
    Ok((value, summary(&report) + &fault_table(&rows), report.faults.is_empty()))
}

fn summary(report: &CheckReport) -> String {
    let mut text = format!(
        "{} BLOBs ({}) re-read, {} references followed: {}.\n",
        report.blobs,
        size(report.bytes),
        report.references,
        match report.faults.len() {
            0 => "all are there and undamaged".to_owned(),
            n => format!("{n} faults"),
        }
    );
    if report.unreferenced.0 > 0 {
        text.push_str(&format!(
            "{} BLOBs ({}) belong to no document: uploads that did not come to their end, or what was deleted. They do no harm.\n",
            report.unreferenced.0,
            size(report.unreferenced.1)
        ));
    }
    text
}

fn fault_table(rows: &[[String; 5]]) -> String {
    if rows.is_empty() {
        return String::new();
    }
    format!(
        "\n{}\nUpload these documents again or restore them from a backup; a new upload of the same bytes repairs all of them.\n",
        table(["STATE", "STORE", "DOCUMENTS", "BLOB", "WHERE AND WHAT"], rows)
    )
}

/// Identifiers and paths of the documents that need a BLOB; of what lies in a recycle bin, the name.
async fn named(session: &Session, fault: &CheckedBlob) -> Vec<(String, String)> {
    let mut documents = Vec::with_capacity(fault.documents.len());
    for (id, name) in &fault.documents {
        let path = match session.item(&(*id).into()).await {
            Ok(item) => item.path,
            Err(_) => format!("{name} (in a recycle bin)"),
        };
        documents.push((id.to_string(), path));
    }
    documents
}

fn digest(fault: &CheckedBlob) -> String {
    fault.digest.map_or_else(|| "unknown".to_owned(), |digest| digest.to_string())
}

fn policy_json(policy: &StoragePolicy) -> Value {
    json!({
        "database": policy.database,
        "active_store": policy.active_store,
        "minimum_size": policy.minimum_size,
    })
}

fn policies_shown(policies: &[StoragePolicy]) -> Shown {
    let row = |policy: &StoragePolicy| {
        [policy.database.clone(), policy.active_store.clone(), format!("{} bytes", policy.minimum_size)]
    };
    let rows: Vec<_> = policies.iter().map(row).collect();
    (policies.iter().map(policy_json).collect(), table(["DATABASE", "ACTIVE STORE", "MINIMUM SIZE"], &rows), true)
}

//! `strongroom blobs check`: re-reads everything and names the documents of what is missing or damaged.

use std::io::IsTerminal;
use std::time::Instant;

use model::{Result, counted};
use repository::{CheckReport, CheckedBlob, Session};
use serde_json::{Value, json};

use super::Shown;
use crate::commands::output::table;
use crate::commands::transfer::{new_bar, pace, size};

pub async fn check(session: &Session, as_json: bool) -> Result<Shown> {
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
        "{} ({}) re-read, {} followed: {}.\n",
        counted(report.blobs, "BLOB"),
        size(report.bytes),
        counted(report.references, "reference"),
        match report.faults.len() {
            0 => "all are there and undamaged".to_owned(),
            n => counted(n as u64, "fault"),
        }
    );
    if report.unreferenced.0 > 0 {
        text.push_str(&format!(
            "{} ({}) of no document: from uploads that did not come to their end, or what was deleted. That does no harm.\n",
            counted(report.unreferenced.0, "BLOB"),
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
        "\n{}\n`strongroom blobs repair --from-backup PLACE` brings back from a backup what documents need; a new upload of the same bytes does as well. \
         What is damaged and needed by no document, such as a file that belongs elsewhere, is removed by hand.\n",
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

//! `strongroom blobs faults` and `strongroom blobs accept-loss`: missing and damaged BLOBs.

use model::{Digest, Result};
use repository::{BlobFault, Session};
use serde_json::{Value, json};

use crate::commands::output::{table, time};
use crate::commands::verdict::{CommandResult, Verdict};

/// Faults read per page.
const PAGE: usize = 1_000;
/// Maximum number of faults that a check lists, apart from the rest of the last page.
pub const LISTED: usize = 2_000;
/// Advice on repairing missing and damaged BLOBs.
pub const REPAIR_ADVICE: &str = "`strongroom blobs repair --from-backup BACKUP` brings missing and damaged BLOBs back \
    from a \
                           backup, while the farm is in use.";

/// Lists faults. The verdict is good if every listed fault is accepted.
pub async fn list(session: &Session) -> Result<CommandResult> {
    let (faults, next) = session.blob_faults(None, PAGE).await?;
    let value = faults.iter().map(fault_json).collect();
    let mut text = match faults.is_empty() {
        true => "No BLOB is known to be missing or damaged. `strongroom blobs check` checks all of them.\n".to_owned(),
        false if faults.iter().all(|fault| fault.accepted.is_some()) => fault_table(&faults),
        false => format!("{}\n{REPAIR_ADVICE}\n", fault_table(&faults)),
    };
    if next.is_some() {
        text.push_str(&format!("There are more than these {PAGE}.\n"));
    }
    Ok((value, text, faults.iter().all(|fault| fault.accepted.is_some()).into()))
}

/// Recorded faults, of one store if `store` is given. Stops after the page that reaches [`LISTED`].
pub async fn on_record(session: &Session, store: Option<&str>) -> Result<Vec<BlobFault>> {
    let (mut found, mut after): (Vec<BlobFault>, Option<Digest>) = (Vec::new(), None);
    while found.len() < LISTED {
        let (page, next) = session.blob_faults(after, PAGE).await?;
        found.extend(page.into_iter().filter(|fault| store.is_none_or(|store| store == fault.store)));
        after = next;
        if after.is_none() {
            break;
        }
    }
    Ok(found)
}

/// A fault as JSON.
pub fn fault_json(fault: &BlobFault) -> Value {
    json!({
        "database": fault.database,
        "store": fault.store,
        "digest": fault.digest.to_string(),
        "state": fault.state.as_str(),
        "detail": fault.detail,
        "found_at": time(fault.found_at),
        "accepted_at": fault.accepted.map(|(at, _)| time(at)),
        "documents": fault.documents.iter()
            .map(|document| json!({ "id": document.id.to_string(), "name": document.name, "path": document.path }))
            .collect::<Value>(),
    })
}

/// Faults as a text table.
pub fn fault_table(faults: &[BlobFault]) -> String {
    let row = |fault: &BlobFault| {
        let documents: Vec<String> = fault
            .documents
            .iter()
            .map(|document| match &document.path {
                Some(path) => path.clone(),
                None => format!("{} (in a recycle bin, or not visible to you)", document.name),
            })
            .collect();
        let documents = if documents.is_empty() { "none".to_owned() } else { documents.join(", ") };
        let state =
            if fault.accepted.is_some() { format!("{}, accepted", fault.state) } else { fault.state.to_string() };
        [state, fault.store.clone(), documents, fault.digest.to_string(), time(fault.found_at), fault.detail.clone()]
    };
    let rows: Vec<_> = faults.iter().map(row).collect();
    table(["STATE", "STORE", "DOCUMENTS", "BLOB", "FOUND", "DETAILS"], &rows)
}

/// Records a loss as accepted.
pub async fn accept(session: &Session, digest: Digest) -> Result<CommandResult> {
    session.accept_loss(digest).await?;
    Ok((
        json!({ "digest": digest.to_string(), "state": "accepted" }),
        "The loss is recorded as accepted.\n".to_owned(),
        Verdict::Good,
    ))
}

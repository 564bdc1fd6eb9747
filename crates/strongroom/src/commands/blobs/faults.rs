//! `strongroom blobs faults` and `accept-loss`: BLOBs that are missing or damaged.

use model::{Digest, Result};
use repository::Session;
use serde_json::{Value, json};

use super::Shown;
use crate::commands::output::{table, time};

/// Faults of one page.
const PAGE: usize = 1_000;

/// Lists faults; all is well when each is accepted.
pub async fn list(session: &Session) -> Result<Shown> {
    let (faults, _) = session.blob_faults(None, PAGE).await?;
    let rows: Vec<_> = faults
        .iter()
        .map(|fault| {
            let documents: Vec<&str> = fault.documents.iter().map(|(_, name)| name.as_str()).collect();
            let state =
                if fault.accepted.is_some() { format!("{}, accepted", fault.state) } else { fault.state.clone() };
            [state, fault.store.clone(), documents.join(", "), fault.digest.to_string(), time(fault.found_at)]
        })
        .collect();
    let value = faults
        .iter()
        .map(|fault| {
            json!({
                "database": fault.database,
                "store": fault.store,
                "digest": fault.digest.to_string(),
                "state": fault.state,
                "detail": fault.detail,
                "found_at": time(fault.found_at),
                "accepted_at": fault.accepted.map(|(at, _)| time(at)),
                "documents": fault.documents.iter().map(|(id, name)| json!({ "id": id.to_string(), "name": name }))
                    .collect::<Value>(),
            })
        })
        .collect();
    let text = match rows.is_empty() {
        true => {
            "No BLOB is known to be missing or damaged. `strongroom blobs check` looks at all of them.\n".to_owned()
        }
        false => table(["STATE", "STORE", "DOCUMENTS", "BLOB", "FOUND"], &rows),
    };
    Ok((value, text, faults.iter().all(|fault| fault.accepted.is_some())))
}

/// Puts a loss on record.
pub async fn accept(session: &Session, digest: Digest) -> Result<Shown> {
    session.accept_loss(digest).await?;
    Ok((json!({ "digest": digest.to_string(), "state": "accepted" }), "The loss is on record.\n".to_owned(), true))
}

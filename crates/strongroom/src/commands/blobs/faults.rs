//! `strongroom blobs faults` and `strongroom blobs accept-loss`: missing and damaged BLOBs.

use model::{Digest, Result};
use repository::{BlobFault, Session};
use serde_json::{Value, json};

use crate::commands::output::{table, time};
use crate::commands::verdict::{CommandResult, Verdict};

/// Faults read per page.
const PAGE: usize = 1_000;
/// Maximum number of faults that a check lists, apart from the rest of the last page.
pub const MAX_LISTED: usize = 2_000;
/// Advice on repairing missing and damaged BLOBs.
pub const REPAIR_ADVICE: &str = "`strongroom blobs repair --from-backup BACKUP` brings missing and damaged BLOBs back \
    from a \
                           backup, while the farm is in use.";

/// Lists faults. The verdict is good if every recorded fault is accepted.
pub async fn list(session: &Session) -> Result<CommandResult> {
    let (faults, is_complete) = first_faults(async |after| session.blob_faults(after, PAGE).await).await?;
    let value = faults.iter().map(fault_json).collect();
    let has_open = faults.iter().any(is_open);
    let mut text = match faults.is_empty() {
        true => "No BLOB is known to be missing or damaged. `strongroom blobs check` checks all of them.\n".to_owned(),
        false if has_open => format!("{}\n{REPAIR_ADVICE}\n", fault_table(&faults)),
        false => fault_table(&faults),
    };
    if !is_complete {
        text.push_str(&format!("There are more than these {}.\n", faults.len()));
    }
    Ok((value, text, (!has_open).into()))
}

/// Reads the faults that a list shows, and whether these are all: the first page, and if it has only accepted faults,
/// the open ones of the next page that has any.
async fn first_faults(
    page_after: impl AsyncFn(Option<Digest>) -> Result<(Vec<BlobFault>, Option<Digest>)>,
) -> Result<(Vec<BlobFault>, bool)> {
    let (mut faults, mut next) = page_after(None).await?;
    let is_complete = next.is_none();
    while next.is_some() && !faults.iter().any(is_open) {
        let (page, further) = page_after(next).await?;
        faults.extend(page.into_iter().filter(is_open));
        next = further;
    }
    Ok((faults, is_complete))
}

fn is_open(fault: &BlobFault) -> bool {
    fault.accepted.is_none()
}

/// Recorded faults, of one store if `store` is given. Stops after the page that reaches [`MAX_LISTED`].
pub async fn on_record(session: &Session, store: Option<&str>) -> Result<Vec<BlobFault>> {
    let (mut found, mut after): (Vec<BlobFault>, Option<Digest>) = (Vec::new(), None);
    while found.len() < MAX_LISTED {
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
                None => format!("{} (in a recycle bin, or not readable)", document.name),
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

#[cfg(test)]
mod tests {
    use model::{Id, Timestamp};

    use super::*;

    fn fault(number: u8, is_accepted: bool) -> BlobFault {
        let at = Timestamp::from_micros(0);
        BlobFault {
            database: "main".to_owned(),
            store: "files".to_owned(),
            digest: Digest::new([number; 32]),
            state: model::FaultState::Missing,
            detail: String::new(),
            found_at: at,
            accepted: is_accepted.then_some((at, Id::new(1))),
            documents: Vec::new(),
        }
    }

    /// The numbers of the faults listed of these pages, and whether these are all.
    async fn listed(pages: &[&[(u8, bool)]]) -> (Vec<u8>, bool) {
        let page_after = async |after: Option<Digest>| {
            let place = after.map_or(0, |digest| usize::from(digest.as_bytes()[0]));
            let next = (place + 1 < pages.len()).then(|| Digest::new([place as u8 + 1; 32]));
            Ok((pages[place].iter().map(|(number, is_accepted)| fault(*number, *is_accepted)).collect(), next))
        };
        let (faults, is_complete) = first_faults(page_after).await.unwrap();
        (faults.iter().map(|fault| fault.digest.as_bytes()[0]).collect(), is_complete)
    }

    #[tokio::test]
    async fn an_open_fault_behind_a_page_of_accepted_ones_is_listed() {
        assert_eq!(listed(&[&[]]).await, (vec![], true));
        assert_eq!(listed(&[&[(1, true)]]).await, (vec![1], true));
        let hidden: [&[(u8, bool)]; 4] =
            [&[(1, true), (2, true)], &[(3, true)], &[(4, true), (5, false)], &[(6, false)]];
        assert_eq!(listed(&hidden).await, (vec![1, 2, 5], false));
        assert_eq!(listed(&[&[(1, true), (2, false)], &[(3, false)]]).await, (vec![1, 2], false));
    }
}

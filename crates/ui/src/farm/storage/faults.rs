//! The page of BLOBs that a check found missing or damaged, with their repair or the acceptance of their loss.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Digest, Error, FaultState, Id};
use repository::BlobFault;
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::page::{Page, html};
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{address, navigation};
use crate::wording::unavailable;

/// URL of the page.
const HERE: &str = "/farm/faults";
/// Faults read per page.
const PAGE: usize = 50;
/// Limit on documents shown per fault.
const MAX_DOCUMENTS: usize = 5;

/// Query parameters: the start of the page.
#[derive(Default, Deserialize)]
pub struct After {
    /// Last digest of the previous page.
    #[serde(default)]
    after: String,
}

#[derive(Template)]
#[template(path = "faults.html")]
struct FaultsPage<'a> {
    page: &'a Page,
    /// Names of unavailable content databases, or empty.
    away: String,
    rows: Vec<FaultRow>,
    next: Option<Digest>,
}

struct FaultRow {
    fault: BlobFault,
    state: &'static str,
    /// Path and URL of each document. A document in a recycle bin has no URL.
    documents: Vec<(String, Option<String>)>,
    more: usize,
    accepted_by: String,
}

/// Shows the list.
pub async fn list(mut visit: Visit, Query(from): Query<After>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let after = if from.after.is_empty() { None } else { Some(from.after.parse()?) };
    let (faults, next) = visit.session.blob_faults(after, PAGE).await?;
    let people: Vec<Id> = faults.iter().filter_map(|fault| fault.accepted.map(|(_, by)| by)).collect();
    let names = visit.session.principal_names(&people).await?;
    let away = unavailable::named(&visit.page, &visit.session.databases_away().await?);
    let page = &visit.page;
    let mut rows = Vec::with_capacity(faults.len());
    for fault in faults {
        rows.push(FaultRow {
            state: match fault.state {
                FaultState::Missing => page.s("faults.missing"),
                FaultState::Damaged => page.s("faults.damaged"),
            },
            documents: documents(&fault),
            more: fault.documents.len().saturating_sub(MAX_DOCUMENTS),
            accepted_by: fault
                .accepted
                .and_then(|(_, by)| names.get(&by).map(|found| found.name.clone()))
                .unwrap_or_default(),
            fault,
        });
    }
    Ok(html(&FaultsPage { page, away, rows, next }))
}

fn documents(fault: &BlobFault) -> Vec<(String, Option<String>)> {
    let shown = fault.documents.iter().take(MAX_DOCUMENTS);
    shown
        .map(|document| match &document.path {
            Some(path) => (path.clone(), Some(address::browse(path))),
            None => (document.name.clone(), None),
        })
        .collect()
}

/// Repairs a BLOB, or accepts its loss.
pub async fn resolve(Path(digest): Path<String>, sent: SubmittedForm) -> PageResult {
    let digest: Digest = digest.parse()?;
    let session = &sent.visit.session;
    let flash = match sent.fields.text("do").as_str() {
        "repair" => Flash::new("toast.repaired", session.repair_blob(digest).await?),
        "accept" => {
            session.accept_loss(digest).await?;
            Flash::new("toast.accepted", "")
        }
        _ => return Err(Error::invalid("a damaged BLOB can be repaired, or its loss accepted").into()),
    };
    Ok(done(HERE, &flash))
}

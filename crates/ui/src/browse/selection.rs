//! Actions on the selected rows of a listing.

use axum::Json;
use axum::response::{IntoResponse, Redirect};
use model::{Error, Id, Result};
use repository::{CheckIn, Item, Target};
use serde::Serialize;

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, Undo, done};
use crate::frame::refuse;
use crate::frame::visit::{SubmittedForm, Visit};
use http_core::protocol::segments::encode_query;

/// Redirects from the selected rows to the choice of a destination for moving.
pub async fn selected_move(sent: SubmittedForm) -> PageResult {
    to_choice(&sent, "move")
}

/// Redirects from the selected rows to the choice of a destination for copying.
pub async fn selected_copy(sent: SubmittedForm) -> PageResult {
    to_choice(&sent, "copy")
}

fn to_choice(sent: &SubmittedForm, action: &str) -> PageResult {
    let ids = join(&sent.fields.ids("ids")?);
    let next = encode_query(&sent.fields.next(""));
    Ok(Redirect::to(&format!("/place?action={action}&ids={ids}&next={next}")).into_response())
}

/// Sends the selected rows as an archive.
pub async fn selected_archive(sent: SubmittedForm) -> PageResult {
    Ok(http_core::transfer::bundle::send(&sent.visit.session, &sent.fields.ids("ids")?).await?)
}

/// Checks out the selected documents for the caller.
pub async fn selected_check_out(sent: SubmittedForm) -> PageResult {
    let ids = sent.fields.ids("ids")?;
    let mut failed = Vec::new();
    for id in &ids {
        if let Err(error) = sent.visit.session.check_out(&Target::Id(*id)).await {
            failed.push((*id, error));
        }
    }
    let next = sent.fields.next("/");
    finish(&sent, failed, &next, Flash::new("toast.checked-out", "")).await
}

/// Checks in the selected documents, as drafts where the library keeps drafts.
pub async fn selected_check_in(sent: SubmittedForm) -> PageResult {
    let mut failed = Vec::new();
    for id in sent.fields.ids("ids")? {
        if let Err(error) = sent.visit.session.check_in(&Target::Id(id), CheckIn::default()).await {
            failed.push((id, error));
        }
    }
    let next = sent.fields.next("/");
    finish(&sent, failed, &next, Flash::new("toast.checked-in-many", "")).await
}

/// Publishes the drafts of the selected documents.
pub async fn selected_publish(sent: SubmittedForm) -> PageResult {
    let mut failed = Vec::new();
    for id in sent.fields.ids("ids")? {
        if let Err(error) = sent.visit.session.publish(&Target::Id(id), "").await {
            failed.push((id, error));
        }
    }
    let next = sent.fields.next("/");
    finish(&sent, failed, &next, Flash::new("toast.published-many", "")).await
}

/// Deletes the selected rows. One undo restores all of them, or leads to the recycle bin when they are too many for the
/// message cookie.
pub async fn selected_delete(sent: SubmittedForm) -> PageResult {
    let ids = sent.fields.ids("ids")?;
    let (mut first, mut entries, mut failed) = (None, Vec::new(), Vec::new());
    for id in &ids {
        match delete_one(&sent, *id).await {
            Ok((item, entry)) => {
                entries.push(entry);
                first.get_or_insert(item);
            }
            Err(error) => failed.push((*id, error)),
        }
    }
    let next = sent.fields.next("/");
    let undo = first.as_ref().map_or(Undo::Nothing, |item| Undo::of(item.collection_id, &entries));
    let (key, name) = match first {
        Some(item) if entries.len() == 1 => ("toast.deleted", item.name),
        _ => ("toast.deleted-many", sent.visit.page.language.number(entries.len() as u64)),
    };
    let flash = Flash { key, name, undo };
    finish(&sent, failed, &next, flash).await
}

async fn delete_one(sent: &SubmittedForm, id: Id) -> Result<(Item, Id)> {
    let item = sent.visit.session.item(&Target::Id(id)).await?;
    let entry = sent.visit.session.delete(&Target::Id(id)).await?;
    Ok((item, entry))
}

/// Answer to a script that sends a large selection in batches.
#[derive(Serialize)]
struct BatchOutcome {
    done: usize,
    failed: usize,
    /// Name of the first item that failed, and why; empty if none failed.
    first_error: String,
}

/// Returns whether a script sends a batch of a large selection.
pub fn is_batch(sent: &SubmittedForm) -> bool {
    sent.fields.yes("batch")
}

/// Ends an operation on several items. If all failed, the response is the first error; otherwise the message names the
/// first item that failed, and why. A script that sends batches gets the numbers.
pub async fn finish(sent: &SubmittedForm, failed: Vec<(Id, Error)>, next: &str, flash: Flash) -> PageResult {
    let all = sent.fields.ids("ids")?.len();
    let count = failed.len();
    let first = failed.into_iter().next();
    if is_batch(sent) {
        let first_error = match &first {
            Some((id, error)) => failure(&sent.visit, *id, error).await,
            None => String::new(),
        };
        return Ok(Json(BatchOutcome { done: all - count, failed: count, first_error }).into_response());
    }
    match first {
        None => Ok(done(next, &flash)),
        Some((_, error)) if count == all => Err(error.into()),
        Some((id, error)) => {
            let name = format!("{count}/{all}, {}", failure(&sent.visit, id, &error).await);
            Ok(done(next, &Flash { key: "toast.some-failed", name, undo: flash.undo }))
        }
    }
}

/// Returns the name of an item with the reason why something failed on it. What cannot be found any more has no name.
pub async fn failure(visit: &Visit, id: Id, error: &Error) -> String {
    let reason = refuse::message_for(&visit.page, error);
    match visit.session.item(&Target::Id(id)).await {
        Ok(item) => format!("{}: {reason}", visit.page.f1("place.name", item.shown_name())),
        Err(_) => reason,
    }
}

/// Returns identifiers separated by commas.
pub fn join(ids: &[Id]) -> String {
    ids.iter().map(Id::to_string).collect::<Vec<_>>().join(",")
}

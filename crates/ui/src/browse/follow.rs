//! Following documents, and pinning places.

use axum::extract::Path;
use model::NodeKind;
use repository::Target;

use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::visit::SubmittedForm;
use crate::frame::{address, item};

/// Follows or unfollows a document, or pins or unpins a place.
pub async fn follow(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let item = item::find(&sent.visit, &id).await?;
    let follow = sent.fields.yes("follow");
    sent.visit.session.set_followed(&Target::Id(item.id), follow).await?;
    let key = match (item.kind, follow) {
        (NodeKind::Document, true) => "toast.followed",
        (NodeKind::Document, false) => "toast.left",
        (_, true) => "toast.pinned",
        (_, false) => "toast.unpinned",
    };
    Ok(done(&sent.fields.next(&address::browse(&item.path)), &Flash::new(key, item.name)))
}

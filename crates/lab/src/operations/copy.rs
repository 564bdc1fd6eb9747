//! Copying a document of the corpus into the user's folder.

use super::moving;
use super::operation::{EVERYWHERE, Operation};
use super::share::Share;
use super::upload::has_own;
use super::user::User;
use crate::wire::{Fault, RequestBuilder, TargetKind};

/// Copying a document of the corpus into the user's folder.
pub const OPERATION: Operation = Operation {
    name: "copy",
    description: "Copying a document of the corpus into the user's folder",
    offered_by: EVERYWHERE,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: has_own,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let target = user.crowd.target.clone();
    let document = user.any_document(share)?;
    let from = user.crowd.corpus.path(&document);
    let serial = user.next_serial();
    let name = format!("{}-{serial} copy {}", user.number, document.name);
    let folder = user.own_folder();
    match target.kind {
        TargetKind::Strongroom => {
            let id = user.document_id(&document).await?;
            let to = user.id_at(&folder).await?;
            let ask = RequestBuilder::new(hyper::Method::POST, format!("/api/v1/items/{id}/copy"));
            let ask = ask.json(&serde_json::json!({ "to": to, "name": name }));
            user.client.send(ask).await?.expect(&[201]).map(drop)
        }
        TargetKind::Webdav => moving::send_move_or_copy(user, "COPY", &from, &format!("{folder}/{name}")).await,
    }
}

//! The versions of a document.

use super::operation::{Operation, STRONGROOM, no_preparation};
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// The versions of a document.
pub const OPERATION: Operation = Operation {
    name: "versions",
    description: "The versions of a document",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let id = user.document_id(&document).await?;
    let answer = user.client.send(RequestBuilder::get(format!("/api/v1/items/{id}/versions"))).await?.expect(&[200])?;
    let found = answer.json()?["items"].as_array().map_or(0, Vec::len);
    if found == 0 { Err(Fault::content("the list of a document's versions is empty")) } else { Ok(()) }
}

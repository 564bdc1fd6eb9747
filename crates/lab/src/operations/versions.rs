//! The versions of a document.

use super::operation::{Operation, STRONGROOM, nothing};
use super::share::Share;
use super::user::User;
use crate::wire::{Ask, Fault};

/// The versions of a document.
pub const OPERATION: Operation = Operation {
    name: "versions",
    what: "The versions of a document",
    offered_by: STRONGROOM,
    changes: false,
    describes: false,
    signs_in: false,
    prepare: nothing,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let id = user.id_of(&document).await?;
    let answer = user.client.send(Ask::get(format!("/api/v1/items/{id}/versions"))).await?.expect(&[200])?;
    let found = answer.json()?["items"].as_array().map_or(0, Vec::len);
    if found == 0 { Err(Fault::content("the list of a document's versions is empty")) } else { Ok(()) }
}

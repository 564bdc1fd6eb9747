//! Downloading a document and comparing it byte for byte.

use super::operation::{EVERYWHERE, Operation, nothing};
use super::share::Share;
use super::user::User;
use crate::wire::{Ask, Fault, address};

/// Downloading a document and comparing it byte for byte.
pub const OPERATION: Operation = Operation {
    name: "download",
    what: "Downloading a document and comparing it byte for byte",
    offered_by: EVERYWHERE,
    changes: false,
    describes: false,
    signs_in: false,
    prepare: nothing,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let address = address::content(&user.crowd.target, &user.crowd.corpus.path(&document));
    let verifier = user.crowd.corpus.verifier(&document);
    user.client.verify(Ask::get(address), verifier).await
}

//! Downloading a document and comparing it byte for byte.

use super::operation::{EVERYWHERE, Operation, no_preparation};
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBuilder, address};

/// Downloading a document and comparing it byte for byte.
pub const OPERATION: Operation = Operation {
    name: "download",
    description: "Downloading a document and comparing it byte for byte",
    offered_by: EVERYWHERE,
    changes: false,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let address = address::content_address(&user.crowd.target, &user.crowd.corpus.path(&document));
    let verifier = user.crowd.corpus.verifier(&document);
    user.client.verify(RequestBuilder::get(address), verifier).await
}

//! Uploading a new version of a document.

use super::operation::{EVERYWHERE, Operation, no_preparation};
use super::share::Share;
use super::upload;
use super::user::User;
use crate::wire::Fault;

/// Uploading a new version of a document.
pub const OPERATION: Operation = Operation {
    name: "replace",
    description: "A new version of a document",
    offered_by: EVERYWHERE,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let path = user.crowd.corpus.path(&document);
    let version = user.random.u32(1..);
    upload::put(user, &path, &document, version).await
}

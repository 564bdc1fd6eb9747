//! Deleting a document that the user uploaded.

use super::operation::{EVERYWHERE, Operation};
use super::share::Share;
use super::upload::has_own;
use super::user::User;
use crate::wire::{Fault, RequestBuilder, address};

/// Deleting a document that the user uploaded.
pub const OPERATION: Operation = Operation {
    name: "delete",
    description: "Deleting a document that the user uploaded",
    offered_by: EVERYWHERE,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: has_own,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let (path, _) = user.uploads.pop_front().ok_or_else(|| Fault::content("the user has nothing to delete"))?;
    let address = address::content_address(&user.crowd.target, &path);
    user.client.send(RequestBuilder::new(hyper::Method::DELETE, address)).await?.expect(&[200, 204]).map(drop)
}

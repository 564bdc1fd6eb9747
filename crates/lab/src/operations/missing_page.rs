//! Request for an address that does not exist; the expected status is 404.

use super::operation::{EVERYWHERE, Operation, no_preparation};
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBuilder, address};

/// Request for an address that does not exist; the expected status is 404.
pub const OPERATION: Operation = Operation {
    name: "missing-page",
    description: "A page that does not exist",
    offered_by: EVERYWHERE,
    changes: false,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let path = format!("{}.missing-{}", user.crowd.corpus.path(&document), user.next_serial());
    let address = address::content_address(&user.crowd.target, &path);
    user.client.send(RequestBuilder::get(address)).await?.expect(&[404]).map(drop)
}

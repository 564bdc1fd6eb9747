//! Request for an address that does not exist; the expected status is 404.

use super::operation::{EVERYWHERE, Operation, nothing};
use super::share::Share;
use super::user::User;
use crate::wire::{Ask, Fault, address};

/// Request for an address that does not exist; the expected status is 404.
pub const OPERATION: Operation = Operation {
    name: "missing-page",
    what: "A page that does not exist",
    offered_by: EVERYWHERE,
    changes: false,
    describes: false,
    signs_in: false,
    prepare: nothing,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let path = format!("{}.missing-{}", user.crowd.corpus.path(&document), user.next_serial());
    let address = address::content(&user.crowd.target, &path);
    user.client.send(Ask::get(address)).await?.expect(&[404]).map(drop)
}

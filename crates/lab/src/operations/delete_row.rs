//! Deleting a row that the user added.

use hyper::Method;

use super::new_row::has_row;
use super::operation::{Operation, STRONGROOM};
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Deleting a row that the user added.
pub const OPERATION: Operation = Operation {
    name: "delete-row",
    description: "Deleting a row that the user added",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: has_row,
    run: |user, _| Box::pin(run(user)),
};

async fn run(user: &mut User) -> Result<(), Fault> {
    let id = user.rows.pop_front().ok_or_else(|| Fault::content("the user has no row to delete"))?;
    let ask = RequestBuilder::new(Method::DELETE, format!("/api/v1/items/{id}"));
    let deleted = user.client.send(ask).await?.expect(&[200])?.json()?;
    // The entry of the recycle bin proves that the row is in it.
    if deleted["id"] == id.as_str() && deleted["entry"].is_string() {
        Ok(())
    } else {
        Err(Fault::content(format!("the row {id} was not moved to the recycle bin")))
    }
}

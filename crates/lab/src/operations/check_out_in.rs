//! Checking out a document and checking it in again.

use hyper::Method;

use super::operation::{Operation, STRONGROOM};
use super::share::Share;
use super::upload::has_own;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Checking out a document and checking it in again.
pub const OPERATION: Operation = Operation {
    name: "check-out-in",
    description: "Checking a document out and in again",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: has_own,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let at = user.random.usize(0..user.uploads.len().max(1));
    let path = user.uploads.get(at).map(|(path, _)| path.clone()).unwrap_or_default();
    let id = user.id_at(&path).await?;
    user.client
        .send(RequestBuilder::new(Method::PUT, format!("/api/v1/items/{id}/check-out")))
        .await?
        .expect(&[200, 204])?;
    let said = serde_json::json!({ "comment": "Checked by the load lab" });
    let ask = RequestBuilder::new(Method::POST, format!("/api/v1/items/{id}/check-in")).json(&said);
    user.client.send(ask).await?.expect(&[200]).map(drop)
}

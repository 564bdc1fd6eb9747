//! Creating a site below the site of the corpus.

use super::operation::{Operation, STRONGROOM, no_preparation};
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Creating a site below the site of the corpus.
pub const OPERATION: Operation = Operation {
    name: "make-site",
    description: "A new site below the site of the corpus",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let above = user.id_at("").await?;
    let serial = user.next_serial();
    let name = format!("Lab {} {}-{serial}", user.crowd.run, user.number);
    let ask = RequestBuilder::new(hyper::Method::POST, format!("/api/v1/items/{above}/sites"));
    user.client.send(ask.json(&serde_json::json!({ "name": name }))).await?.expect(&[201]).map(drop)
}

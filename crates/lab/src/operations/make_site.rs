//! Creating an empty site below the site of the corpus.

use super::operation::{Operation, STRONGROOM, no_preparation};
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Creating an empty site below the site of the corpus.
pub const OPERATION: Operation = Operation {
    name: "make-site",
    description: "A new site below the site of the corpus",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, _| Box::pin(make(user, None)),
};

/// Makes a site, from a template if one is named.
pub async fn make(user: &mut User, template: Option<&str>) -> Result<(), Fault> {
    let above = user.id_at("").await?;
    let serial = user.next_serial();
    let name = format!("Lab {} {}-{serial}", user.crowd.run, user.number);
    let ask = RequestBuilder::new(hyper::Method::POST, format!("/api/v1/items/{above}/sites"));
    let wanted = serde_json::json!({ "name": name, "template": template });
    user.client.send(ask.json(&wanted)).await?.expect(&[201]).map(drop)
}

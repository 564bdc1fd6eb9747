//! Renaming a document that the user uploaded.

use hyper::header::HeaderName;

use super::operation::{EVERYWHERE, Operation};
use super::share::Share;
use super::upload::has_own;
use super::user::User;
use crate::wire::{Fault, RequestBuilder, TargetKind, address};

/// Renaming a document that the user uploaded.
pub const OPERATION: Operation = Operation {
    name: "move",
    description: "Renaming a document that the user uploaded",
    offered_by: EVERYWHERE,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: has_own,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let target = user.crowd.target.clone();
    let (path, document) = user.uploads.pop_front().ok_or_else(|| Fault::content("the user has nothing to move"))?;
    let ending = document.name.rsplit('.').next().unwrap_or("bin");
    let serial = user.next_serial();
    let name = format!("{}-{serial} moved.{ending}", user.number);
    let to = format!("{}/{name}", user.own_folder());
    match target.kind {
        TargetKind::Strongroom => {
            let id = user.id_at(&path).await?;
            let ask = RequestBuilder::new(hyper::Method::PATCH, format!("/api/v1/items/{id}"));
            user.client.send(ask.json(&serde_json::json!({ "name": name }))).await?.expect(&[200])?;
        }
        TargetKind::Webdav => send_move_or_copy(user, "MOVE", &path, &to).await?,
    }
    user.remember(to, document);
    Ok(())
}

/// Sends a MOVE or COPY request.
pub async fn send_move_or_copy(user: &mut User, verb: &'static str, from: &str, to: &str) -> Result<(), Fault> {
    let target = user.crowd.target.clone();
    let destination = format!("{}{}", target.url, address::content_address(&target, to));
    let ask = RequestBuilder::new(address::method(verb), address::content_address(&target, from))
        .with(HeaderName::from_static("destination"), &destination)
        .with(HeaderName::from_static("overwrite"), "F");
    user.client.send(ask).await?.expect(&[201, 204]).map(drop)
}

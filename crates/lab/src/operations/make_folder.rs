//! Creating a folder, by REST or MKCOL.

use super::operation::{EVERYWHERE, Operation, Work};
use super::share::Share;
use super::upload::has_own;
use super::user::User;
use crate::wire::{Fault, RequestBuilder, TargetKind, address};

/// Creating a folder, by REST or MKCOL.
pub const OPERATION: Operation = Operation {
    name: "make-folder",
    description: "A new folder, by REST or MKCOL",
    offered_by: EVERYWHERE,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare,
    run: |user, share| Box::pin(run(user, share)),
};

/// Makes sure that the parent folder exists, which an upload creates.
fn prepare<'a>(user: &'a mut User, share: &'a Share) -> Work<'a> {
    has_own(user, share)
}

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let name = format!("New folder {}", user.next_serial());
    let target = user.crowd.target.clone();
    let above = user.own_folder();
    match target.kind {
        TargetKind::Strongroom => {
            let id = user.id_at(&above).await?;
            let ask = RequestBuilder::new(hyper::Method::POST, format!("/api/v1/items/{id}/folders"));
            let ask = ask.json(&serde_json::json!({ "name": name }));
            user.client.send(ask).await?.expect(&[201]).map(drop)
        }
        TargetKind::Webdav => {
            let address = format!("{}/", address::content_address(&target, &format!("{above}/{name}")));
            user.client.send(RequestBuilder::new(address::method("MKCOL"), address)).await?.expect(&[201]).map(drop)
        }
    }
}

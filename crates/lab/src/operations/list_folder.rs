//! The first entries of a folder, by REST or PROPFIND.

use super::operation::{EVERYWHERE, Operation, no_preparation};
use super::properties;
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBuilder, TargetKind, address};

/// The first entries of a folder, by REST or PROPFIND.
pub const OPERATION: Operation = Operation {
    name: "list-folder",
    description: "The first entries of a folder, by REST or PROPFIND",
    offered_by: EVERYWHERE,
    changes: false,
    needs_propfind: true,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let folder = user.crowd.corpus.folder_path(&document);
    let target = user.crowd.target.clone();
    match target.kind {
        TargetKind::Strongroom => {
            let address = format!("{}&limit=50", address::item_address(&target, "/children", &folder));
            let answer = user.client.send(RequestBuilder::get(address)).await?.expect(&[200])?;
            let found = answer.json()?["items"].as_array().map_or(0, Vec::len);
            if found == 0 { Err(Fault::content(format!("{folder} is listed as empty"))) } else { Ok(()) }
        }
        TargetKind::Webdav => {
            properties::find(user, &format!("{}/", address::content_address(&target, &folder)), "1", 2).await
        }
    }
}

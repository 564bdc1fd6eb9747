//! The page of a folder with its documents and resources.

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::{Fault, address, encode};

/// The page of a folder with its documents and resources.
pub const OPERATION: Operation = Operation {
    name: "library-page",
    description: "The page of a folder with its documents and resources",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: signed_in,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let path = address::target_path(&user.crowd.target, &user.crowd.corpus.folder_path(&document));
    let name = user.crowd.corpus.folder_name(document.folder);
    page::get(user, &format!("/browse/{}", encode(&path)), &name).await.map(drop)
}

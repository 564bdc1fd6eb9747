//! The page of a folder as a view: documents newest first, in chosen columns.

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::{Fault, address, encode};

/// The page of a folder as a view: documents newest first, in chosen columns.
pub const OPERATION: Operation = Operation {
    name: "library-view",
    description: "The page of a folder as a view: newest first, in chosen columns",
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
    let view = format!("/browse/{}?sort=modified&order=descending&cols=modified,by,size,version", encode(&path));
    page::get(user, &view, "aria-sort=\"descending\"").await.map(drop)
}

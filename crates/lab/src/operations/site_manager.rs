//! The site manager: the tree of the site of the corpus, with sizes.

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::Fault;

/// The site manager.
pub const OPERATION: Operation = Operation {
    name: "site-manager",
    description: "The site manager: the tree of the site of the corpus with sizes, and its contents",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: signed_in,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let site = user.id_at("").await?;
    page::get(user, &format!("/items/{site}/manage"), "id=\"manager\"").await.map(drop)
}

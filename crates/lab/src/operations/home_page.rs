//! The start page with its resources.

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::Fault;

/// The start page with its resources.
pub const OPERATION: Operation = Operation {
    name: "home-page",
    description: "The start page with its resources",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: signed_in,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    page::get(user, "/", "action=\"/sign-out\"").await.map(drop)
}

//! The user's own page with settings and sessions.

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::Fault;

/// The user's own page with settings and sessions.
pub const OPERATION: Operation = Operation {
    name: "own-page",
    description: "The user's own page with settings and sessions",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: signed_in,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    page::get(user, "/account", "action=\"/account/preferences\"").await.map(drop)
}

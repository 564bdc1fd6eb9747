//! Search by name, on the search page.

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::corpus;
use crate::wire::Fault;

/// Search by name, on the search page.
pub const OPERATION: Operation = Operation {
    name: "search-page",
    description: "A search for a name, as a page",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: signed_in,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let word = corpus::word(&mut user.random);
    page::get(user, &format!("/search?q={word}"), word).await.map(drop)
}

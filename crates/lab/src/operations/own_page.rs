//! The page about the user, which everybody who is signed in may read.

use super::operation::{Operation, STRONGROOM, Work};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::Fault;

/// The page about the user.
pub const OPERATION: Operation = Operation {
    name: "own-page",
    description: "The public page about the user: picture, profile and latest changes",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: with_address,
    run: |user, share| Box::pin(run(user, share)),
};

/// Key of the note with the address of the page.
const ADDRESS: &str = "own-page";

fn with_address<'a>(user: &'a mut User, share: &'a Share) -> Work<'a> {
    Box::pin(async {
        signed_in(user, share).await?;
        if user.note(ADDRESS).is_empty() {
            let account = page::get(user, "/account", PREFIX).await?;
            let text = account.text();
            let mut ids = text.split(PREFIX).skip(1).filter_map(|rest| rest.split('"').next());
            let id = ids.find(|id| id.chars().all(|c| c.is_ascii_digit())).unwrap_or_default();
            user.notes_by_key.insert(ADDRESS, format!("/people/{id}"));
        }
        Ok(())
    })
}

/// The link to the page, up to the identifier of the user.
const PREFIX: &str = "href=\"/people/";

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let address = user.note(ADDRESS).to_owned();
    page::get(user, &address, "class=\"title person\"").await.map(drop)
}

//! A style sheet, script or image of the pages.

use super::operation::{Operation, STRONGROOM, no_preparation};
use super::page;
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// A style sheet, script or image of the pages.
pub const OPERATION: Operation = Operation {
    name: "static-file",
    description: "A style sheet, script or picture of the pages",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    if user.statics.is_empty() {
        // A signed-in user is redirected to the start page.
        let form = page::follow(user, RequestBuilder::get("/sign-in").like_browser()).await?.expect(&[200])?;
        user.statics = page::resources(&form.text());
    }
    let at = user.random.usize(0..user.statics.len().max(1));
    let path = user.statics.get(at).cloned().ok_or_else(|| Fault::content("the page names no resource"))?;
    let answer = user.client.send(RequestBuilder::get(path).like_browser()).await?.expect(&[200])?;
    if answer.body.is_empty() { Err(Fault::content("a resource is empty")) } else { Ok(()) }
}

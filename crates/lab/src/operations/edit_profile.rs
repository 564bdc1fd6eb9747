//! Opening the user's own page and saving the settings.

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Opening the user's own page and saving the settings.
pub const OPERATION: Operation = Operation {
    name: "edit-profile",
    description: "Opening the user's own page and saving settings",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: true,
    prepare: signed_in,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let form = page::get(user, "/account", "action=\"/account/preferences\"").await?;
    let token = page::form_token(&form.text());
    let theme = if user.random.bool() { "light" } else { "dark" };
    let fields = [("form_token", token.as_str()), ("language", "en"), ("theme", theme)];
    let ask = RequestBuilder::new(hyper::Method::POST, "/account/preferences").like_browser().form(&fields);
    let answer = page::follow(user, ask).await?;
    page::complete(user, &answer, "action=\"/account/preferences\"").await
}

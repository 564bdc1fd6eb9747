//! Opening the form of the user's profile, and saving it.

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Opening the form of the user's profile, and saving it.
pub const OPERATION: Operation = Operation {
    name: "edit-profile",
    description: "The form of the user's profile, opened and saved, and the page about the user that follows",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: true,
    prepare: signed_in,
    run: |user, share| Box::pin(run(user, share)),
};

/// Attempts before the operation fails because others change the same profile: the users of a run share accounts.
const ATTEMPTS: usize = 8;

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let serial = user.next_serial();
    let about = format!("User {} of run {}, change {serial}", user.number, user.crowd.run);
    let mut attempts = 0;
    loop {
        attempts += 1;
        let form = page::get(user, "/account/profile", "action=\"/account/profile\"").await?;
        let text = form.text();
        let (token, revision) = (page::form_token(&text), page::hidden_field(&text, "revision"));
        let fields = [
            ("form_token", token.as_str()),
            ("revision", revision.as_str()),
            ("job_title", "Virtual user"),
            ("about", about.as_str()),
        ];
        let ask = RequestBuilder::new(hyper::Method::POST, "/account/profile").like_browser().form(&fields);
        let answer = page::follow(user, ask).await?;
        if answer.status == 409 && attempts < ATTEMPTS {
            continue;
        }
        return page::complete(user, &answer, "class=\"title person\"").await;
    }
}

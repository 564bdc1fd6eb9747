//! Signing in through the form, followed by the start page.

use super::operation::{Operation, STRONGROOM, Work};
use super::page;
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, FaultKind, RequestBuilder};

/// Signing in through the form, followed by the start page.
pub const OPERATION: Operation = Operation {
    name: "sign-in",
    description: "Signing in with the form, and the start page",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: true,
    prepare: |user, _| Box::pin(sign_out(user)),
    run: |user, share| Box::pin(run(user, share)),
};

const FORM_TOKEN: &str = "sign-in: form token";

/// Signs the user out, so that sessions do not accumulate until the server ends those of other users.
async fn sign_out(user: &mut User) -> Result<(), Fault> {
    if !user.signed_in {
        return Ok(());
    }
    let fields = [("form_token", user.note(FORM_TOKEN))];
    let ask = RequestBuilder::new(hyper::Method::POST, "/sign-out").like_browser().form(&fields);
    page::follow(user, ask).await?.expect(&[200])?;
    user.signed_in = false;
    Ok(())
}

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    user.reset();
    sign_in(user).await
}

/// Signs the user in as a browser does.
pub async fn sign_in(user: &mut User) -> Result<(), Fault> {
    let missing = || Fault::new(FaultKind::Status, "pages require a user who signs in: give --user and --password");
    let login = user.login().ok_or_else(missing)?;
    let form = page::get(user, "/sign-in", "name=\"form_token\"").await?;
    let token = page::form_token(&form.text());
    let fields = [("form_token", token.as_str()), ("next", "/"), ("login", &login.user), ("password", &login.password)];
    let ask = RequestBuilder::new(hyper::Method::POST, "/sign-in").like_browser().form(&fields);
    let home = page::follow(user, ask).await?;
    page::complete(user, &home, "action=\"/sign-out\"").await?;
    user.notes_by_key.insert(FORM_TOKEN, page::form_token(&home.text()));
    user.signed_in = true;
    Ok(())
}

/// Preparation of operations on pages: signs the user in if necessary.
pub fn signed_in<'a>(user: &'a mut User, _: &'a Share) -> Work<'a> {
    Box::pin(async { if user.signed_in { Ok(()) } else { sign_in(user).await } })
}

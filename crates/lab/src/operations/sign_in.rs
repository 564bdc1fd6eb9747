//! Signing in by the form, and the start page.

use super::*;
use crate::wire::{Ask, FaultKind};

/// Signing in by the form, and the start page.
pub const OPERATION: Operation = Operation {
    name: "sign-in",
    what: "Signing in by the form, and the start page",
    offered_by: STRONGROOM,
    changes: false,
    describes: false,
    prepare: nothing,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    user.renew();
    enter(user).await
}

/// Signs the user in as a browser does.
pub async fn enter(user: &mut User) -> Result<(), Fault> {
    let missing = || Fault::new(FaultKind::Status, "pages need somebody who signs in: give --user and --password");
    let login = user.crowd.target.login.clone().ok_or_else(missing)?;
    let form = page::get(user, "/sign-in", "name=\"form_token\"").await?;
    let text = form.text();
    let token = text.split("name=\"form_token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let token = token.unwrap_or_default();
    let fields = [("form_token", token), ("next", "/"), ("login", &login.user), ("password", &login.password)];
    let ask = Ask::new(hyper::Method::POST, "/sign-in").like_browser().form(&fields);
    let home = page::follow(user, ask).await?;
    page::complete(user, &home, "action=\"/sign-out\"").await?;
    user.signed_in = true;
    Ok(())
}

//! Opening the own page and saving settings.

use super::*;
use crate::wire::Ask;

/// Opening the own page and saving settings.
pub const OPERATION: Operation = Operation {
    name: "edit-profile",
    what: "Opening the own page and saving settings",
    offered_by: STRONGROOM,
    changes: true,
    describes: false,
    prepare: signed_in,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let form = page::get(user, "/account", "action=\"/account/preferences\"").await?;
    let text = form.text();
    let token = text.split("name=\"form_token\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
    let theme = if user.random.bool() { "light" } else { "dark" };
    let fields = [("form_token", token.unwrap_or_default()), ("language", "en"), ("theme", theme)];
    let ask = Ask::new(hyper::Method::POST, "/account/preferences").like_browser().form(&fields);
    let answer = page::follow(user, ask).await?;
    page::complete(user, &answer, "action=\"/account/preferences\"").await
}

//! Making a page with the editor: the form for its title was opened before; the editor is shown, and the text is saved.

use hyper::Method;

use super::operation::{Operation, STRONGROOM};
use super::page;
use super::page_library;
use super::share::Share;
use super::sign_in::signed_in;
use super::user::User;
use crate::wire::{Fault, RequestBuilder};

/// Making a page with the editor.
pub const OPERATION: Operation = Operation {
    name: "create-page",
    description: "A new page: its title is sent, the editor is shown, its text is saved, the page is shown",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: true,
    prepare: |user, share| Box::pin(prepare(user, share)),
    run: |user, _| Box::pin(run(user)),
};

const FORM_TOKEN: &str = "create-page: form token";
const TEXT: &str = "Written with the editor.\n\n- one\n- two\n\n```part-contents\n```\n";

/// Opens the form.
async fn prepare(user: &mut User, share: &Share) -> Result<(), Fault> {
    let address = form_address(user).await?;
    signed_in(user, share).await?;
    let form = page::get(user, &address, &format!("action=\"{address}\"")).await?;
    user.notes_by_key.insert(FORM_TOKEN, page::form_token(&form.text()));
    Ok(())
}

async fn form_address(user: &mut User) -> Result<String, Fault> {
    Ok(format!("/items/{}/new-page", page_library::make(user).await?))
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let (number, serial) = (user.number, user.next_serial());
    let (title, address) = (format!("New {number}-{serial}"), form_address(user).await?);
    let fields = [("form_token", user.note(FORM_TOKEN)), ("name", title.as_str())];
    let ask = RequestBuilder::new(Method::POST, address).like_browser().form(&fields);
    let editor = page::follow(user, ask).await?;
    page::complete(user, &editor, "id=\"page-form\"").await?;
    let editor = editor.text();
    let value = |before: &str| editor.split(before).nth(1).and_then(|rest| rest.split('"').next());
    let action = value("id=\"page-form\" method=\"post\" action=\"").unwrap_or_default();
    let base = value("name=\"base\" value=\"").unwrap_or_default().replace("&quot;", "\"").replace("&#34;", "\"");
    let (token, text) = (page::form_token(&editor), format!("# {title}\n\n{TEXT}"));
    let fields = [("form_token", token.as_str()), ("base", &base), ("text", &text), ("comment", ""), ("do", "publish")];
    let ask = RequestBuilder::new(Method::POST, action).like_browser().form(&fields);
    let shown = page::follow(user, ask).await?;
    page::complete(user, &shown, "Written with the editor.").await
}

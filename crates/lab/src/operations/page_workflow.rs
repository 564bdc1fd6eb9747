//! Approval of a page: check-out, new text, check-in as a draft, submission, approval.

use hyper::Method;

use super::operation::{Operation, STRONGROOM};
use super::page_library;
use super::user::User;
use crate::wire::{Fault, RequestBody, RequestBuilder};

/// Approval of a page.
pub const OPERATION: Operation = Operation {
    name: "page-workflow",
    description: "Checking out a page, writing it, checking it in, submitting and approving it",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: |user, _| Box::pin(prepare(user)),
    run: |user, _| Box::pin(run(user)),
};

const DOCUMENT: &str = "page-workflow: document";

/// Stores a page of this user.
async fn prepare(user: &mut User) -> Result<(), Fault> {
    if user.notes_by_key.contains_key(DOCUMENT) {
        return Ok(());
    }
    page_library::make(user).await?;
    let (name, text) = (format!("Page {}.md", user.number), text(user));
    page_library::put(user, &name, text).await?.expect(&[200, 201])?;
    let id = user.id_at(&format!("{}/{name}", page_library::path(user))).await?;
    user.notes_by_key.insert(DOCUMENT, id);
    Ok(())
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let item = format!("/api/v1/items/{}", user.note(DOCUMENT));
    let text = RequestBody::Bytes(text(user).into());
    let comment = serde_json::json!({ "comment": "A draft of the load lab" });
    user.client.send(RequestBuilder::new(Method::PUT, format!("{item}/check-out"))).await?.expect(&[204])?;
    user.client.send(RequestBuilder::new(Method::PUT, format!("{item}/content")).body(text)).await?.expect(&[200])?;
    for step in ["check-in", "submit"] {
        let ask = RequestBuilder::new(Method::POST, format!("{item}/{step}")).json(&comment);
        user.client.send(ask).await?.expect(&[200])?;
    }
    let submission =
        user.client.send(RequestBuilder::get(format!("{item}/submission"))).await?.expect(&[200])?.json()?;
    let approval = serde_json::json!({ "etag": submission["etag"], "comment": "Approved by the load lab" });
    let answer = user.client.send(RequestBuilder::new(Method::POST, format!("{item}/approve")).json(&approval)).await?;
    let published = answer.expect(&[200])?.json()?;
    match published["version"].as_str() {
        Some(version) if version.ends_with(".0") => Ok(()),
        version => Err(Fault::content(format!("the published version is {version:?}, not a major one"))),
    }
}

/// Returns a text that the user has not written before.
fn text(user: &mut User) -> String {
    let (number, serial) = (user.number, user.next_serial());
    format!("# Page {number}\n\nWritten for the {serial}th time.\n")
}

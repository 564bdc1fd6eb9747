//! Checking out a text, writing it, checking it in as a draft, and publishing it.

use hyper::Method;

use super::operation::{Operation, STRONGROOM};
use super::user::User;
use crate::wire::{Fault, RequestBody, RequestBuilder, address};

/// Checking out a text, writing it, checking it in as a draft, and publishing it.
pub const OPERATION: Operation = Operation {
    name: "publish-draft",
    description: "Checking out a text, writing it, checking it in as a draft, and publishing it",
    offered_by: STRONGROOM,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare: |user, _| Box::pin(prepare(user)),
    run: |user, _| Box::pin(run(user)),
};

const DOCUMENT: &str = "publish-draft: document";

/// Creates a library with drafts, which the users of the run share, and a document of this user in it.
async fn prepare(user: &mut User) -> Result<(), Fault> {
    if user.notes_by_key.contains_key(DOCUMENT) {
        return Ok(());
    }
    let site = user.id_at("").await?;
    let library = format!("Lab {} drafts", user.crowd.run);
    let said = serde_json::json!({ "name": library, "settings": { "versioning": "major-minor" } });
    let ask = RequestBuilder::new(Method::POST, format!("/api/v1/items/{site}/libraries"));
    // 409: another user has created it.
    user.client.send(ask.json(&said)).await?.expect(&[201, 409])?;
    let path = format!("{library}/Page {}.md", user.number);
    let text = RequestBody::Bytes(text(user));
    let ask = RequestBuilder::new(Method::PUT, address::content_address(&user.crowd.target, &path)).body(text);
    user.client.send(ask).await?.expect(&[200, 201])?;
    let id = user.id_at(&path).await?;
    user.notes_by_key.insert(DOCUMENT, id);
    Ok(())
}

async fn run(user: &mut User) -> Result<(), Fault> {
    let item = format!("/api/v1/items/{}", user.note(DOCUMENT));
    let text = RequestBody::Bytes(text(user));
    let said = serde_json::json!({ "comment": "A draft of the load lab" });
    user.client.send(RequestBuilder::new(Method::PUT, format!("{item}/check-out"))).await?.expect(&[204])?;
    user.client.send(RequestBuilder::new(Method::PUT, format!("{item}/content")).body(text)).await?.expect(&[200])?;
    user.client
        .send(RequestBuilder::new(Method::POST, format!("{item}/check-in")).json(&said))
        .await?
        .expect(&[200])?;
    let answer = user.client.send(RequestBuilder::new(Method::POST, format!("{item}/publish")).json(&said)).await?;
    let version = answer.expect(&[200])?.json()?;
    let version = version["version"].as_str().unwrap_or_default();
    if version.ends_with(".0") {
        Ok(())
    } else {
        Err(Fault::content(format!("the published version is {version}, not a major one")))
    }
}

/// Returns a text that the user has not written before.
fn text(user: &mut User) -> bytes::Bytes {
    let (number, serial) = (user.number, user.next_serial());
    format!("# Page {number}\n\nWritten for the {serial}th time.\n").into()
}

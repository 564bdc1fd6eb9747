//! Uploading a new document.

use super::operation::{EVERYWHERE, Operation, Work};
use super::share::Share;
use super::user::User;
use crate::corpus::Document;
use crate::wire::{Fault, RequestBody, RequestBuilder, TargetKind, address};

/// Uploading a new document.
pub const OPERATION: Operation = Operation {
    name: "upload",
    description: "A new document",
    offered_by: EVERYWHERE,
    changes: true,
    needs_propfind: false,
    signs_in: false,
    prepare,
    run: |user, share| Box::pin(run(user, share)),
};

fn prepare<'a>(user: &'a mut User, _: &'a Share) -> Work<'a> {
    Box::pin(user.create_folder())
}

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    add(user, share).await
}

/// Uploads a new document and remembers it.
pub async fn add(user: &mut User, share: &Share) -> Result<(), Fault> {
    user.create_folder().await?;
    let (path, document) = user.new_document(share)?;
    put(user, &path, &document, 0).await?;
    user.remember(path, document);
    Ok(())
}

/// Stores a version of a document at a path.
pub async fn put(user: &mut User, path: &str, document: &Document, version: u32) -> Result<(), Fault> {
    let target = user.crowd.target.clone();
    let content = user.crowd.corpus.content(document, version);
    let ask = RequestBuilder::new(hyper::Method::PUT, address::content_address(&target, path))
        .body(RequestBody::document(content));
    let answer = user.client.send(ask).await?.expect(&[200, 201, 204])?;
    if target.kind == TargetKind::Strongroom && answer.json()?["size"] != document.size {
        return Err(Fault::content(format!("{path} was stored with another size")));
    }
    Ok(())
}

/// Preparation of operations on the user's uploads: makes sure that there is one.
pub fn has_own<'a>(user: &'a mut User, share: &'a Share) -> Work<'a> {
    Box::pin(async { if user.uploads.is_empty() { add(user, share).await } else { Ok(()) } })
}

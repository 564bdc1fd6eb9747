//! Properties of a document, by REST or PROPFIND.

use hyper::header::{CONTENT_TYPE, HeaderName};

use super::operation::{EVERYWHERE, Operation, no_preparation};
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBody, RequestBuilder, TargetKind, address};

/// Properties of a document, by REST or PROPFIND.
pub const OPERATION: Operation = Operation {
    name: "properties",
    description: "The properties of a document, by REST or PROPFIND",
    offered_by: EVERYWHERE,
    changes: false,
    needs_propfind: true,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let path = user.crowd.corpus.path(&document);
    let target = user.crowd.target.clone();
    match target.kind {
        TargetKind::Strongroom => {
            let answer = user
                .client
                .send(RequestBuilder::get(address::item_address(&target, "", &path)))
                .await?
                .expect(&[200])?;
            let described = answer.json()?;
            if described["name"] == document.name.as_str() && described["size"] == document.size {
                Ok(())
            } else {
                Err(Fault::content(format!("{path} is described with another name or size")))
            }
        }
        TargetKind::Webdav => find(user, &address::content_address(&target, &path), "0", 1).await,
    }
}

/// Sends a PROPFIND request to an address. The response must describe at least `least` resources.
pub async fn find(user: &mut User, address: &str, depth: &str, least: usize) -> Result<(), Fault> {
    const ASKED: &str = "<?xml version=\"1.0\"?><propfind xmlns=\"DAV:\"><prop><getcontentlength/><getlastmodified/>\
        <getetag/><resourcetype/></prop></propfind>";
    let ask = RequestBuilder::new(address::method("PROPFIND"), address)
        .with(HeaderName::from_static("depth"), depth)
        .with(CONTENT_TYPE, "application/xml")
        .body(RequestBody::Bytes(ASKED.into()));
    let answer = user.client.send(ask).await?.expect(&[207])?;
    let text = answer.text();
    let found = text.matches("response>").count() / 2;
    if found < least || !text.contains("multistatus>") {
        return Err(Fault::content(format!("PROPFIND {address} describes {found} resources instead of {least}")));
    }
    Ok(())
}

//! Conditional download of a document that the user already has, by its ETag.

use hyper::header::{ETAG, IF_NONE_MATCH};

use super::operation::{EVERYWHERE, Operation, no_preparation};
use super::share::Share;
use super::user::User;
use crate::wire::{Fault, RequestBuilder, address};

/// Limits on the ETags that a user remembers, and on the bytes of each.
const MAX_TAGS: usize = 1_000;
const MAX_TAG: usize = 256;

/// Conditional download of a document that the user already has, by its ETag.
pub const OPERATION: Operation = Operation {
    name: "download-unchanged",
    description: "Requesting a document that the user already has, with its entity tag",
    offered_by: EVERYWHERE,
    changes: false,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, share: &Share) -> Result<(), Fault> {
    let document = user.any_document(share)?;
    let address = address::content_address(&user.crowd.target, &user.crowd.corpus.path(&document));
    let known = user.tags.get(&document.number).cloned();
    let mut ask = RequestBuilder::get(address);
    if let Some(tag) = &known {
        ask = ask.with(IF_NONE_MATCH, tag);
    }
    let answer = user.client.send(ask).await?.expect(if known.is_some() { &[200, 304] } else { &[200] })?;
    let tag = answer.header(ETAG).to_owned();
    if user.tags.len() < MAX_TAGS && (1..=MAX_TAG).contains(&tag.len()) {
        user.tags.insert(document.number, tag);
    }
    Ok(())
}

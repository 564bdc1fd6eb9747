//! Search by part of a name.

use super::operation::{Operation, STRONGROOM, no_preparation};
use super::share::Share;
use super::user::User;
use crate::corpus;
use crate::wire::{Fault, RequestBuilder};

/// Search by part of a name.
pub const OPERATION: Operation = Operation {
    name: "search-name",
    description: "A search for a part of a name",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let word = corpus::word(&mut user.random);
    let answer = user.client.send(RequestBuilder::get(format!("/api/v1/search?q={word}"))).await?.expect(&[200])?;
    let found = answer.json()?;
    let names = found["items"].as_array().into_iter().flatten().filter_map(|item| item["name"].as_str());
    let wrong = names.into_iter().find(|name| !name.to_lowercase().contains(&word.to_lowercase()));
    match wrong {
        Some(name) => Err(Fault::content(format!("a search for {word} found {name}"))),
        None => Ok(()),
    }
}

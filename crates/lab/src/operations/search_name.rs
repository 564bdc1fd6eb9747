//! Search by part of a name.

use serde_json::Value;

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
    let list = |list: &Value| list.as_array().cloned().unwrap_or_default();
    let has_word = |text: &Value| text.as_str().is_some_and(|text| text.to_lowercase().contains(&word.to_lowercase()));
    // Where few documents have the word, similar ones are found too.
    if found["similar"] == true {
        return Ok(());
    }
    // Documents with the word in their text are found too, with the passage.
    let passages = list(&found["passages"]);
    let is_shown = |id: &Value| {
        let pieces =
            passages.iter().filter(|passage| passage["id"] == *id).flat_map(|passage| list(&passage["pieces"]));
        pieces.into_iter().any(|piece| piece["hit"] == true && has_word(&piece["text"]))
    };
    // Rows of lists are found by their titles.
    let is_named = |item: &Value| has_word(&item["name"]) || has_word(&item["title"]);
    match list(&found["items"]).iter().find(|item| !is_named(item) && !is_shown(&item["id"])) {
        Some(item) => Err(Fault::content(format!("a search for {word} found {}", item["name"]))),
        None => Ok(()),
    }
}

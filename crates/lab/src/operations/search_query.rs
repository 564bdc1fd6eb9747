//! Search for words in the texts of documents.

use std::collections::HashSet;

use serde_json::Value;

use super::operation::{Operation, STRONGROOM, no_preparation};
use super::share::Share;
use super::user::User;
use crate::corpus::{Corpus, Document, SearchableTexts};
use crate::wire::{Fault, RequestBuilder};

/// Search for words in the texts of documents.
pub const OPERATION: Operation = Operation {
    name: "search-query",
    description: "A search for words that stand in texts",
    offered_by: STRONGROOM,
    changes: false,
    needs_propfind: false,
    signs_in: false,
    prepare: no_preparation,
    run: |user, share| Box::pin(run(user, share)),
};

/// Limit on the items of an answer.
const MAX_ITEMS: usize = 50;

/// A query and its expected results.
#[derive(Debug, PartialEq)]
struct Asked {
    text: String,
    expected: Expected,
}

#[derive(Debug, PartialEq)]
enum Expected {
    /// At least one document.
    Some,
    /// Documents, and this one among them.
    Document(String),
    /// Nothing, except documents with similar words.
    Nothing,
}

impl Asked {
    /// Draws a query: in 100, 40 for one word, 30 for two words, 15 for a phrase, 10 for a phrase that only one
    /// document has, and 5 for a word that no document has.
    fn draw(random: &mut fastrand::Rng, corpus: &Corpus, document: &Document) -> Self {
        let (count, quote) = match random.u8(0..100) {
            0..40 => (1, ""),
            40..70 => (2, ""),
            70..85 => (3, "\""),
            85..95 => {
                let expected = Expected::Document(document.name.clone());
                return Self { text: format!("\"{}\"", corpus.unique_words(document)), expected };
            }
            _ => return Self { text: format!("qx{:x}", random.u64(1 << 40..1 << 44)), expected: Expected::Nothing },
        };
        let words = corpus.text_words(document, random, count);
        Self { text: format!("{quote}{}{quote}", words.join(" ")), expected: Expected::Some }
    }
}

async fn run(user: &mut User, _: &Share) -> Result<(), Fault> {
    let crowd = user.crowd.clone();
    let document = crowd.corpus.any_text(&mut user.random);
    let document = document.ok_or_else(|| Fault::content("the corpus has no texts to search in"))?;
    let asked = Asked::draw(&mut user.random, &crowd.corpus, &document);
    let query: String = form_urlencoded::byte_serialize(asked.text.as_bytes()).collect();
    let answer = user.client.send(RequestBuilder::get(format!("/api/v1/search?q={query}"))).await?.expect(&[200])?;
    check(&asked, &answer.json()?, crowd.searchable)
        .map_err(|why| Fault::content(format!("a search for {} {why}", asked.text)))
}

/// Checks the form of an answer and, as far as the texts of the corpus are searchable, its results.
fn check(asked: &Asked, found: &Value, searchable: SearchableTexts) -> Result<(), String> {
    let (Some(items), Some(passages), Some(documents)) =
        (found["items"].as_array(), found["passages"].as_array(), found["documents"].as_u64())
    else {
        return Err("has no items, passages or number of documents".to_owned());
    };
    let is_named = |item: &&Value| item["id"].is_string() && item["name"].is_string() && item["path"].is_string();
    if items.len() > MAX_ITEMS || !items.iter().all(|item| is_named(&item)) {
        return Err("has items that cannot be opened, or too many".to_owned());
    }
    let ids: HashSet<&str> = items.iter().filter_map(|item| item["id"].as_str()).collect();
    let is_of_item = |passage: &Value| passage["id"].as_str().is_some_and(|id| ids.contains(id));
    let has_text = |passage: &Value| {
        passage["pieces"].as_array().is_some_and(|pieces| pieces.iter().all(|piece| piece["text"].is_string()))
    };
    if !passages.iter().all(|passage| is_of_item(passage) && has_text(passage)) {
        return Err("has passages of other documents, or without text".to_owned());
    }
    let texts = found["texts"].as_str().unwrap_or_default();
    if !matches!(texts, "complete" | "incomplete" | "unavailable") {
        return Err(format!("has the state of texts \"{texts}\""));
    }
    if searchable == SearchableTexts::None || texts != "complete" || found["complete"] != true {
        return Ok(());
    }
    match &asked.expected {
        Expected::Some if documents == 0 && searchable == SearchableTexts::All => Err("found nothing".to_owned()),
        // Its copies have the words too, and there may be many.
        Expected::Document(name)
            if items.len() < MAX_ITEMS && !items.iter().any(|item| item["name"] == name.as_str()) =>
        {
            Err(format!("did not find {name}"))
        }
        Expected::Nothing if documents > 0 && found["similar"] != true => Err(format!("found {documents} documents")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn answer(count: u64) -> Value {
        json!({
            "items": [{ "id": "1", "name": "a.txt", "path": "Lab/a.txt" }], "passages": [],
            "documents": count, "texts": "complete", "complete": true, "similar": false,
        })
    }

    #[test]
    fn answers_are_held_against_their_form_and_the_corpus() {
        let asked = |expected| Asked { text: "x".to_owned(), expected };
        let holds = |expected, found: &Value| check(&asked(expected), found, SearchableTexts::All).is_ok();
        assert!(holds(Expected::Some, &answer(1)));
        assert!(!holds(Expected::Some, &answer(0)));
        assert!(holds(Expected::Document("a.txt".to_owned()), &answer(1)));
        assert!(!holds(Expected::Document("b.txt".to_owned()), &answer(1)));
        assert!(holds(Expected::Nothing, &answer(0)));
        assert!(!holds(Expected::Nothing, &answer(2)));
        let with = |key: &str, value: Value| {
            let mut found = answer(0);
            found[key] = value;
            found
        };
        assert!(holds(Expected::Some, &with("texts", json!("incomplete"))), "more may come");
        for searchable in [SearchableTexts::Heads, SearchableTexts::None] {
            assert!(check(&asked(Expected::Some), &answer(0), searchable).is_ok(), "it may have been replaced");
        }
        let other = asked(Expected::Document("b.txt".to_owned()));
        assert!(check(&other, &answer(1), SearchableTexts::Heads).is_err());
        assert!(check(&other, &answer(1), SearchableTexts::None).is_ok(), "the corpus may not be indexed yet");
        for wrong in [
            with("items", json!(null)),
            with("items", json!([{ "id": "1" }])),
            with("documents", json!("many")),
            with("texts", json!("some")),
            with("passages", json!([{ "id": "2", "pieces": [] }])),
            with("passages", json!([{ "id": "1", "pieces": [{}] }])),
        ] {
            assert!(check(&asked(Expected::Nothing), &wrong, SearchableTexts::None).is_err(), "{wrong}");
        }
    }
}

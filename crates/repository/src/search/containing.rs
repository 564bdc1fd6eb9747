//! Documents whose names or texts contain words, for conditions in protocols: all documents up to a limit, without
//! similar words.

use std::sync::Arc;
use std::time::Instant;

use async_recursion::async_recursion as boxed;
use model::{Id, Result};
use search::index::HitOrder;
use search::query::{Expression, Filter, QueryWord, SearchQuery, Sought, Tolerance, WordField};

use super::meanings::Meanings;
use super::request::{Found, TextSearch};
use super::search_plan::{SearchPlan, TextPlan};
use crate::Session;
use crate::items::item::Item;

/// Limit on the documents in one answer.
const MAX_DOCUMENTS: usize = 1_000;
/// Limit on the words that are looked for. Further ones are left out, and the answer is not complete.
const MAX_WORDS: usize = 32;

/// Documents that contain words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Containing {
    /// The documents, the best first.
    pub documents: Vec<Id>,
    /// True if no other document contains the words. Otherwise there are too many documents or words, time was up, or
    /// an index is incomplete or cannot be used.
    pub is_complete: bool,
}

impl Session {
    /// Returns the documents that have all words of `text` in their names or texts, in any order and inflection: those
    /// at or below `scope` that the caller may open, at most 1,000. The text has no operators. One without words is
    /// contained in nothing. After `until`, no further documents are read.
    ///
    /// # Errors
    /// Those of the databases, except that one does not answer: then the answer is not complete.
    #[boxed]
    pub async fn containing(&self, text: &str, scope: &Item, until: Instant) -> Result<Containing> {
        let mut words = QueryWord::all_of(text);
        if words.is_empty() {
            return Ok(Containing { is_complete: true, ..Containing::default() });
        }
        let has_more_words = words.len() > MAX_WORDS;
        words.truncate(MAX_WORDS);
        let word = |word| Expression::Words(WordField::All, Sought::Word(word));
        // Clients that ask for this know no rows of lists.
        let documents = Expression::Not(Box::new(Expression::Filter(Filter::rows())));
        let expression = Some(Expression::All(words.into_iter().map(word).chain([documents]).collect()));
        let mut query = SearchQuery { expression, ..SearchQuery::default() };
        let mut meanings = Meanings::default();
        meanings.limit(&mut query, scope);
        let words =
            TextPlan { query, meanings, order: HitOrder::Relevance, counts_facets: false, without_passages: true };
        let (words, limit) = (Some(Arc::new(words)), MAX_DOCUMENTS);
        let database = Some(self.registry().await?.collection(scope.collection_id)?.database_id);
        let plan = Arc::new(SearchPlan {
            names: None,
            words,
            tolerance: Tolerance::Exact,
            limit,
            database,
            until: Some(until),
        });
        let mut found = Found::default();
        let texts = self.ask_all(&plan, &mut found).await?.texts;
        let mut documents: Vec<Id> = texts.hits.iter().map(|hit| hit.found.item.id).collect();
        let is_complete = !has_more_words
            && documents.len() <= MAX_DOCUMENTS
            && texts.total == documents.len() as u64
            && texts.whole
            && !texts.more
            && found.texts == TextSearch::Complete
            && found.missing.is_empty();
        documents.truncate(MAX_DOCUMENTS);
        Ok(Containing { documents, is_complete })
    }
}

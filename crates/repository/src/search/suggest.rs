//! Suggestions for a query that is being typed.

use async_recursion::async_recursion as boxed;
use model::{MAX_NAME_CHARS, PrincipalKind, Result};
use search::query::SearchQuery;

use super::find::SearchResults;
use super::request::checked_length;
use crate::Session;
use crate::people::PrincipalName;

/// Limit on the items of one answer.
pub const MAX_SUGGESTED: usize = 20;
/// Limit on the people of one answer.
const MAX_PEOPLE: usize = 5;
/// Number of people who are read. Groups among them are left out.
const PEOPLE_READ: usize = 20;
/// Fewest letters of a name of a person, unless a field of people comes before it.
const MIN_LETTERS: usize = 2;

/// Suggestions for a query that is being typed.
#[derive(Clone, Debug, Default)]
pub struct Suggestions {
    /// Items by their names, as [`Session::find_by_name`] finds them.
    pub items: SearchResults,
    /// People whose documents may be meant.
    pub people: Vec<SuggestedPerson>,
}

/// A person whose documents may be meant.
#[derive(Clone, Debug)]
pub struct SuggestedPerson {
    /// The person.
    pub person: PrincipalName,
    /// The query with a filter by this person in place of its last word.
    pub query: String,
}

impl Session {
    /// Returns items whose names contain the words of a query, at most `limit` (capped at [`MAX_SUGGESTED`]), and up to
    /// five people with a name or login that begins like its last word. A text longer than a name is not compared with
    /// names.
    ///
    /// # Errors
    /// `Invalid` when the text is longer than [`crate::MAX_QUERY_CHARS`].
    #[boxed]
    pub async fn suggest(&self, text: &str, limit: usize) -> Result<Suggestions> {
        let length = checked_length(text)?;
        let items = match length <= MAX_NAME_CHARS {
            true => self.find_by_name(text, limit.min(MAX_SUGGESTED)).await?,
            false => SearchResults { whole: true, ..SearchResults::default() },
        };
        Ok(Suggestions { items, people: self.suggested_people(text).await? })
    }

    async fn suggested_people(&self, text: &str) -> Result<Vec<SuggestedPerson>> {
        let Some(last) = SearchQuery::last_word(text) else { return Ok(Vec::new()) };
        let letters = last.word.chars().count();
        if letters > MAX_NAME_CHARS || letters < MIN_LETTERS && last.field.is_empty() {
            return Ok(Vec::new());
        }
        let field = if last.field.is_empty() { "author:" } else { last.field };
        let person = |person: PrincipalName| {
            let query = format!("{}{field}{}", last.before, SearchQuery::quoted(person.login.as_deref()?));
            (person.kind == PrincipalKind::User).then_some(SuggestedPerson { person, query })
        };
        let found = self.search_principals(last.word, PEOPLE_READ).await?;
        Ok(found.into_iter().filter_map(person).take(MAX_PEOPLE).collect())
    }
}

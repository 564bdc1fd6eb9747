//! Search by parts of names, limited to items that the caller may open. Containers are compared with their rows.
//! Documents are looked up in the index, and compared with their rows where the index cannot answer: the cost of that
//! is bounded, and when time is up, the results found so far are returned.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node;
use database::content::search::{self as rows, MAX_WORDS, NEWEST, OLDEST, SearchTerms};
use model::{Code, Error, MAX_NAME_CHARS, Result, Right, fold, is_application_file};
use search::index::{Clock, NameHit, NameRequest, SHORTEST_PART, View};

use crate::items::caller_view::CallerView;
use crate::items::item::Item;
use crate::{Session, UnavailableDatabases};

use super::find::Asked;
use super::request::Found;
use super::trim::Trim;

/// Maximum number of items in one result.
pub const MAX_FOUND: usize = 50;
/// Rows read by one statement.
const BATCH: usize = 100;
/// Maximum number of sites, libraries and folders read by one statement. Those in recycle bins are removed afterwards.
const MAX_CONTAINERS: usize = 500;

/// Number of documents between two checks of the time, in a walk through their rows.
const STRETCH: usize = 100_000;
/// Time after which no further step of such a walk begins, and time limit in an index.
const LONGEST: Duration = Duration::from_millis(200);

/// Result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// Sites, libraries and folders, then documents. In both groups, names that begin with the query come first.
    /// Documents of equal rank are sorted newest first.
    pub items: Vec<Item>,
    /// True if there are more results than requested.
    pub more: bool,
    /// True if everything was searched. Otherwise time was up, and older documents were left out.
    pub whole: bool,
    /// Content databases that were not searched.
    pub missing: UnavailableDatabases,
}

/// A query for names.
#[derive(Default)]
pub(super) struct NameQuery {
    /// All words in their original order.
    phrase: String,
    /// Parts that names must contain, longest first, because the longest excludes most.
    words: Vec<String>,
}

impl NameQuery {
    /// Parses a text.
    ///
    /// # Errors
    /// `Invalid` when it is longer than a name can be.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.chars().count() > MAX_NAME_CHARS {
            return Err(Error::invalid("no name is longer than 255 characters: search for a part of it")
                .with_code(Code::SearchTooLong));
        }
        let folded = fold(text);
        let parts = folded.split(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\'));
        let mut words: Vec<String> = parts.filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let phrase = words.join(" ");
        // A query with this many words is probably a pasted name, so the excess words must occur in this order.
        if words.len() > MAX_WORDS {
            let tail = words.split_off(MAX_WORDS - 1).join(" ");
            words.push(tail);
        }
        words.sort_by_key(|word| Reverse(word.len()));
        Ok(Self { phrase, words })
    }

    /// Returns whether nothing is looked for.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether an index knows parts that are as short as the words.
    fn suits_index(&self) -> bool {
        self.words.iter().all(|word| word.chars().count() >= SHORTEST_PART)
    }

    fn matches(&self, folded: &str) -> bool {
        self.words.iter().all(|word| folded.contains(word.as_str()))
    }

    /// Returns the distance of a name from the query; smaller is better.
    pub(super) fn distance(&self, name: &str) -> u8 {
        let folded = fold(name);
        let stem = folded.rsplit_once('.').map_or(folded.as_str(), |(stem, _)| stem);
        if folded == self.phrase || stem == self.phrase {
            0
        } else if folded.starts_with(&self.phrase) {
            1
        } else {
            2
        }
    }
}

impl Session {
    /// Returns items whose name contains all words of `text`, with case folded as in names; at most `limit`, which is
    /// capped at [`MAX_FOUND`]. Up to half of them may be sites, libraries and folders. A text without words finds
    /// nothing.
    ///
    /// # Errors
    /// `Invalid` when the text is longer than a name can be.
    #[boxed]
    pub async fn search(&self, text: &str, limit: usize) -> Result<SearchResults> {
        let names = NameQuery::parse(text)?;
        if names.is_empty() {
            return Ok(SearchResults { whole: true, ..SearchResults::default() });
        }
        let asked = Asked::names(names, limit.clamp(1, MAX_FOUND));
        let mut found = Found { missing: self.missing(self.registry().await?.away()), ..Found::default() };
        let named = self.ask_all(&asked, &mut found).await?.named;
        let (more, whole) = (named.more, !named.is_cut);
        Ok(SearchResults { items: named.into_items(&asked), more, whole, missing: found.missing })
    }
}

/// Items found by their names.
#[derive(Default)]
pub(super) struct NamedItems {
    places: Vec<Item>,
    documents: Vec<Item>,
    /// True if there are more than requested.
    pub(super) more: bool,
    /// True if time was up, and documents were left out.
    pub(super) is_cut: bool,
}

impl NamedItems {
    /// Adds what another content database has.
    pub(super) fn add(&mut self, mut other: Self) {
        self.places.append(&mut other.places);
        self.documents.append(&mut other.documents);
        self.more |= other.more;
        self.is_cut |= other.is_cut;
    }

    /// Returns the best items in their order.
    pub(super) fn into_items(self, asked: &Asked) -> Vec<Item> {
        let Some(query) = &asked.names else { return Vec::new() };
        let Self { mut places, mut documents, .. } = self;
        places.sort_by_cached_key(|item| query.distance(&item.name));
        places.truncate(asked.limit.div_ceil(2));
        documents.sort_by_cached_key(|item| (query.distance(&item.name), Reverse((item.modified_at, item.id))));
        documents.truncate(asked.limit - places.len());
        places.append(&mut documents);
        places
    }

    /// Notes whether there are more items than requested.
    pub(super) fn note_more(&mut self, limit: usize) {
        self.more |= self.places.len() > limit.div_ceil(2) || self.places.len() + self.documents.len() > limit;
    }
}

/// A search for names in one content database.
pub(super) struct NamePass<'a> {
    pub(super) eyes: &'a mut CallerView,
    pub(super) query: &'a NameQuery,
    pub(super) limit: usize,
}

impl NamePass<'_> {
    /// Returns the items found.
    ///
    /// # Errors
    /// Those of the database.
    pub(super) fn run(&mut self, reader: &mut Reader<'_>, index: Option<(&View, &mut Trim)>) -> Result<NamedItems> {
        let begun = Instant::now();
        let scopes = match &index {
            Some((_, trim)) => trim.scopes.as_ref().map(|scopes| scopes.sorted()),
            None => self.eyes.scopes(reader)?,
        };
        let wanted = SearchTerms { words: &self.query.words, scopes: scopes.as_deref() };
        let places = self.places(reader, &wanted)?;
        let by_index = match index {
            Some((view, trim)) if self.query.suits_index() => self.indexed_documents(reader, view, trim, begun)?,
            _ => None,
        };
        let documents = match by_index {
            Some(documents) => documents,
            None => self.documents(reader, &wanted, begun + LONGEST)?,
        };
        let more = places.more || documents.more;
        Ok(NamedItems { places: places.items, documents: documents.items, more, is_cut: !documents.whole })
    }

    fn places(&mut self, reader: &mut Reader<'_>, wanted: &SearchTerms<'_>) -> Result<SearchResults> {
        let mut found = SearchResults::default();
        let limit = self.limit.div_ceil(2);
        for item in self.roots(reader)? {
            add(&mut found, item, limit);
        }
        let rows = rows::find_containers(reader, wanted, MAX_CONTAINERS)?;
        for row in &rows {
            if found.more {
                break;
            }
            if let Some(item) = self.eyes.show(reader, row)? {
                add(&mut found, item, limit);
            }
        }
        Ok(found)
    }

    /// Returns matching root sites of site collections. Their titles count as their names.
    fn roots(&self, reader: &mut Reader<'_>) -> Result<Vec<Item>> {
        let registry = self.eyes.finder.registry.clone();
        let mut found = Vec::new();
        let here = self.eyes.collections(&registry).filter(|row| self.query.matches(&fold(&row.title)));
        for row in here.take(MAX_CONTAINERS) {
            match self.eyes.locate(reader, row.id)? {
                Some(located) if located.rights().has(Right::View) => found.push(located.item(reader)?),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Returns documents by the index, and those that changed since it was committed by their rows; `None` if the index
    /// cannot answer.
    fn indexed_documents(
        &mut self,
        reader: &mut Reader<'_>,
        view: &View,
        trim: &mut Trim,
        begun: Instant,
    ) -> Result<Option<SearchResults>> {
        if view.checkpoint().walk.is_some() || trim.tail.is_cut {
            return Ok(None);
        }
        let request = NameRequest {
            parts: &self.query.words,
            beginning: &self.query.phrase,
            limit: self.limit + 1,
            clock: Clock::new(begun + LONGEST),
        };
        let Ok(named) = trim.with_known_places(reader, |trim| view.named(&request, trim))? else { return Ok(None) };
        let mut hits = named.hits;
        hits.retain(|hit| !trim.tail.has(hit.node));
        hits.extend(trim.tail.documents().filter(|(_, changed)| self.query.matches(&changed.folded)).map(
            |(node, changed)| NameHit {
                begins: changed.folded.starts_with(&self.query.phrase),
                modified: changed.modified,
                node,
            },
        ));
        hits.sort_unstable_by(|one, other| other.cmp(one));
        let mut found = SearchResults { more: named.more, whole: named.whole, ..SearchResults::default() };
        for hit in hits {
            if found.items.len() > self.limit {
                break;
            }
            let Some(row) = node::find(reader, hit.node)? else { continue };
            if is_application_file(&row.name) || !self.query.matches(&row.folded) {
                continue;
            }
            if let Some(item) = self.eyes.show(reader, &row)? {
                add(&mut found, item, self.limit);
            }
        }
        Ok(Some(found))
    }

    fn documents(&mut self, reader: &mut Reader<'_>, wanted: &SearchTerms<'_>, end: Instant) -> Result<SearchResults> {
        let mut found = SearchResults::default();
        let mut after = NEWEST;
        loop {
            let until = rows::position_after(reader, after, STRETCH)?;
            loop {
                let rows = rows::documents(reader, wanted, after, until.unwrap_or(OLDEST), BATCH)?;
                for row in &rows {
                    after = (row.modified_at, row.id);
                    if is_application_file(&row.name) {
                        continue;
                    }
                    if let Some(item) = self.eyes.show(reader, row)? {
                        add(&mut found, item, self.limit);
                    }
                    if found.more {
                        return Ok(SearchResults { whole: true, ..found });
                    }
                }
                if rows.len() < BATCH {
                    break;
                }
                if Instant::now() > end {
                    return Ok(found);
                }
            }
            let Some(until) = until else { return Ok(SearchResults { whole: true, ..found }) };
            after = until;
            if Instant::now() > end {
                return Ok(found);
            }
        }
    }
}

/// Adds an item, or records that there are more than `limit`.
fn add(found: &mut SearchResults, item: Item, limit: usize) {
    if found.items.len() < limit {
        found.items.push(item);
    } else {
        found.more = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_folded_and_cut_into_words() {
        let query = NameQuery::parse("  ÄRGER im/Büro\t2026 ").unwrap();
        assert_eq!(query.phrase, "ärger im büro 2026");
        assert_eq!(query.words, ["ärger", "büro", "2026", "im"]);
        let long = NameQuery::parse("a b c d e f g h").unwrap();
        assert_eq!(long.words, ["f g h", "a", "b", "c", "d", "e"]);
        assert!(long.matches("a b c d e f g h.pdf"));
        assert!(!long.matches("a b c d e f h g"));
        assert!(NameQuery::parse("\u{0}\u{7}  ").unwrap().words.is_empty());
        assert_eq!(
            NameQuery::parse(&"x".repeat(256)).err().map(|error| error.code().as_str()),
            Some("search_too_long")
        );
        NameQuery::parse(&"ü".repeat(255)).unwrap();
    }

    #[test]
    fn names_that_begin_with_the_query_are_nearer() {
        let query = NameQuery::parse("Plan").unwrap();
        let distances = ["plan", "Plan.PDF", "Planung.txt", "my plan.txt"].map(|name| query.distance(name));
        assert_eq!(distances, [0, 0, 1, 2]);
    }
}

//! Search by parts of names, over the whole farm, limited to items that the caller may open. The cost is bounded
//! whatever the size of the farm: when time is up, the results found so far are returned.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::search::{self, MAX_WORDS, NEWEST, OLDEST, SearchTerms};
use model::{Code, Error, MAX_NAME_CHARS, Result, Right, fold, is_application_file};

use crate::items::item::Item;
use crate::{Session, UnavailableDatabases};

use super::caller_view::CallerView;

/// Maximum number of items in one result.
pub const MAX_FOUND: usize = 50;
/// Rows read by one statement.
const BATCH: usize = 100;
/// Maximum number of sites, libraries and folders read by one statement. Those in recycle bins are removed afterwards.
const MAX_CONTAINERS: usize = 500;

/// Limits of a walk.
#[derive(Clone, Copy)]
struct Bounds {
    /// Number of documents between two checks of the time.
    stretch: usize,
    /// Time after which no further step begins.
    time: Duration,
}

const SEARCH: Bounds = Bounds { stretch: 100_000, time: Duration::from_millis(200) };

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

/// A search query.
#[derive(Default)]
struct Query {
    /// All words in their original order.
    phrase: String,
    /// Parts that names must contain, longest first, because the longest excludes most.
    words: Vec<String>,
}

impl Query {
    fn parse(text: &str) -> Result<Self> {
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

    fn matches(&self, folded: &str) -> bool {
        self.words.iter().all(|word| folded.contains(word.as_str()))
    }

    /// Returns the distance of a name from the query; smaller is better.
    fn distance(&self, name: &str) -> u8 {
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

/// Returns whether a name begins with a search text, ignoring case.
pub(crate) fn begins_with(name: &str, text: &str) -> bool {
    Query::parse(text).is_ok_and(|query| query.distance(name) < 2)
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
        let query = Arc::new(Query::parse(text)?);
        if query.words.is_empty() {
            return Ok(SearchResults { whole: true, ..SearchResults::default() });
        }
        self.look_for(query, limit.clamp(1, MAX_FOUND), SEARCH).await
    }

    async fn look_for(&self, query: Arc<Query>, limit: usize, bounds: Bounds) -> Result<SearchResults> {
        self.repository.inner.activity.note();
        let registry = self.registry().await?;
        let (mut places, mut documents) = (Vec::new(), Vec::new());
        let mut found =
            SearchResults { whole: true, missing: self.missing(registry.away()), ..SearchResults::default() };
        let begun = Instant::now();
        for content in &registry.databases {
            let look = SearchPass {
                eyes: CallerView::of(self, &registry, content),
                query: query.clone(),
                end: begun + bounds.time,
                stretch: bounds.stretch,
                limit,
            };
            let (some_places, some_documents) = match content.database.read_long(move |reader| look.all(reader)).await {
                Ok(parts) => parts,
                Err(error) => {
                    found.missing.add(content.name_if_database_error(error)?);
                    continue;
                }
            };
            for part in [&some_places, &some_documents] {
                found.more |= part.more;
                found.whole &= part.whole;
            }
            places.extend(some_places.items);
            documents.extend(some_documents.items);
        }
        documents.sort_by_key(|item| Reverse((item.modified_at, item.id)));
        found.more |= places.len() > limit.div_ceil(2) || places.len() + documents.len() > limit;
        places.truncate(limit.div_ceil(2));
        documents.truncate(limit - places.len());
        if !query.words.is_empty() {
            documents.sort_by_key(|item| query.distance(&item.name));
            places.sort_by_key(|item| query.distance(&item.name));
        }
        found.items = places;
        found.items.append(&mut documents);
        Ok(found)
    }
}

/// A search in one content database.
struct SearchPass {
    eyes: CallerView,
    query: Arc<Query>,
    end: Instant,
    stretch: usize,
    limit: usize,
}

impl SearchPass {
    fn all(mut self, reader: &mut Reader<'_>) -> Result<(SearchResults, SearchResults)> {
        let query = self.query.clone();
        let scopes = self.eyes.scopes(reader)?;
        let wanted = SearchTerms { words: &query.words, scopes: scopes.as_deref() };
        let places = if query.words.is_empty() { SearchResults::default() } else { self.places(reader, &wanted)? };
        Ok((SearchResults { whole: true, ..places }, self.documents(reader, &wanted)?))
    }

    fn places(&mut self, reader: &mut Reader<'_>, wanted: &SearchTerms<'_>) -> Result<SearchResults> {
        let mut found = SearchResults::default();
        let limit = self.limit.div_ceil(2);
        for item in self.roots(reader)? {
            add(&mut found, item, limit);
        }
        let rows = search::find_containers(reader, wanted, MAX_CONTAINERS)?;
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

    fn documents(&mut self, reader: &mut Reader<'_>, wanted: &SearchTerms<'_>) -> Result<SearchResults> {
        let mut found = SearchResults::default();
        let mut after = NEWEST;
        loop {
            let until = search::position_after(reader, after, self.stretch)?;
            loop {
                let rows = search::documents(reader, wanted, after, until.unwrap_or(OLDEST), BATCH)?;
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
                if Instant::now() > self.end {
                    return Ok(found);
                }
            }
            let Some(until) = until else { return Ok(SearchResults { whole: true, ..found }) };
            after = until;
            if Instant::now() > self.end {
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
        let query = Query::parse("  ÄRGER im/Büro\t2026 ").unwrap();
        assert_eq!(query.phrase, "ärger im büro 2026");
        assert_eq!(query.words, ["ärger", "büro", "2026", "im"]);
        let long = Query::parse("a b c d e f g h").unwrap();
        assert_eq!(long.words, ["f g h", "a", "b", "c", "d", "e"]);
        assert!(long.matches("a b c d e f g h.pdf"));
        assert!(!long.matches("a b c d e f h g"));
        assert!(Query::parse("\u{0}\u{7}  ").unwrap().words.is_empty());
        assert_eq!(Query::parse(&"x".repeat(256)).err().map(|error| error.code().as_str()), Some("search_too_long"));
        Query::parse(&"ü".repeat(255)).unwrap();
    }

    #[test]
    fn names_that_begin_with_the_query_are_nearer() {
        let query = Query::parse("Plan").unwrap();
        let distances = ["plan", "Plan.PDF", "Planung.txt", "my plan.txt"].map(|name| query.distance(name));
        assert_eq!(distances, [0, 0, 1, 2]);
    }
}

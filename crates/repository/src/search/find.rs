//! Finding items by their names and documents by their words, limited to what the caller may open.
//!
//! Names are compared with the rows of the databases, so that a new name is found at once. Words are looked up in the
//! indexes, which follow the databases. Each hit is read from its database again, with the caller's rights.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::Reader;
use database::content::node;
use model::{Id, NodeKind, Result, is_application_file};
use search::index::{Hit, Passage, TopHits, View};
use search::query::SearchQuery;

use super::trim::{Trim, VisibleScopes};
use crate::farm::registry::ContentDatabase;
use crate::items::caller_view::CallerView;
use crate::items::item::Item;
use crate::{MAX_FOUND, Session, UnavailableDatabases};

/// Time limit for ranking the entries of one index.
const LONGEST: Duration = Duration::from_millis(150);

/// An item that was found.
#[derive(Clone, Debug)]
pub struct FoundItem {
    /// The item.
    pub item: Item,
    /// The matching part of its text; `None` if it matches only by name.
    pub passage: Option<Passage>,
}

/// Result of a search for names and words.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Sites, libraries and folders; then documents whose names begin with the text; then documents with the words, the
    /// best first; then documents with the text anywhere in their names, newest first.
    pub items: Vec<FoundItem>,
    /// True if there are more results than requested.
    pub more: bool,
    /// True if all names were compared. Otherwise time was up, and older documents were left out.
    pub whole: bool,
    /// State of the search in texts.
    pub texts: TextSearch,
    /// Content databases that were not searched.
    pub missing: UnavailableDatabases,
}

/// State of the search in texts of documents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum TextSearch {
    /// All indexed texts.
    #[default]
    Complete,
    /// Only some, because an index is still being built, or because time was up.
    Incomplete,
    /// None of at least one content database, because it or its index cannot be used.
    Unavailable,
}

/// A document with the words.
struct TextHit {
    hit: Hit,
    found: FoundItem,
}

impl Session {
    /// Returns items whose name contains the text, and documents with its words in name or text; at most `limit`, which
    /// is capped at [`MAX_FOUND`]. Quotation marks enclose a phrase. A text without words finds nothing.
    ///
    /// # Errors
    /// `Invalid` when the text is longer than a name can be.
    #[boxed]
    pub async fn find(&self, text: &str, limit: usize) -> Result<Found> {
        let limit = limit.clamp(1, MAX_FOUND);
        let names = self.search(text, limit).await?;
        let mut found = Found { more: names.more, whole: names.whole, missing: names.missing, ..Found::default() };
        if !found.missing.is_empty() {
            found.texts = TextSearch::Unavailable;
        }
        let query = Arc::new(SearchQuery::parse(text));
        let mut hits =
            if query.all.is_empty() { Vec::new() } else { self.text_hits(&query, limit, &mut found).await? };
        hits.sort_by_key(|found| found.hit);
        let mut passages: HashMap<Id, Option<Passage>> =
            hits.iter().map(|hit| (hit.hit.node, hit.found.passage.clone())).collect();
        let mut named: Vec<FoundItem> = Vec::with_capacity(names.items.len());
        for item in names.items {
            let passage = passages.remove(&item.id).flatten();
            named.push(FoundItem { item, passage });
        }
        let is_first = |found: &FoundItem| {
            found.item.kind != NodeKind::Document || crate::items::begins_with(&found.item.name, text)
        };
        let (first, last): (Vec<_>, Vec<_>) = named.into_iter().partition(is_first);
        let shown: HashSet<Id> = first.iter().map(|found| found.item.id).collect();
        let hits: Vec<FoundItem> =
            hits.into_iter().map(|hit| hit.found).filter(|found| !shown.contains(&found.item.id)).collect();
        let shown: HashSet<Id> = hits.iter().map(|found| found.item.id).collect();
        let last = last.into_iter().filter(|found| !shown.contains(&found.item.id));
        found.items = first.into_iter().chain(hits).chain(last).collect();
        found.more |= found.items.len() > limit;
        found.items.truncate(limit);
        Ok(found)
    }

    async fn text_hits(&self, query: &Arc<SearchQuery>, limit: usize, found: &mut Found) -> Result<Vec<TextHit>> {
        let registry = self.registry().await?;
        let mut hits = Vec::new();
        for content in &registry.databases {
            let Some(index) = self.repository.inner.search.of(content.row.id) else {
                found.texts = found.texts.max(TextSearch::Unavailable);
                continue;
            };
            let view = index.view();
            if view.checkpoint().walk.is_some() || !view.checkpoint().pending.is_empty() {
                found.texts = found.texts.max(TextSearch::Incomplete);
            }
            let pass = TextPass {
                deadline: Instant::now() + LONGEST,
                session: self.clone(),
                eyes: CallerView::of(self, &registry, content),
                content: content.clone(),
                view,
                query: query.clone(),
                limit,
            };
            match content.database.read_long(move |reader| pass.run(reader)).await {
                Ok(Ok((mut some, whole))) => {
                    hits.append(&mut some);
                    if !whole {
                        found.texts = found.texts.max(TextSearch::Incomplete);
                    }
                }
                Ok(Err(error)) => {
                    tracing::warn!(
                        database = content.row.name,
                        error = error.report(),
                        "texts of documents were not searched, because the search index cannot be read"
                    );
                    found.texts = found.texts.max(TextSearch::Unavailable);
                }
                Err(error) => {
                    found.missing.add(content.name_if_database_error(error)?);
                    found.texts = TextSearch::Unavailable;
                }
            }
        }
        Ok(hits)
    }
}

/// A search for words in one content database.
struct TextPass {
    session: Session,
    eyes: CallerView,
    content: Arc<ContentDatabase>,
    view: Arc<View>,
    query: Arc<SearchQuery>,
    limit: usize,
    deadline: Instant,
}

/// Result of a query to an index.
type IndexAnswer<T> = std::result::Result<T, model::Error>;

impl TextPass {
    /// Returns the documents found, and whether all texts were searched.
    ///
    /// # Errors
    /// Those of the database. Errors of the index are in the answer.
    fn run(mut self, reader: &mut Reader<'_>) -> Result<IndexAnswer<(Vec<TextHit>, bool)>> {
        let mut trim = self.trim(reader)?;
        let mut top = self.view.top(&self.query, self.limit + 1, &trim, self.deadline);
        let unknown = trim.unknown.take();
        if !unknown.is_empty() {
            trim.places = trim.places.with(reader, &unknown)?;
            self.session.repository.inner.search.keep_places(self.content.row.id, trim.places.clone());
            top = self.view.top(&self.query, self.limit + 1, &trim, self.deadline);
        }
        let TopHits { hits, whole } = match top {
            Ok(top) => top,
            Err(error) => return Ok(Err(error)),
        };
        let mut found = Vec::with_capacity(hits.len());
        for hit in hits {
            let Some(row) = node::find(reader, hit.node)? else { continue };
            if is_application_file(&row.name) {
                continue;
            }
            let Some(item) = self.eyes.show_version(reader, &row, hit.version)? else { continue };
            let stored = match self.view.read(&hit) {
                Ok(stored) => stored,
                Err(error) => return Ok(Err(error)),
            };
            // Renamed since. The new name is compared by the search for names.
            if stored.name != row.name {
                continue;
            }
            // A passage is a part of the content, whose reading such site collections record.
            let passage = if self.eyes.records_reads(&row) { None } else { stored.passage(&self.query) };
            found.push(TextHit { hit, found: FoundItem { item, passage } });
        }
        Ok(Ok((found, whole)))
    }

    fn trim(&self, reader: &mut Reader<'_>) -> Result<Trim> {
        let indexes = &self.session.repository.inner.search;
        let (database, known) = (self.content.row.id, indexes.places(self.content.row.id));
        let places = known.current(reader)?;
        if !Arc::ptr_eq(&places, &known) {
            indexes.keep_places(database, places.clone());
        }
        let scopes = self.eyes.granted_rights(reader)?.map(|granted| {
            let mut scopes = VisibleScopes::default();
            granted.into_iter().for_each(|(scope, rights)| scopes.add(scope, rights));
            scopes
        });
        Ok(Trim { places, principal: self.session.principal.clone(), scopes, unknown: RefCell::default() })
    }
}

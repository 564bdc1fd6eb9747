//! Finding items by their names and documents by their words, limited to what the caller may open. Rows of lists are
//! found as documents are: by their titles and by the words in their columns.
//!
//! Names and words are looked up in the indexes, which follow the databases. Documents that changed since are judged by
//! their rows. Each hit is read from its database again, with the caller's rights.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use model::{ErrorKind, Id, MAX_NAME_CHARS, NodeKind, Result, Timestamp};
use search::index::{Facets, HitOrder, Passage};
use search::query::{SearchQuery, Tolerance};

use super::content_pass::{ContentPass, TextHit, TextHits};
use super::meanings::Meanings;
use super::name_query::NameQuery;
use super::names::NamedItems;
use super::request::{FindRequest, Found, FoundFacets, FoundItem, FoundSite, TextSearch, checked_length};
use super::search_plan::{SearchPlan, TextPlan};
use crate::farm::registry::ContentDatabase;
use crate::items::caller_view::CallerView;
use crate::items::item::Item;
use crate::{Session, Target, UnavailableDatabases};

/// Maximum number of items in one result.
pub const MAX_FOUND: usize = 500;
/// Time after which names are not compared with further rows.
const NAME_WALK_TIMEOUT: Duration = Duration::from_millis(200);
/// Number of results below which similar words are looked for as well, and then documents with most of the words.
const FEW: u64 = 3;
/// Limit on the values of a property that are counted.
const MAX_FACET_VALUES: usize = 10;
/// Limit on the sites that are read to find those which the caller may know.
const MAX_SITES_READ: usize = 30;

/// Result of a search.
#[derive(Clone, Debug, Default)]
pub struct SearchResults {
    /// Sites, libraries and folders, then documents. In both groups, names that begin with the query come first.
    /// Documents of equal rank are sorted newest first.
    pub items: Vec<Item>,
    /// True if there are more results than requested.
    pub more: bool,
    /// True if everything was searched. Otherwise time was up, and documents were left out.
    pub whole: bool,
    /// Content databases that were not searched.
    pub missing: UnavailableDatabases,
}

/// Results of all content databases.
pub(super) struct AllHits {
    pub(super) named: NamedItems,
    pub(super) texts: TextHits,
}

impl Session {
    /// Returns items whose name contains all words of `text`, with case folded as in names; at most `limit`, which is
    /// capped at [`MAX_FOUND`]. Up to half of them may be sites, libraries and folders. A text without words finds
    /// nothing.
    ///
    /// # Errors
    /// `Invalid` when the text is longer than a name can be.
    #[boxed]
    pub async fn find_by_name(&self, text: &str, limit: usize) -> Result<SearchResults> {
        let names = NameQuery::parse(text)?;
        if names.is_empty() {
            return Ok(SearchResults { whole: true, ..SearchResults::default() });
        }
        let limit = limit.clamp(1, MAX_FOUND);
        let plan = Arc::new(SearchPlan {
            names: Some(names),
            words: None,
            tolerance: Tolerance::Exact,
            limit,
            database: None,
            until: None,
        });
        let mut found = Found { missing: self.missing(self.registry().await?.away()), ..Found::default() };
        let named = self.ask_all(&plan, &mut found).await?.named;
        let (more, whole) = (named.more, !named.is_cut);
        let items = plan.names.as_ref().map(|names| named.into_items(names, limit)).unwrap_or_default();
        Ok(SearchResults { items, more, whole, missing: found.missing })
    }

    /// Returns items whose name contains the text of the request, and documents that fit it as a query. Names are
    /// compared only with queries without operators and filters. A query without words and filters finds nothing.
    ///
    /// # Errors
    /// `Invalid` when the text is longer than [`crate::MAX_QUERY_CHARS`].
    #[boxed]
    pub async fn search(&self, request: &FindRequest) -> Result<Found> {
        self.search_within(request, None).await
    }

    /// Like [`Session::search`]. With a container, only documents below it are found, and names are not compared by
    /// parts.
    ///
    /// # Errors
    /// Those of [`Session::search`].
    #[boxed]
    pub async fn search_within(&self, request: &FindRequest, container: Option<&Item>) -> Result<Found> {
        let (text, limit) = (request.text.as_str(), request.limit.clamp(1, MAX_FOUND));
        let length = checked_length(text)?;
        let columns = self.columns_in(text).await?;
        let known = columns.known();
        let mut query = SearchQuery::parse_with(text, Timestamp::now(), &self.zone, &known);
        let registry = self.registry().await?;
        let (database, missing) = match container {
            // Whatever lies below a container is in the same content database.
            Some(container) => {
                let collection = registry.collection(container.collection_id)?;
                (Some(collection.database_id), UnavailableDatabases::default())
            }
            None => (None, self.missing(registry.away())),
        };
        let mut found = Found { whole: true, missing, ..Found::default() };
        if !found.missing.is_empty() {
            found.texts = TextSearch::Unavailable;
        }
        let (mut names, mut words) = (None, None);
        let is_plain = query.is_plain && container.is_none();
        if is_plain && length <= MAX_NAME_CHARS && request.order == HitOrder::Relevance {
            names = Some(NameQuery::parse(text)?).filter(|names| !names.is_empty());
        }
        if query.expression.is_some() {
            let mut meanings = Meanings::of(self, text, &mut query, columns).await?;
            if let Some(container) = container {
                meanings.limit(&mut query, container);
            }
            if meanings.is_incomplete {
                found.texts = TextSearch::Unavailable;
            }
            words = Some(Arc::new(TextPlan {
                query: query.clone(),
                meanings,
                order: request.order,
                counts_facets: request.counts_facets,
                without_passages: request.without_passages,
            }));
        }
        let again = words.clone();
        let plan = SearchPlan { names, words, tolerance: Tolerance::Exact, limit, database, until: None };
        let plan = Arc::new(plan);
        let AllHits { named, mut texts } = self.ask_all(&plan, &mut found).await?;
        (found.more, found.whole) = (named.more, !named.is_cut);
        let named = plan.names.as_ref().map(|names| named.into_items(names, limit)).unwrap_or_default();
        for tolerance in [Tolerance::Similar, Tolerance::MostWords] {
            if texts.total + (named.len() as u64) >= FEW || !texts.whole || !query.benefits_from(tolerance) {
                continue;
            }
            let plan = SearchPlan { names: None, words: again.clone(), tolerance, limit, database, until: None };
            let tolerant = self.ask_all(&Arc::new(plan), &mut found).await?.texts;
            if tolerant.whole {
                found.tried = tolerance;
            }
            if tolerant.total > texts.total {
                found.tolerance = tolerance;
                texts = if request.order == HitOrder::Relevance { texts.followed_by(tolerant) } else { tolerant };
            }
        }
        (found.remarks, found.columns) = (query.remarks, known);
        found.documents = texts.total;
        found.facets = self.facets(std::mem::take(&mut texts.facets), &texts.sites).await?;
        found.items = merged(plan.names.as_ref(), named, std::mem::take(&mut texts.hits));
        found.more |= texts.more || found.items.len() > limit;
        found.items.truncate(limit);
        Ok(found)
    }

    /// Searches the content databases. Notes in `found` what was not searched.
    pub(super) async fn ask_all(&self, plan: &Arc<SearchPlan>, found: &mut Found) -> Result<AllHits> {
        self.repository.inner.activity.note();
        let registry = self.registry().await?;
        let end = Instant::now() + NAME_WALK_TIMEOUT;
        let texts = TextHits { whole: true, ..TextHits::default() };
        let mut all = AllHits { named: NamedItems::default(), texts };
        let is_asked = |content: &&Arc<ContentDatabase>| plan.database.is_none_or(|id| content.row.id == id);
        for content in registry.databases.iter().filter(is_asked) {
            let pass = ContentPass {
                session: self.clone(),
                caller_view: CallerView::of(self, &registry, content),
                content: content.clone(),
                index: self.repository.inner.search.of(content.row.id),
                plan: plan.clone(),
                end,
            };
            let hits = match content.database.read_long(move |reader| pass.run(reader)).await {
                Ok(hits) => hits,
                Err(error) => {
                    found.missing.add(content.name_if_database_error(error)?);
                    found.texts = TextSearch::Unavailable;
                    continue;
                }
            };
            all.named.add(hits.named);
            if plan.words.is_some() {
                found.texts = found.texts.max(hits.state);
            }
            match hits.texts {
                Some(Ok(texts)) => {
                    if !texts.whole {
                        found.texts = found.texts.max(TextSearch::Incomplete);
                    }
                    all.texts.add(texts);
                }
                Some(Err(error)) => {
                    tracing::warn!(
                        database = content.row.name,
                        error = error.report(),
                        "texts of documents were not searched, because the search index cannot be read"
                    );
                    self.repository.inner.search.note_error(content.row.id, &error);
                    found.texts = found.texts.max(TextSearch::Unavailable);
                }
                None => {}
            }
        }
        all.named.note_more(plan.limit);
        all.texts.hits.sort_by_key(|hit| hit.hit);
        Ok(all)
    }

    /// Returns the most frequent properties. Sites that the caller may not know are left out.
    async fn facets(&self, mut facets: Facets, sites: &HashMap<Id, u64>) -> Result<FoundFacets> {
        let mut found = FoundFacets {
            rows: facets.take_rows(),
            extensions: most(facets.extensions.into_iter().filter(|(extension, _)| !extension.is_empty())),
            authors: most(facets.authors),
            years: facets.years.into_iter().rev().take(MAX_FACET_VALUES).collect(),
            sites: Vec::new(),
        };
        let mut sites: Vec<(Id, u64)> = sites.iter().map(|(site, count)| (*site, *count)).collect();
        sites.sort_by_key(|(site, count)| (Reverse(*count), *site));
        for (site, count) in sites.into_iter().take(MAX_SITES_READ) {
            match self.item(&Target::Id(site)).await {
                // The root site contains everything, so it is no useful filter.
                Ok(item) if item.path.is_empty() => {}
                Ok(item) => found.sites.push((FoundSite { name: item.name, path: item.path }, count)),
                // Unknown to the caller, or its content database does not answer any more.
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Unavailable) => {}
                Err(error) => return Err(error),
            }
        }
        found.sites.truncate(MAX_FACET_VALUES);
        Ok(found)
    }
}

/// Returns the values with the greatest counts; equal ones in their own order.
fn most<T: Ord + Clone>(counts: impl IntoIterator<Item = (T, u64)>) -> Vec<(T, u64)> {
    let mut counts: Vec<(T, u64)> = counts.into_iter().collect();
    counts.sort_by_key(|(value, count)| (Reverse(*count), value.clone()));
    counts.truncate(MAX_FACET_VALUES);
    counts
}

/// Puts items found by name and documents found by words in one order.
fn merged(names: Option<&NameQuery>, named: Vec<Item>, hits: Vec<TextHit>) -> Vec<FoundItem> {
    let mut passages: HashMap<Id, Option<Passage>> =
        hits.iter().map(|hit| (hit.hit.node, hit.found.passage.clone())).collect();
    let named = named.into_iter().map(|item| {
        let passage = passages.remove(&item.id).flatten();
        FoundItem { item, passage }
    });
    let is_first = |found: &FoundItem| {
        names.is_some_and(|names| match found.item.kind {
            NodeKind::Document | NodeKind::Row => names.distance(found.item.shown_name()) < 2,
            _ => names.begins_words(&found.item.name),
        })
    };
    let (first, last): (Vec<_>, Vec<_>) = named.partition(is_first);
    let shown: HashSet<Id> = first.iter().map(|found| found.item.id).collect();
    let hits: Vec<FoundItem> =
        hits.into_iter().map(|hit| hit.found).filter(|found| !shown.contains(&found.item.id)).collect();
    let shown: HashSet<Id> = hits.iter().map(|found| found.item.id).collect();
    let last = last.into_iter().filter(|found| !shown.contains(&found.item.id));
    first.into_iter().chain(hits).chain(last).collect()
}

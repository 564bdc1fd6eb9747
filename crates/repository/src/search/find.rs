//! Finding items by their names and documents by their words, limited to what the caller may open.
//!
//! Names are compared with the rows of the databases, so that a new name is found at once. Words are looked up in the
//! indexes, which follow the databases. Each hit is read from its database again, with the caller's rights.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use model::{Code, Error, ErrorKind, Id, MAX_NAME_CHARS, NodeKind, Result, Timestamp};
use search::index::{Facets, HitOrder, Passage};
use search::query::SearchQuery;

use super::meanings::Meanings;
use super::request::{FindRequest, Found, FoundFacets, FoundItem, FoundSite, TextSearch};
use super::text_pass::{TextHit, TextHits, TextPass};
use crate::items::caller_view::CallerView;
use crate::{MAX_FOUND, Session, Target};

/// Limit on the characters of a query.
pub const MAX_QUERY_CHARS: usize = 4_096;
/// Number of documents below which similar words are looked for as well.
const FEW: u64 = 3;
/// Limit on the values of a property that are counted.
const MAX_FACET_VALUES: usize = 10;
/// Limit on the sites that are read to find those which the caller may know.
const MAX_SITES_READ: usize = 30;

/// Search in all indexes: the parts that are the same for each.
struct TextRequest<'a> {
    request: &'a FindRequest,
    limit: usize,
    query: Arc<SearchQuery>,
    meanings: Arc<Meanings>,
    with_similar: bool,
}

impl Session {
    /// Returns items whose name contains the text of the request, and documents that fit it as a query. Names are
    /// compared only with queries without operators and filters. A query without words and filters finds nothing.
    ///
    /// # Errors
    /// `Invalid` when the text is longer than [`MAX_QUERY_CHARS`].
    #[boxed]
    pub async fn find(&self, request: &FindRequest) -> Result<Found> {
        let (text, limit) = (request.text.as_str(), request.limit.clamp(1, MAX_FOUND));
        let length = text.chars().count();
        if length > MAX_QUERY_CHARS {
            return Err(Error::invalid("a search text has at most 4096 characters").with_code(Code::SearchTooLong));
        }
        let mut query = SearchQuery::parse(text, Timestamp::now());
        let missing = self.missing(self.registry().await?.away());
        let mut found = Found { whole: true, missing, ..Found::default() };
        let mut named = Vec::new();
        if query.is_plain && length <= MAX_NAME_CHARS && request.order == HitOrder::Relevance {
            let names = self.search(text, limit).await?;
            (found.more, found.whole, found.missing) = (names.more, names.whole, names.missing);
            named = names.items;
        }
        if !found.missing.is_empty() {
            found.texts = TextSearch::Unavailable;
        }
        let mut texts = TextHits::default();
        if query.expression.is_some() {
            let meanings = Meanings::of(self, text, &mut query).await?;
            if meanings.is_incomplete {
                found.texts = TextSearch::Unavailable;
            }
            let meanings = Arc::new(meanings);
            let query = Arc::new(query.clone());
            let mut asked = TextRequest { request, limit, query, meanings, with_similar: false };
            texts = self.text_hits(&asked, &mut found).await?;
            if texts.total + (named.len() as u64) < FEW && texts.whole && asked.query.has_similar() {
                asked.with_similar = true;
                let state = found.texts;
                let similar = self.text_hits(&asked, &mut found).await?;
                if similar.total > texts.total {
                    found.includes_similar = true;
                    texts = similar;
                } else {
                    found.texts = state;
                }
            }
        }
        found.remarks = query.remarks;
        found.documents = texts.total;
        found.facets = self.facets(std::mem::take(&mut texts.facets), &texts.sites).await?;
        found.items = merged(request, named, std::mem::take(&mut texts.hits));
        found.more |= texts.more || found.items.len() > limit;
        found.items.truncate(limit);
        Ok(found)
    }

    async fn text_hits(&self, asked: &TextRequest<'_>, found: &mut Found) -> Result<TextHits> {
        let registry = self.registry().await?;
        let mut all = TextHits { whole: true, ..TextHits::default() };
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
                session: self.clone(),
                eyes: CallerView::of(self, &registry, content),
                content: content.clone(),
                view,
                query: asked.query.clone(),
                meanings: asked.meanings.clone(),
                with_similar: asked.with_similar,
                limit: asked.limit,
                order: asked.request.order,
                counts_facets: asked.request.counts_facets,
            };
            match content.database.read_long(move |reader| pass.run(reader)).await {
                Ok(Ok(mut some)) => {
                    all.hits.append(&mut some.hits);
                    all.total += some.total;
                    all.more |= some.more;
                    all.facets.add(some.facets);
                    some.sites.into_iter().for_each(|(site, count)| *all.sites.entry(site).or_default() += count);
                    if !some.whole {
                        all.whole = false;
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
        all.hits.sort_by_key(|hit| hit.hit);
        Ok(all)
    }

    /// Returns the most frequent properties. Sites that the caller may not know are left out.
    async fn facets(&self, facets: Facets, sites: &HashMap<Id, u64>) -> Result<FoundFacets> {
        let mut found = FoundFacets {
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
fn merged(request: &FindRequest, names: Vec<crate::Item>, hits: Vec<TextHit>) -> Vec<FoundItem> {
    let mut passages: HashMap<Id, Option<Passage>> =
        hits.iter().map(|hit| (hit.hit.node, hit.found.passage.clone())).collect();
    let mut named: Vec<FoundItem> = Vec::with_capacity(names.len());
    for item in names {
        let passage = passages.remove(&item.id).flatten();
        named.push(FoundItem { item, passage });
    }
    let is_first = |found: &FoundItem| {
        found.item.kind != NodeKind::Document || crate::items::begins_with(&found.item.name, &request.text)
    };
    let (first, last): (Vec<_>, Vec<_>) = named.into_iter().partition(is_first);
    let shown: HashSet<Id> = first.iter().map(|found| found.item.id).collect();
    let hits: Vec<FoundItem> =
        hits.into_iter().map(|hit| hit.found).filter(|found| !shown.contains(&found.item.id)).collect();
    let shown: HashSet<Id> = hits.iter().map(|found| found.item.id).collect();
    let last = last.into_iter().filter(|found| !shown.contains(&found.item.id));
    first.into_iter().chain(hits).chain(last).collect()
}

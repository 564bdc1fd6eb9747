//! Search by parts of names, limited to items that the caller may open. Containers are compared with their rows.
//! Documents are looked up in the index, and compared with their rows where the index cannot answer: the cost of that
//! is bounded, and when time is up, the results found so far are returned. Rows of lists are found by their titles in
//! the index only, because the database has no folded titles.

use std::cmp::Reverse;
use std::time::{Duration, Instant};

use database::Reader;
use database::content::node;
use database::content::search::{self as rows, NEWEST, OLDEST, SearchTerms};
use model::{Result, Right, fold, is_application_file};
use search::index::{Clock, NameHit, NameHits, NameRequest, View};

use crate::items::caller_view::CallerView;
use crate::items::item::Item;

use super::caller_admission::CallerAdmission;
use super::name_query::NameQuery;

/// Least number of documents that are ranked by their names, however few are wanted: the best need not be the newest.
pub(super) const LEAST_RANKED: usize = 50;
/// Rows read by one statement.
const BATCH: usize = 100;
/// Maximum number of sites, libraries and folders read by one statement. Those in recycle bins are removed afterwards.
const MAX_CONTAINERS: usize = 500;

/// Time limit for looking up names in one index.
const NAME_LOOKUP_TIMEOUT: Duration = Duration::from_millis(100);
/// Number of documents between two checks of the time, in a walk through their rows.
const STRETCH: usize = 100_000;

/// Some of the items found by their names.
#[derive(Default)]
struct FoundPart {
    items: Vec<Item>,
    more: bool,
    /// True if everything was searched.
    whole: bool,
}

/// Items found by their names.
#[derive(Default)]
pub(super) struct NamedItems {
    containers: Vec<Item>,
    documents: Vec<Item>,
    /// True if there are more than requested.
    pub(super) more: bool,
    /// True if time was up, and documents were left out.
    pub(super) is_cut: bool,
}

impl NamedItems {
    /// Adds what another content database has.
    pub(super) fn add(&mut self, mut other: Self) {
        self.containers.append(&mut other.containers);
        self.documents.append(&mut other.documents);
        self.more |= other.more;
        self.is_cut |= other.is_cut;
    }

    /// Returns the best items in their order: sites, libraries and folders with words that begin with those of the
    /// query, documents, then other sites, libraries and folders.
    pub(super) fn into_items(self, query: &NameQuery, limit: usize) -> Vec<Item> {
        let Self { mut containers, mut documents, .. } = self;
        containers.sort_by_cached_key(|item| (!query.begins_words(&item.name), query.distance(&item.name)));
        containers.truncate(limit.div_ceil(2));
        documents.sort_by_cached_key(|item| (query.distance(item.shown_name()), Reverse((item.modified_at, item.id))));
        let first = containers.partition_point(|item| query.begins_words(&item.name));
        let mut others = containers.split_off(first);
        containers.append(&mut documents);
        containers.append(&mut others);
        containers.truncate(limit);
        containers
    }

    /// Notes whether there are more items than requested.
    pub(super) fn note_more(&mut self, limit: usize) {
        self.more |= self.containers.len() > limit.div_ceil(2) || self.containers.len() + self.documents.len() > limit;
    }
}

/// A search for names in one content database.
pub(super) struct NamePass<'a> {
    pub(super) caller_view: &'a mut CallerView,
    pub(super) query: &'a NameQuery,
    pub(super) limit: usize,
    /// Time after which no further step of a walk through rows begins.
    pub(super) end: Instant,
}

impl NamePass<'_> {
    /// Returns the items found.
    ///
    /// # Errors
    /// Those of the database.
    pub(super) fn run(
        &mut self,
        reader: &mut Reader<'_>,
        index: Option<(&View, &mut CallerAdmission)>,
    ) -> Result<NamedItems> {
        let (kept, read);
        let scopes = match &index {
            Some((_, admission)) => {
                kept = admission.scopes.clone();
                kept.as_ref().map(|scopes| scopes.sorted.as_slice())
            }
            None => {
                read = self.caller_view.scopes(reader)?;
                read.as_deref()
            }
        };
        let wanted = SearchTerms { words: &self.query.words, scopes };
        let containers = self.containers(reader, &wanted)?;
        let by_index = match index {
            Some((view, admission)) if self.query.suits_index() => self.indexed_documents(reader, view, admission)?,
            _ => None,
        };
        let documents = match by_index {
            Some(documents) => documents,
            None => self.documents(reader, &wanted)?,
        };
        let more = containers.more || documents.more;
        Ok(NamedItems { containers: containers.items, documents: documents.items, more, is_cut: !documents.whole })
    }

    fn containers(&mut self, reader: &mut Reader<'_>, wanted: &SearchTerms<'_>) -> Result<FoundPart> {
        let mut found = FoundPart::default();
        let limit = self.limit.div_ceil(2);
        for item in self.roots(reader)? {
            add(&mut found, item, limit);
        }
        let rows = rows::find_containers(reader, wanted, MAX_CONTAINERS)?;
        for row in &rows {
            if found.more {
                break;
            }
            if let Some(item) = self.caller_view.show(reader, row)? {
                add(&mut found, item, limit);
            }
        }
        Ok(found)
    }

    /// Returns matching root sites of site collections. Their titles count as their names.
    fn roots(&self, reader: &mut Reader<'_>) -> Result<Vec<Item>> {
        let registry = self.caller_view.finder.registry.clone();
        let mut found = Vec::new();
        let here = self.caller_view.collections(&registry).filter(|row| self.query.matches(&fold(&row.title)));
        for row in here.take(MAX_CONTAINERS) {
            match self.caller_view.locate(reader, row.id)? {
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
        admission: &mut CallerAdmission,
    ) -> Result<Option<FoundPart>> {
        if view.checkpoint().walk.is_some() || admission.unindexed.is_cut || !admission.unindexed.containers.is_empty()
        {
            return Ok(None);
        }
        let mut first: Option<NameHits> = None;
        let named = admission.with_known_places(reader, |admission| {
            let request = NameRequest {
                parts: &self.query.words,
                beginning: &self.query.phrase,
                limit: self.limit + 1,
                clock: Clock::new(Instant::now() + view.time_limit(NAME_LOOKUP_TIMEOUT)),
            };
            match (first.take(), view.named(&request, admission)) {
                // The first result stays if it is complete and the second is not.
                (Some(first), Ok(again)) if first.whole && !again.whole => Ok(NameHits { whole: false, ..first }),
                (_, named) => {
                    first = named.as_ref().ok().cloned();
                    named
                }
            }
        })?;
        let named = match named {
            Ok(named) => named,
            Err(error) => {
                tracing::warn!(error = error.report(), "names are compared with rows, as the index cannot be read");
                return Ok(None);
            }
        };
        let mut hits = named.hits;
        hits.retain(|hit| !admission.unindexed.has(hit.node));
        hits.extend(admission.unindexed.documents().filter(|(_, changed)| self.query.matches(&changed.folded)).map(
            |(node, changed)| NameHit {
                begins: changed.folded.starts_with(&self.query.phrase),
                modified: changed.modified,
                node,
            },
        ));
        hits.sort_unstable_by(|one, other| other.cmp(one));
        let mut found = FoundPart { more: named.more, whole: named.whole, ..FoundPart::default() };
        for hit in hits {
            if found.items.len() > self.limit {
                break;
            }
            let Some(row) = node::find(reader, hit.node)? else { continue };
            if is_application_file(&row.name) || !self.query.matches(&row.shown_folded()) {
                continue;
            }
            if let Some(item) = self.caller_view.show(reader, &row)? {
                add(&mut found, item, self.limit);
            }
        }
        Ok(Some(found))
    }

    fn documents(&mut self, reader: &mut Reader<'_>, wanted: &SearchTerms<'_>) -> Result<FoundPart> {
        let mut found = FoundPart::default();
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
                    if let Some(item) = self.caller_view.show(reader, row)? {
                        add(&mut found, item, self.limit);
                    }
                    if found.more {
                        return Ok(FoundPart { whole: true, ..found });
                    }
                }
                if rows.len() < BATCH {
                    break;
                }
                if Instant::now() > self.end {
                    return Ok(found);
                }
            }
            let Some(until) = until else { return Ok(FoundPart { whole: true, ..found }) };
            after = until;
            if Instant::now() > self.end {
                return Ok(found);
            }
        }
    }
}

/// Adds an item, or records that there are more than `limit`.
fn add(found: &mut FoundPart, item: Item, limit: usize) {
    if found.items.len() < limit {
        found.items.push(item);
    } else {
        found.more = true;
    }
}

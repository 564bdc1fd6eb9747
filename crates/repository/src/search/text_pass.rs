//! The search in the index of one content database, limited to what the caller may open.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Reader;
use database::content::node;
use model::{Id, Result, Timestamp, is_application_file};
use search::index::{Clock, Facets, Hit, HitOrder, TopHits, TopRequest, View};
use search::query::{SearchQuery, WordMatcher};

use super::meanings::Meanings;
use super::request::FoundItem;
use super::tail::Tail;
use super::trim::{Trim, UnknownPlaces, VisibleScopes};
use crate::Session;
use crate::farm::registry::ContentDatabase;
use crate::items::caller_view::CallerView;

/// A search for words in one content database.
pub(super) struct TextPass {
    pub(super) session: Session,
    pub(super) eyes: CallerView,
    pub(super) content: Arc<ContentDatabase>,
    pub(super) view: Arc<View>,
    pub(super) query: Arc<SearchQuery>,
    pub(super) meanings: Arc<Meanings>,
    pub(super) with_similar: bool,
    pub(super) limit: usize,
    pub(super) order: HitOrder,
    pub(super) counts_facets: bool,
}

/// Time limit for ranking the entries of one index, and for the passages of its hits.
const LONGEST: Duration = Duration::from_millis(150);

/// Result of a search in one content database.
#[derive(Default)]
pub(super) struct TextHits {
    pub(super) hits: Vec<TextHit>,
    /// Number of documents that fit.
    pub(super) total: u64,
    /// Their numbers by properties, without those by place.
    pub(super) facets: Facets,
    /// Their numbers by site, those of sites below included.
    pub(super) sites: HashMap<Id, u64>,
    /// True if there may be more hits than `total` says.
    pub(super) more: bool,
    /// True if everything was searched.
    pub(super) whole: bool,
}

/// A document with the words.
pub(super) struct TextHit {
    pub(super) hit: Hit,
    pub(super) found: FoundItem,
}

impl TextPass {
    /// Returns the documents found.
    ///
    /// # Errors
    /// Those of the database. Errors of the index are in the answer.
    pub(super) fn run(mut self, reader: &mut Reader<'_>) -> Result<Result<TextHits>> {
        let mut trim = self.trim(reader)?;
        let mut query = self.meanings.resolve(&self.query, &trim);
        let mut top = self.top(&query, &trim);
        let unknown = trim.unknown.take();
        if !unknown.is_empty() {
            trim.places = trim.places.with(reader, &unknown)?;
            self.session.repository.inner.search.keep_places(self.content.row.id, trim.places.clone());
            query = self.meanings.resolve(&self.query, &trim);
            let again = self.top(&query, &trim);
            // What was found in time is better than what was not.
            top = match (top, again) {
                (Ok(first), Ok(again)) if first.whole && !again.whole => Ok(TopHits { whole: false, ..first }),
                (_, again) => again,
            };
        }
        let TopHits { hits, total, mut facets, whole } = match top {
            Ok(top) => top,
            Err(error) => return Ok(Err(error)),
        };
        let mut sites = HashMap::new();
        for ((collection, place), count) in std::mem::take(&mut facets.places) {
            for site in trim.places.sites(collection, place) {
                *sites.entry(site).or_default() += count;
            }
        }
        let mut matcher = WordMatcher::of(&query, self.with_similar);
        let (mut found, clock) = (Vec::with_capacity(hits.len()), Clock::new(Instant::now() + LONGEST));
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
            let passage = if self.eyes.records_reads(&row) { None } else { stored.passage(&mut matcher, &clock) };
            found.push(TextHit { hit, found: FoundItem { item, passage } });
        }
        // Places that are unknown still were created meanwhile.
        let whole = whole && trim.unknown.take().is_empty();
        if trim.tail.is_cut {
            // What was not judged by its row is not counted.
            let total = found.len() as u64;
            return Ok(Ok(TextHits { hits: found, total, more: true, ..TextHits::default() }));
        }
        Ok(Ok(TextHits { hits: found, total, facets, sites, more: false, whole }))
    }

    fn top(&self, query: &SearchQuery, trim: &Trim) -> Result<TopHits> {
        let request = TopRequest {
            query,
            with_similar: self.with_similar,
            limit: self.limit + 1,
            order: self.order,
            counts_facets: self.counts_facets,
            now: Timestamp::now(),
            clock: Clock::new(Instant::now() + LONGEST),
        };
        self.view.top(&request, trim)
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
        let tail = Arc::new(Tail::after(reader, self.view.checkpoint())?);
        Ok(Trim { places, tail, principal: self.session.principal.clone(), scopes, unknown: UnknownPlaces::default() })
    }
}

//! The search in the index of one content database, limited to what the caller may open.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::Reader;
use database::content::{followed, node};
use model::{Id, Result, Timestamp, is_application_file};
use search::index::{Clock, Facets, Hit, PassageFinder, SearchIndex, TopHits, TopRequest, View, name_print};
use search::query::SearchQuery;

use super::caller_admission::{CallerAdmission, WithValues};
use super::names::{LEAST_RANKED, NamePass, NamedItems};
use super::request::{FoundItem, TextSearch};
use super::search_plan::{SearchPlan, TextPlan};
use super::unindexed::UnindexedChanges;
use crate::Session;
use crate::farm::registry::ContentDatabase;
use crate::items::caller_view::CallerView;

/// A search in one content database.
pub(super) struct ContentPass {
    pub(super) session: Session,
    pub(super) caller_view: CallerView,
    pub(super) content: Arc<ContentDatabase>,
    /// The index; `None` if there is none that can be used.
    pub(super) index: Option<Arc<SearchIndex>>,
    pub(super) plan: Arc<SearchPlan>,
    /// Time limit for walking through rows.
    pub(super) end: Instant,
}

/// Time limit for ranking the entries of one index, and for the passages of its hits.
const INDEX_TIMEOUT: Duration = Duration::from_millis(150);

/// Limit on the copied and restored containers that are looked at for one search.
const MAX_CONTAINERS: usize = 100;

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

impl TextHits {
    /// Adds the hits of another content database.
    pub(super) fn add(&mut self, mut other: Self) {
        self.hits.append(&mut other.hits);
        self.total += other.total;
        self.more |= other.more;
        self.facets.add(other.facets);
        other.sites.into_iter().for_each(|(site, count)| *self.sites.entry(site).or_default() += count);
        self.whole &= other.whole;
    }
}

impl TextHits {
    /// Returns the hits of a more tolerant search behind these, which are among them.
    pub(super) fn followed_by(self, mut tolerant: Self) -> Self {
        let first: HashSet<Id> = self.hits.iter().map(|hit| hit.hit.version).collect();
        tolerant.hits.retain(|hit| !first.contains(&hit.hit.version));
        tolerant.hits.splice(0..0, self.hits);
        tolerant
    }
}

/// A document with the words.
pub(super) struct TextHit {
    pub(super) hit: Hit,
    pub(super) found: FoundItem,
}

/// Result of a search in one content database.
pub(super) struct ContentHits {
    pub(super) named: NamedItems,
    /// How far the index has come.
    pub(super) state: TextSearch,
    /// `None` if texts were not looked for, or there is no index.
    pub(super) texts: Option<Result<TextHits>>,
}

impl ContentPass {
    /// Returns the items found.
    ///
    /// # Errors
    /// Those of the database. Errors of the index are in the answer.
    pub(super) fn run(mut self, reader: &mut Reader<'_>) -> Result<ContentHits> {
        let plan = self.plan.clone();
        // Taken before the rows are read, so that each change is in the view or in the rows.
        let view = self.view();
        let state = match &view {
            None => TextSearch::Unavailable,
            Some(view) if view.checkpoint().walk.is_some() => TextSearch::Incomplete,
            Some(_) => TextSearch::Complete,
        };
        let mut admission = view.as_ref().map(|view| self.admission(reader, view)).transpose()?;
        let mut named = NamedItems::default();
        if let Some(query) = &plan.names {
            let index = view.as_deref().zip(admission.as_mut());
            let limit = plan.limit.max(LEAST_RANKED);
            named = NamePass { caller_view: &mut self.caller_view, query, limit, end: self.end }.run(reader, index)?;
        }
        let texts = match (&plan.words, view, admission.as_mut()) {
            (Some(words), Some(view), Some(admission)) => Some(self.texts(reader, words, &view, admission)?),
            _ => None,
        };
        if let Some(admission) = admission {
            self.session.repository.inner.search.keep_places(self.content.row.id, admission.places);
        }
        Ok(ContentHits { named, state, texts })
    }

    /// Returns the newest view of the index; `None` if there is none that can be used.
    fn view(&self) -> Option<Arc<View>> {
        match self.index.as_ref()?.newest() {
            Ok(view) => Some(view),
            Err(error) => {
                tracing::warn!(
                    database = self.content.row.name,
                    error = error.report(),
                    "documents are found by their names only, because the search index cannot be read"
                );
                None
            }
        }
    }

    fn texts(
        &mut self,
        reader: &mut Reader<'_>,
        words: &TextPlan,
        view: &View,
        admission: &mut CallerAdmission,
    ) -> Result<Result<TextHits>> {
        let mut query = words.query.clone();
        let mut first: Option<TopHits> = None;
        let followed = match words.meanings.asks_for_followed {
            true => followed::ids(reader, self.session.principal.id)?,
            false => Vec::new(),
        };
        let (database, followed) = (self.content.row.id, Arc::new(followed.into_iter().collect::<HashSet<Id>>()));
        let top = admission.with_known_places(reader, |admission| {
            query = words.meanings.resolve(&words.query, admission, database, &followed);
            match (first.take(), self.top(words, &query, view, admission)) {
                // The first result stays if it is complete and the second is not.
                (Some(first), Ok(again)) if first.whole && !again.whole => Ok(TopHits { whole: false, ..first }),
                (_, top) => {
                    first = top.as_ref().ok().cloned();
                    top
                }
            }
        })?;
        let TopHits { hits, total, mut facets, whole } = match top {
            Ok(top) => top,
            Err(error) => return Ok(Err(error)),
        };
        let mut sites = HashMap::new();
        for ((collection, place), count) in std::mem::take(&mut facets.places) {
            for site in admission.places.sites(collection, place) {
                *sites.entry(site).or_default() += count;
            }
        }
        let clock = Clock::new(Instant::now() + view.time_limit(INDEX_TIMEOUT));
        let mut passages = match PassageFinder::new(view, &query, self.plan.tolerance, clock) {
            Ok(passages) => passages,
            Err(error) => return Ok(Err(error)),
        };
        passages.prefetch(&hits);
        let mut found = Vec::with_capacity(hits.len());
        let mut was_in_time = true;
        for hit in hits {
            if self.plan.until.is_some_and(|until| Instant::now() > until) {
                was_in_time = false;
                break;
            }
            let Some(row) = node::find(reader, hit.node)? else { continue };
            if is_application_file(&row.name) {
                continue;
            }
            let Some(item) = self.caller_view.show_version(reader, &row, hit.version)? else { continue };
            // Renamed since. The new name is compared by the search for names.
            if hit.name_print != name_print(row.shown_name()) {
                continue;
            }
            // A passage is a part of the content, whose reading such site collections record.
            let passage = match words.without_passages || self.caller_view.records_reads(&row) {
                true => None,
                false => match passages.passage(&hit) {
                    Ok(passage) => passage,
                    Err(error) => return Ok(Err(error)),
                },
            };
            found.push(TextHit { hit, found: FoundItem { item, passage } });
        }
        // Places that are unknown still were created meanwhile.
        let whole = whole
            && was_in_time
            && admission.unknown.take().is_empty()
            && !self.misses_documents(reader, &admission.unindexed)?;
        // Texts of documents that the caller may not open are not missed.
        let whole = match view.has_waiting(admission, &Clock::new(Instant::now() + view.time_limit(INDEX_TIMEOUT))) {
            Ok(is_waiting) => whole && !is_waiting,
            Err(error) => return Ok(Err(error)),
        };
        if admission.unindexed.is_cut {
            // Documents that were not judged by their rows are not counted.
            let total = found.len() as u64;
            return Ok(Ok(TextHits { hits: found, total, more: true, ..TextHits::default() }));
        }
        Ok(Ok(TextHits { hits: found, total, facets, sites, more: false, whole }))
    }

    /// Returns whether documents that the caller may open may be in containers that were copied or restored a moment
    /// ago.
    fn misses_documents(&mut self, reader: &mut Reader<'_>, unindexed: &UnindexedChanges) -> Result<bool> {
        if unindexed.containers.len() > MAX_CONTAINERS {
            return Ok(true);
        }
        for container in &unindexed.containers {
            if let Some(row) = node::find(reader, *container)?
                && self.caller_view.show(reader, &row)?.is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn top(&self, words: &TextPlan, query: &SearchQuery, view: &View, admission: &CallerAdmission) -> Result<TopHits> {
        let request = TopRequest {
            query,
            tolerance: self.plan.tolerance,
            limit: self.plan.limit + 1,
            order: words.order,
            counts_facets: words.counts_facets,
            now: Timestamp::now(),
            clock: Clock::new(Instant::now() + view.time_limit(INDEX_TIMEOUT)),
        };
        view.top(&request, &WithValues(admission))
    }

    fn admission(&self, reader: &mut Reader<'_>, view: &View) -> Result<CallerAdmission> {
        let places = self.session.repository.inner.search.places(self.content.row.id, reader)?;
        let (kept, principal) = (&self.session.repository.inner.search.scopes, &self.session.principal);
        let granted = || self.caller_view.granted_rights(reader);
        let scopes = kept.current(self.content.row.id, principal, &places, granted)?;
        let unindexed = Arc::new(UnindexedChanges::after(reader, view.checkpoint())?);
        Ok(CallerAdmission::new(places, unindexed, self.session.principal.clone(), scopes))
    }
}

//! Documents that fit a saved search, and those among them that its owner has not seen.
//!
//! Each answer is computed when it is asked for, with the rights that the caller has then.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use model::{Id, Result, Timestamp};
use search::index::HitOrder;
use search::query::{Expression, Filter, SearchQuery, Tolerance};

use super::asked::{Asked, AskedWords};
use super::meanings::Meanings;
use super::request::{Found, TextSearch, checked_length};
use crate::{Session, UnavailableDatabases};

/// Limit on the versions that are kept as seen.
pub(super) const MAX_SEEN: usize = 1_000;
/// Time after which no further hits are read from their database.
const LONGEST: Duration = Duration::from_millis(300);
/// Distance into the future up to which a time of a change counts as new, because clocks differ.
const TOLERATED: Duration = Duration::from_secs(24 * 60 * 60);

/// The versions that the owner of a search has seen.
#[derive(Clone)]
pub(super) struct Seen {
    /// Time up to which changes were seen.
    pub(super) at: Timestamp,
    /// The versions; `None` if they were not kept, so that only the time decides.
    pub(super) versions: Option<Vec<Id>>,
}

/// Documents that fit a query.
pub(super) struct Matching {
    /// The documents, the newest change first.
    pub(super) found: Found,
    /// Their versions, each with the time of its change.
    pub(super) versions: Vec<(Id, Timestamp)>,
    /// Time before which no change is missing.
    pub(super) as_of: Timestamp,
    /// True if everything was searched.
    pub(super) is_complete: bool,
}

/// Selects documents that fit a query.
#[derive(Clone, Default)]
pub(super) struct Selection {
    /// Limit on the documents.
    pub(super) limit: usize,
    /// Versions to leave out, because they were seen.
    pub(super) unlike: Option<Seen>,
    /// Time of the change before which documents are selected.
    pub(super) before: Option<Timestamp>,
    /// True to leave out the passages.
    pub(super) without_passages: bool,
}

impl Seen {
    /// Returns the filter for what was not seen.
    fn filter(self) -> Filter {
        match self.versions {
            Some(versions) => Filter::OtherVersion(Arc::new(versions.into_iter().collect())),
            None => Filter::Modified(self.at..Timestamp::now().after(TOLERATED)),
        }
    }

    /// Returns what is seen after all results of a search were shown: those that were changed before `until`. Documents
    /// that could not be searched stay as they were.
    pub(super) fn with(self, matching: &Matching, until: Timestamp) -> Self {
        let now = Timestamp::now();
        // Changes in the future are not newer than what was shown. They come from other clocks.
        let is_shown = |at: &Timestamp| *at < until || *at > now;
        let before: HashSet<Id> = self.versions.iter().flatten().copied().collect();
        let fits = |(version, at): &&(Id, Timestamp)| is_shown(at) || before.contains(version);
        let mut versions: Vec<Id> = matching.versions.iter().filter(fits).map(|(version, _)| *version).collect();
        if !matching.is_complete {
            versions.extend(before);
        }
        versions.sort_unstable();
        versions.dedup();
        let is_known = matching.is_complete || self.versions.is_some();
        let is_kept = is_known && !matching.found.more && versions.len() <= MAX_SEEN;
        Self { at: self.at.max(until), versions: is_kept.then_some(versions) }
    }
}

impl Session {
    /// Returns the documents that fit a query by their words and filters, the newest change first. Similar words and
    /// parts of names are not looked for.
    pub(super) async fn matching(&self, text: &str, selection: Selection) -> Result<Matching> {
        checked_length(text)?;
        let as_of = Timestamp::now();
        let columns = self.columns_in(text).await?;
        let mut query = SearchQuery::parse_with(text, as_of, &columns.known());
        let missing = self.missing(self.registry().await?.away());
        let mut found = Found { whole: true, ..Found::default() };
        let Some(expression) = query.expression.take() else {
            found.remarks = query.remarks;
            return Ok(Matching { found, versions: Vec::new(), as_of, is_complete: true });
        };
        if !missing.is_empty() {
            found.texts = TextSearch::Unavailable;
        }
        found.missing = missing;
        let mut conditions = vec![expression];
        conditions.extend(selection.unlike.map(|seen| Expression::Filter(seen.filter())));
        let before = selection.before.map(|before| Filter::Modified(Timestamp::from_micros(i64::MIN)..before));
        conditions.extend(before.map(Expression::Filter));
        query.expression = Some(Expression::All(conditions));
        let meanings = Meanings::of(self, text, &mut query, columns).await?;
        if meanings.is_incomplete {
            found.texts = TextSearch::Unavailable;
        }
        found.remarks.clone_from(&query.remarks);
        let words = AskedWords {
            query,
            meanings,
            order: HitOrder::Newest,
            counts_facets: false,
            without_passages: selection.without_passages,
        };
        let asked = Asked {
            names: None,
            words: Some(Arc::new(words)),
            tolerance: Tolerance::Exact,
            limit: selection.limit,
            database: None,
            until: Some(Instant::now() + LONGEST),
        };
        let texts = self.ask_all(&Arc::new(asked), &mut found).await?.texts;
        let mut hits = texts.hits;
        found.more = texts.more || hits.len() > selection.limit;
        // Files that programs make for themselves are counted and not shown.
        found.documents = if found.more { texts.total.max(hits.len() as u64) } else { hits.len() as u64 };
        hits.truncate(selection.limit);
        let is_complete = is_complete(found.texts, &found.missing);
        found.whole = is_complete;
        let versions = hits.iter().map(|hit| (hit.hit.version, hit.hit.modified)).collect();
        found.items = hits.into_iter().map(|hit| hit.found).collect();
        Ok(Matching { found, versions, as_of: texts.behind_since.map_or(as_of, |since| since.min(as_of)), is_complete })
    }
}

fn is_complete(texts: TextSearch, missing: &UnavailableDatabases) -> bool {
    texts == TextSearch::Complete && missing.is_empty()
}

//! Documents that fit a saved search, and those among them that its owner has not seen.
//!
//! Each answer is computed when it is asked for, with the rights that the caller has then.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use database::configuration::saved_search::SeenRow;
use model::{Id, Result, Timestamp};
use search::index::HitOrder;
use search::query::{Expression, Filter, SearchQuery, SeenVersions, Tolerance};

use super::meanings::Meanings;
use super::request::{Found, TextSearch, checked_length};
use super::search_plan::{SearchPlan, TextPlan};
use crate::{Session, UnavailableDatabases};

/// Limit on the versions that are kept as seen.
pub(super) const MAX_SEEN: usize = 1_000;
/// Time after which no further hits are read from their database.
const HITS_TIMEOUT: Duration = Duration::from_millis(300);

/// Documents that fit a query.
pub(super) struct MatchingDocuments {
    /// The documents, the newest change first.
    pub(super) found: Found,
    /// Their versions, each with the time of its change.
    pub(super) versions: Vec<(Id, Timestamp)>,
    /// True if everything was searched.
    pub(super) is_complete: bool,
    /// True if the query looks for something.
    pub(super) has_condition: bool,
}

/// Selects documents that fit a query.
#[derive(Clone, Default)]
pub(super) struct Selection {
    /// Limit on the documents.
    pub(super) limit: usize,
    /// Versions to leave out.
    pub(super) unlike: Option<SeenVersions>,
    /// Time of the change before which documents are selected.
    pub(super) before: Option<Timestamp>,
    /// True to leave out the passages.
    pub(super) without_passages: bool,
}

/// The results of a search that its owner looks at.
pub(super) enum Shown {
    /// All that it finds.
    All,
    /// These versions.
    Versions(HashSet<Id>),
}

impl Shown {
    fn has(&self, version: Id) -> bool {
        match self {
            Self::All => true,
            Self::Versions(versions) => versions.contains(&version),
        }
    }
}

impl MatchingDocuments {
    /// Returns what is seen when a search is saved. If not everything could be searched, changes before this moment
    /// count as seen too, because they are not new.
    pub(super) fn seen_at_first(&self) -> SeenRow {
        let now = Timestamp::now();
        let through = if self.is_complete { Timestamp::from_micros(i64::MIN) } else { now };
        self.seen(&SeenVersions { through, versions: HashSet::new() }, &Shown::All)
    }

    /// Returns what is seen after results were shown. Versions that are not found now stay seen as far as there is
    /// room: they may be found again. If more than [`MAX_SEEN`] were seen, those that were changed before the newest
    /// results count as seen.
    pub(super) fn seen(&self, before: &SeenVersions, shown: &Shown) -> SeenRow {
        let is_seen = |(version, at): &&(Id, Timestamp)| shown.has(*version) || before.has(*version, *at);
        let mut versions: Vec<Id> = self.versions.iter().filter(is_seen).map(|(version, _)| *version).collect();
        let found: HashSet<Id> = versions.iter().copied().collect();
        let mut others = before.versions.clone();
        if let Shown::Versions(shown) = shown
            && !self.is_whole()
        {
            others.extend(shown);
        }
        let mut others: Vec<Id> = others.into_iter().filter(|version| !found.contains(version)).collect();
        // The greatest identifiers are the latest.
        others.sort_unstable_by_key(|version| Reverse(*version));
        let room = MAX_SEEN.saturating_sub(versions.len());
        let lacks_room = match shown {
            Shown::All => self.found.more && self.versions.len() >= MAX_SEEN,
            Shown::Versions(_) => self.found.more && others.len() > room,
        };
        others.truncate(room);
        versions.extend(others);
        versions.sort_unstable();
        let oldest = self.versions.iter().map(|(_, at)| *at).min().filter(|_| lacks_room);
        SeenRow { at: Timestamp::now(), through: before.through.max(oldest.unwrap_or(before.through)), versions }
    }

    /// Returns whether these are all documents that fit.
    fn is_whole(&self) -> bool {
        self.is_complete && !self.found.more
    }
}

impl Session {
    /// Returns the documents that fit a query by their words and filters, the newest change first. Similar words and
    /// parts of names are not looked for.
    pub(super) async fn matching(&self, text: &str, selection: Selection) -> Result<MatchingDocuments> {
        checked_length(text)?;
        let columns = self.columns_in(text).await?;
        let mut query = SearchQuery::parse_with(text, Timestamp::now(), &self.zone, &columns.known());
        let missing = self.missing(self.registry().await?.away());
        let mut found = Found { whole: true, ..Found::default() };
        let Some(expression) = query.expression.take() else {
            found.remarks = query.remarks;
            return Ok(MatchingDocuments { found, versions: Vec::new(), is_complete: true, has_condition: false });
        };
        if !missing.is_empty() {
            found.texts = TextSearch::Unavailable;
        }
        found.missing = missing;
        let mut conditions = vec![expression];
        conditions.extend(selection.unlike.map(|seen| Expression::Filter(Filter::NotSeen(Arc::new(seen)))));
        let before = selection.before.map(|before| Filter::Modified(Timestamp::from_micros(i64::MIN)..before));
        conditions.extend(before.map(Expression::Filter));
        query.expression = Some(Expression::All(conditions));
        let meanings = Meanings::of(self, text, &mut query, columns).await?;
        if meanings.is_incomplete {
            found.texts = TextSearch::Unavailable;
        }
        found.remarks.clone_from(&query.remarks);
        let words = TextPlan {
            query,
            meanings,
            order: HitOrder::Newest,
            counts_facets: false,
            without_passages: selection.without_passages,
        };
        let plan = SearchPlan {
            names: None,
            words: Some(Arc::new(words)),
            tolerance: Tolerance::Exact,
            limit: selection.limit,
            database: None,
            until: Some(Instant::now() + HITS_TIMEOUT),
        };
        let texts = self.ask_all(&Arc::new(plan), &mut found).await?.texts;
        let mut hits = texts.hits;
        found.more = texts.more || hits.len() > selection.limit;
        // Files that programs make for themselves are counted and not shown.
        found.documents = if found.more { texts.total.max(hits.len() as u64) } else { hits.len() as u64 };
        hits.truncate(selection.limit);
        let is_complete = is_complete(found.texts, &found.missing);
        found.whole = is_complete;
        let versions = hits.iter().map(|hit| (hit.hit.version, hit.hit.modified)).collect();
        found.items = hits.into_iter().map(|hit| hit.found).collect();
        Ok(MatchingDocuments { found, versions, is_complete, has_condition: true })
    }
}

fn is_complete(texts: TextSearch, missing: &UnavailableDatabases) -> bool {
    texts == TextSearch::Complete && missing.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a result with the versions of these numbers, each changed at the time of its number.
    fn matching(versions: impl Iterator<Item = i64>, more: bool, is_complete: bool) -> MatchingDocuments {
        let versions = versions.map(|n| (Id::new(n), Timestamp::from_micros(n))).collect();
        let found = Found { more, ..Found::default() };
        MatchingDocuments { found, versions, is_complete, has_condition: true }
    }

    fn seen(through: i64, versions: impl IntoIterator<Item = i64>) -> SeenVersions {
        let versions = versions.into_iter().map(Id::new).collect();
        SeenVersions { through: Timestamp::from_micros(through), versions }
    }

    fn shown(versions: impl IntoIterator<Item = i64>) -> Shown {
        Shown::Versions(versions.into_iter().map(Id::new).collect())
    }

    fn kept(row: &SeenRow) -> (i64, Vec<i64>) {
        (row.through.micros(), row.versions.iter().map(|version| version.get()).collect())
    }

    #[test]
    fn what_was_seen_stays_seen_while_it_is_not_found() {
        let before = seen(0, [1, 2, 9]);
        assert_eq!(kept(&matching(1..=4, false, true).seen(&before, &shown([4, 7]))), (0, vec![1, 2, 4, 9]));
        assert_eq!(kept(&matching(1..=4, false, false).seen(&before, &shown([4, 7]))), (0, vec![1, 2, 4, 7, 9]));
        assert_eq!(kept(&matching(1..=3, false, true).seen(&before, &Shown::All)), (0, vec![1, 2, 3, 9]));
        assert_eq!(kept(&matching(1..=3, false, false).seen(&before, &Shown::All)), (0, vec![1, 2, 3, 9]));
        // The index is far behind: what it has is not all.
        assert_eq!(kept(&matching(1..=3, true, false).seen(&before, &Shown::All)), (0, vec![1, 2, 3, 9]));
    }

    #[test]
    fn the_time_is_set_only_without_room_for_versions() {
        for (more, is_complete) in [(false, true), (false, false), (true, true), (true, false)] {
            for many in [1, 500, 999] {
                let before = seen(5, [3_001]);
                let row = matching(2_000..2_000 + many, more, is_complete).seen(&before, &Shown::All);
                assert_eq!(row.through.micros(), 5, "{many} {more} {is_complete}");
                assert!(row.versions.contains(&Id::new(3_001)), "{many} {more} {is_complete}");
            }
        }
    }

    #[test]
    fn more_than_a_thousand_are_seen_by_time() {
        let newest = matching((2_001..=3_000).rev(), true, true);
        let all = newest.seen(&seen(5, []), &Shown::All);
        assert_eq!((all.through.micros(), all.versions.len()), (2_001, MAX_SEEN));
        // A few marked among many leave the others new.
        assert_eq!(kept(&newest.seen(&seen(5, [1_500]), &shown([2_500]))), (5, vec![1_500, 2_500]));
        let surplus = newest.seen(&seen(5, 1_001..=2_000), &shown([2_500]));
        assert_eq!((surplus.through.micros(), surplus.versions.len()), (2_001, MAX_SEEN));
        assert_eq!(surplus.versions.last(), Some(&Id::new(2_500)));
        // What is left out does not fit, as everything was searched.
        let few = matching(2_001..=2_002, false, true).seen(&seen(5, 1_001..=2_000), &shown([2_001, 2_002]));
        assert_eq!((few.through.micros(), few.versions.len()), (5, MAX_SEEN));
    }

    #[test]
    fn what_cannot_be_searched_when_a_search_is_saved_is_seen() {
        let first = matching(1..=3, false, false).seen_at_first();
        assert_eq!(first.versions.len(), 3);
        assert!(first.through > Timestamp::from_micros(3));
        assert_eq!(matching(1..=3, false, true).seen_at_first().through, Timestamp::from_micros(i64::MIN));
    }
}

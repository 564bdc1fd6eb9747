//! An index for the tests of queries, and texts to search.

use std::sync::Arc;
use std::time::{Duration, Instant};

use model::Id;
use search::index::{
    Admission, Candidate, ChangedDocument, Checkpoint, Clock, Entry, FORMAT, HitOrder, IndexWriter, PlaceAccess,
    PlaceKey, SearchIndex, TopHits, TopRequest,
};
use search::query::{SearchQuery, Tolerance};

use crate::support::{Home, NOW, nodes};

pub const DAY: i64 = 86_400_000_000;

/// An index, and what it is in.
pub struct Shelf {
    index: Arc<SearchIndex>,
    _home: Home,
}

/// Admits entries of a place, or all.
pub struct InPlace(pub Option<i64>);

/// Admits all entries, of which some changed.
pub struct Changed(pub Vec<ChangedDocument>);

impl Admission for Changed {
    fn admit(&self, _: &Candidate<'_>) -> bool {
        true
    }

    fn caller(&self) -> Id {
        Id::new(1)
    }

    fn access(&self, _: &PlaceKey) -> PlaceAccess {
        PlaceAccess::ViewDrafts
    }

    fn changed(&self) -> Vec<ChangedDocument> {
        self.0.clone()
    }
}

impl Admission for InPlace {
    fn admit(&self, entry: &Candidate<'_>) -> bool {
        self.0.is_none_or(|place| entry.place() == Id::new(place))
    }

    fn caller(&self) -> Id {
        Id::new(1)
    }

    fn access(&self, key: &PlaceKey) -> PlaceAccess {
        if self.0.is_none_or(|place| key.place == Id::new(place)) { PlaceAccess::ViewDrafts } else { PlaceAccess::None }
    }
}

impl Shelf {
    pub fn of(entries: impl IntoIterator<Item = Entry>) -> Self {
        let home = Home::new();
        let index = home.open();
        let mut writer = IndexWriter::open(index.clone()).unwrap();
        for entry in entries {
            writer.replace(entry.node, &[entry]).unwrap();
        }
        writer.commit(&Checkpoint { format: FORMAT, ..Checkpoint::default() }).unwrap();
        writer.close().unwrap();
        Self { index, _home: home }
    }

    pub fn top(
        &self,
        query: &SearchQuery,
        tolerance: Tolerance,
        order: HitOrder,
        admission: &dyn Admission,
    ) -> TopHits {
        let clock = Clock::new(Instant::now() + Duration::from_secs(60));
        let request = TopRequest { query, tolerance, limit: 50, order, counts_facets: true, now: NOW, clock };
        let top = self.index.view().top(&request, admission).unwrap();
        assert!(top.whole);
        top
    }

    pub fn found(&self, query: &str) -> Vec<i64> {
        nodes(&self.top(&SearchQuery::parse(query, NOW), Tolerance::Exact, HitOrder::Relevance, &InPlace(None)))
    }

    /// The documents found, by their identifiers.
    pub fn set(&self, query: &str) -> Vec<i64> {
        let mut found = self.found(query);
        found.sort_unstable();
        found
    }

    pub fn similar(&self, query: &str) -> Vec<i64> {
        nodes(&self.top(&SearchQuery::parse(query, NOW), Tolerance::Similar, HitOrder::Relevance, &InPlace(None)))
    }

    pub fn most(&self, query: &str) -> Vec<i64> {
        nodes(&self.top(&SearchQuery::parse(query, NOW), Tolerance::MostWords, HitOrder::Relevance, &InPlace(None)))
    }
}

pub const GERMAN: &str = "\
    Der Vertrag über die Lieferung von Rohren wurde von beiden Seiten unterschrieben und wird in der \
    kommenden Woche an die Kunden verschickt, die noch keine Unterlagen haben. Eine Verlängerung ist möglich.";
pub const ENGLISH: &str = "\
    The committee was asked to consider the applications that had been sent in, and it decided to \
    answer all of them within the following week, although several members were travelling at the time.";

//! Numbers of the places that entries name, the same for all servers of a farm.
//!
//! A number never gets another meaning, because the server creates its document once and never changes it. The document
//! is there before the first entry that uses the number.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use hyper::Method;
use model::{Error, Id, Result};
use serde_json::{Value, json};

use super::answer::{Answered, FoundHit, MAX_HITS};
use super::limits::Limits;
use super::server::SearchServer;
use crate::index::admission::PlaceKey;

/// Places that are read at once.
const BATCH: usize = MAX_HITS;
/// Places that are looked at with one lock.
const STRETCH: usize = 4_096;
/// Limit on the places of an index.
pub(super) const MAX_PLACES: usize = 1 << 26;
/// Limit on the places that a writer may have added after its last checkpoint.
pub(super) const MAX_SURPLUS: usize = 1_000_000;

/// The places of one index, in the order of their numbers.
#[derive(Default)]
pub(super) struct PlaceTable(RwLock<Vec<PlaceKey>>);

impl PlaceTable {
    /// Returns the number of places that are known.
    pub(super) fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Calls `take` with the number of each of the first `count` places, some thousand at a time. Other threads may add
    /// places meanwhile. Ends when `go_on`, which is asked in between, returns false.
    pub(super) fn each(&self, count: usize, mut go_on: impl FnMut() -> bool, mut take: impl FnMut(u32, &PlaceKey)) {
        let (mut some, mut at) = (Vec::with_capacity(STRETCH), 0_usize);
        while at < count && go_on() {
            some.clear();
            let places = self.0.read().unwrap_or_else(PoisonError::into_inner);
            some.extend(places.iter().take(count).skip(at).take(STRETCH).copied());
            drop(places);
            if some.is_empty() {
                return;
            }
            (at as u32..).zip(&some).for_each(|(number, key)| take(number, key));
            at += some.len();
        }
    }

    /// Returns the place with a number.
    pub(super) fn get(&self, number: usize) -> Option<PlaceKey> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(number).copied()
    }

    /// Reads the places that were added, at least up to `count`, and no more than one batch beyond. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer, or not completely; `Corrupt` if places are missing.
    pub(super) fn read(&self, server: &SearchServer, index: &str, count: usize, limit: Duration) -> Result<()> {
        let rounds = count.saturating_sub(self.len()) / BATCH + 1;
        for _ in 0..rounds {
            let known = self.len();
            let asked = json!({
                "size": BATCH, "_source": false, "query": {"range": {"number": {"gte": known}}},
                "sort": [{"number": "asc"}], "track_total_hits": false,
                "docvalue_fields": ["number", "collection", "place", "library"],
            });
            let limits = Limits::hits(limit, BATCH, 0);
            let found = server.ask(Method::POST, &format!("/{index}/_search"), Some(asked), limits)?;
            let hits = Answered::whole(found.ok_or_else(|| damaged(index))?)?.hits;
            for (next, hit) in (known..).zip(&hits) {
                let (number, key) = place_key_of(hit).ok_or_else(|| damaged(index))?;
                if number != next as i64 {
                    return Err(damaged(index));
                }
                // Another thread may have read it too.
                let mut places = self.0.write().unwrap_or_else(PoisonError::into_inner);
                if places.len() == next {
                    places.push(key);
                }
            }
            if hits.len() < BATCH {
                break;
            }
        }
        if self.len() >= count { Ok(()) } else { Err(damaged(index)) }
    }
}

fn place_key_of(hit: &FoundHit) -> Option<(i64, PlaceKey)> {
    let id = |name: &str| hit.field(name).map(Id::new);
    Some((
        hit.field("number")?,
        PlaceKey { collection: id("collection")?, place: id("place")?, library: id("library")? },
    ))
}

fn damaged(index: &str) -> Error {
    Error::corrupt(format!("the search index {index} is damaged; the server that writes it rebuilds it"))
}

/// Returns the identifier and the content of the document for a place.
pub(super) fn document(number: usize, key: &PlaceKey) -> (String, Value) {
    let PlaceKey { collection, place, library } = key;
    let fields = json!({"number": number, "collection": collection.get(), "place": place.get(),
        "library": library.get()});
    (format!("spot-{number}"), fields)
}

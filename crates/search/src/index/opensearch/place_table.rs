//! Numbers of the places that entries name, the same for all servers of a farm.
//!
//! A number never gets another meaning, because the server creates its document once and never changes it. The document
//! is there before the first entry that uses the number.

use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use hyper::Method;
use model::{Error, Id, Result};
use serde_json::{Value, json};

use super::answer::field;
use super::server::SearchServer;
use crate::index::admission::PlaceKey;

/// Places that are read at once.
const BATCH: usize = 10_000;

/// The places of one index, in the order of their numbers.
#[derive(Default)]
pub(super) struct PlaceTable(RwLock<Vec<PlaceKey>>);

impl PlaceTable {
    /// Returns the number of places that are known.
    pub(super) fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Calls `take` with the number of each of the first `count` places.
    pub(super) fn each(&self, count: usize, mut take: impl FnMut(u32, &PlaceKey)) {
        let places = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (0..).zip(places.iter().take(count)).for_each(|(number, key)| take(number, key));
    }

    /// Returns the place with a number.
    pub(super) fn get(&self, number: usize) -> Option<PlaceKey> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(number).copied()
    }

    /// Reads the places that were added, at least up to `count`. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer; `Corrupt` if places are missing.
    pub(super) fn read(&self, server: &SearchServer, index: &str, count: usize, limit: Duration) -> Result<()> {
        loop {
            let known = self.len();
            let asked = json!({
                "size": BATCH, "_source": false, "query": {"range": {"number": {"gte": known}}},
                "sort": [{"number": "asc"}], "track_total_hits": false,
                "docvalue_fields": ["number", "collection", "place", "library"],
            });
            let found = server.ask(Method::POST, &format!("/{index}/_search"), Some(asked), limit)?;
            let found = found.ok_or_else(|| damaged(index))?;
            let hits = found["hits"]["hits"].as_array().map(Vec::as_slice).unwrap_or_default();
            for (next, hit) in (known..).zip(hits) {
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
                return if self.len() >= count { Ok(()) } else { Err(damaged(index)) };
            }
        }
    }
}

fn place_key_of(hit: &Value) -> Option<(i64, PlaceKey)> {
    let id = |name: &str| field(hit, name).map(Id::new);
    Some((
        field(hit, "number")?,
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

//! Numbers of the spots that entries name, the same for all servers of a farm.
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
use crate::index::admission::Spot;

/// Spots that are read at once.
const BATCH: usize = 10_000;

/// The spots of one index, in the order of their numbers.
#[derive(Default)]
pub(super) struct Spots(RwLock<Vec<Spot>>);

impl Spots {
    /// Returns the number of spots that are known.
    pub(super) fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Calls `take` with the number of each of the first `count` spots.
    pub(super) fn each(&self, count: usize, mut take: impl FnMut(u32, &Spot)) {
        let spots = self.0.read().unwrap_or_else(PoisonError::into_inner);
        (0..).zip(spots.iter().take(count)).for_each(|(number, spot)| take(number, spot));
    }

    /// Returns the spot with a number.
    pub(super) fn get(&self, number: usize) -> Option<Spot> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(number).copied()
    }

    /// Reads the spots that were added, at least up to `count`. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer; `Corrupt` if spots are missing.
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
                let (number, spot) = spot_of(hit).ok_or_else(|| damaged(index))?;
                if number != next as i64 {
                    return Err(damaged(index));
                }
                // Another thread may have read it too.
                let mut spots = self.0.write().unwrap_or_else(PoisonError::into_inner);
                if spots.len() == next {
                    spots.push(spot);
                }
            }
            if hits.len() < BATCH {
                return if self.len() >= count { Ok(()) } else { Err(damaged(index)) };
            }
        }
    }
}

fn spot_of(hit: &Value) -> Option<(i64, Spot)> {
    let id = |name: &str| field(hit, name).map(Id::new);
    Some((field(hit, "number")?, Spot { collection: id("collection")?, place: id("place")?, library: id("library")? }))
}

fn damaged(index: &str) -> Error {
    Error::corrupt(format!("the search index {index} is damaged; the server that writes it rebuilds it"))
}

/// Returns the identifier and the content of the document for a spot.
pub(super) fn document(number: usize, spot: &Spot) -> (String, Value) {
    let Spot { collection, place, library } = spot;
    let fields = json!({"number": number, "collection": collection.get(), "place": place.get(),
        "library": library.get()});
    (format!("spot-{number}"), fields)
}

//! Answers of the search server to searches.

use model::{Error, Result};
use serde_json::Value;

/// Answer to a search.
pub(super) struct Answered {
    /// The hits, in their order.
    pub(super) hits: Vec<Value>,
    /// Number of all hits, as far as it was asked for.
    pub(super) total: u64,
    /// Counts, by the names under which they were asked for.
    pub(super) counts: Value,
    /// False if time was up.
    pub(super) whole: bool,
}

impl Answered {
    /// Reads an answer.
    ///
    /// # Errors
    /// `Unavailable` if it cannot be understood.
    pub(super) fn of(mut answer: Value) -> Result<Self> {
        let failed = answer["_shards"]["failed"].as_u64();
        let hits = answer["hits"]["hits"].as_array_mut().map(std::mem::take);
        let (Some(hits), Some(failed)) = (hits, failed) else {
            return Err(Error::unavailable("the answer of the search server cannot be understood"));
        };
        let whole = answer["timed_out"] == false && failed == 0;
        if !whole {
            tracing::debug!(failed, "the search server did not search everything");
        }
        let total = answer["hits"]["total"]["value"].as_u64().unwrap_or_default();
        Ok(Self { hits, total, counts: answer["aggregations"].take(), whole })
    }
}

/// Returns the number in a field of a hit.
pub(super) fn field(hit: &Value, name: &str) -> Option<i64> {
    hit["fields"][name][0].as_i64()
}

/// Iterates over values with their numbers of hits.
pub(super) fn buckets(counts: &Value) -> impl Iterator<Item = (&Value, u64)> {
    let all = counts["buckets"].as_array().map(Vec::as_slice).unwrap_or_default();
    all.iter().filter_map(|bucket| Some((&bucket["key"], bucket["doc_count"].as_u64()?)))
}

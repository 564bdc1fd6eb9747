//! A view of an index on the search server: its checkpoint, and the places that its entries name.
//!
//! The server shows entries that were written after the checkpoint, too. Their documents are among those that changed
//! since, which are judged by their rows.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use model::{Error, Result};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use serde_json::{Value, json};

use super::answer::{Answered, Bounded, Shards, Stored};
use super::limits::Limits;
use super::place_table::PlaceTable;
use super::server::{BACKGROUND_TIMEOUT, SearchServer};
use crate::index::admission::PlaceKey;
use crate::index::checkpoint::Checkpoint;
use crate::index::clock::Clock;

/// Limit on the time by which an answer may be later than the search should end.
const TRANSFER_GRACE: Duration = Duration::from_millis(500);

/// Limit on the kept texts that are read at once.
const MAX_TEXTS: usize = 100;

#[derive(Deserialize)]
struct NumberOfDocuments {
    count: u64,
    #[serde(rename = "_shards")]
    shards: Shards,
}

#[derive(Deserialize)]
struct Documents {
    docs: Bounded<Document, MAX_TEXTS>,
}

#[derive(Deserialize)]
struct Document {
    #[serde(default, rename = "_source")]
    source: Stored,
    error: Option<IgnoredAny>,
}

/// A view of an index on the search server.
pub(crate) struct SharedView {
    server: SearchServer,
    name: String,
    checkpoint: Checkpoint,
    places: Arc<PlaceTable>,
    /// Number of places that were known when the checkpoint was read.
    count: usize,
}

impl SharedView {
    pub(super) fn new(
        server: SearchServer,
        name: String,
        checkpoint: Checkpoint,
        places: Arc<PlaceTable>,
        count: usize,
    ) -> Self {
        Self { server, name, checkpoint, places, count }
    }

    pub(crate) fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Name of the index.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn places(&self) -> &Arc<PlaceTable> {
        &self.places
    }

    /// Calls `take` with each place and its number. Ends early if time is up.
    pub(super) fn each_place(&self, clock: &Clock, take: impl FnMut(u32, &PlaceKey)) {
        self.places.each(self.count, || !clock.is_over_now(), take);
    }

    /// Returns the number of entries. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer, or not completely; `Corrupt` if the index is gone.
    pub(crate) fn len(&self) -> Result<u64> {
        let asked = json!({"query": {"exists": {"field": "spot"}}});
        let answer: NumberOfDocuments = self.ask("_count", asked, Limits::short(BACKGROUND_TIMEOUT))?;
        if answer.shards.failed > 0 {
            return Err(Error::unavailable("the search server did not count everything"));
        }
        Ok(answer.count)
    }

    /// Asks for at most so many hits and counts of so many values, without the time limit of a search. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::len`].
    pub(super) fn list(&self, body: Value, hits: usize, buckets: usize) -> Result<Answered> {
        Answered::whole(self.ask("_search", body, Limits::hits(BACKGROUND_TIMEOUT, hits, buckets))?)
    }

    /// Asks for at most so many hits and counts of so many values, until time is up. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer half a second after that; `Corrupt` if the index is gone.
    pub(super) fn search(&self, mut body: Value, (hits, buckets): (usize, usize), clock: &Clock) -> Result<Answered> {
        let left = clock.left();
        if left.is_zero() {
            return Ok(Answered::default());
        }
        body["timeout"] = format!("{}ms", left.as_millis().max(1)).into();
        Ok(Answered::of(self.ask("_search", body, Limits::hits(left + TRANSFER_GRACE, hits, buckets))?))
    }

    /// Returns what is stored of entries, in the order of the identifiers; nothing for those that are gone. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer, or not for each of them.
    pub(super) fn contents(&self, identifiers: &[String], limit: Duration) -> Result<Vec<Stored>> {
        let (what, asked) = ("_mget?_source_includes=version,body", json!({"ids": identifiers}));
        let answer: Documents = self.ask(what, asked, Limits::texts(limit, identifiers.len()))?;
        let found = answer.docs.0;
        if found.len() != identifiers.len() || found.iter().any(|document| document.error.is_some()) {
            return Err(Error::unavailable("the search server did not return every text"));
        }
        Ok(found.into_iter().map(|document| document.source).collect())
    }

    fn ask<T: DeserializeOwned>(&self, what: &str, body: Value, limits: Limits) -> Result<T> {
        let found = self.server.ask(Method::POST, &format!("/{}/{what}", self.name), Some(body), limits)?;
        found.ok_or_else(|| Error::corrupt(format!("the search index {} is gone", self.name)))
    }
}

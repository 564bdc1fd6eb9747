//! A view of an index on the search server: its checkpoint, and the places that its entries name.
//!
//! The server shows entries that were written after the checkpoint, too. Their documents are among those that changed
//! since, which are judged by their rows.

use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use model::{Error, Result};
use serde_json::{Value, json};

use super::answer::Answered;
use super::place_table::PlaceTable;
use super::server::{BACKGROUND_TIMEOUT, SearchServer};
use crate::index::admission::PlaceKey;
use crate::index::checkpoint::Checkpoint;
use crate::index::clock::Clock;

/// Limit on the time by which an answer may be later than the search should end.
const TRANSFER_GRACE: Duration = Duration::from_millis(500);

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

    /// Calls `take` with each place and its number.
    pub(super) fn each_place(&self, take: impl FnMut(u32, &PlaceKey)) {
        self.places.each(self.count, take);
    }

    /// Returns the number of entries. Blocks.
    pub(crate) fn len(&self) -> Result<u64> {
        let asked = json!({"query": {"exists": {"field": "spot"}}});
        Ok(self.ask("_count", asked, BACKGROUND_TIMEOUT)?["count"].as_u64().unwrap_or_default())
    }

    /// Asks for hits without a time limit. Blocks.
    pub(super) fn list(&self, body: Value) -> Result<Answered> {
        let answer = self.ask("_search", body, BACKGROUND_TIMEOUT)?;
        match Answered::of(answer)? {
            Answered { whole: false, .. } => Err(Error::unavailable("the search server did not search everything")),
            answered => Ok(answered),
        }
    }

    /// Asks for hits until time is up. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer half a second after that; `Corrupt` if the index is gone.
    pub(super) fn search(&self, mut body: Value, clock: &Clock) -> Result<Answered> {
        let left = clock.left();
        if left.is_zero() {
            return Ok(Answered { hits: Vec::new(), total: 0, counts: Value::Null, whole: false });
        }
        body["timeout"] = format!("{}ms", left.as_millis().max(1)).into();
        Answered::of(self.ask("_search", body, left + TRANSFER_GRACE)?)
    }

    /// Returns stored contents of documents of the server, in the order of the identifiers; null for those that are
    /// gone. Blocks.
    pub(super) fn contents(&self, identifiers: &[String], limit: Duration) -> Result<Vec<Value>> {
        let mut answer = self.ask("_mget?_source_includes=version,body", json!({"ids": identifiers}), limit)?;
        let found = answer["docs"].as_array_mut().map(std::mem::take).unwrap_or_default();
        Ok(found.into_iter().map(|mut found| found["_source"].take()).collect())
    }

    fn ask(&self, what: &str, body: Value, limit: Duration) -> Result<Value> {
        let found = self.server.ask(Method::POST, &format!("/{}/{what}", self.name), Some(body), limit)?;
        found.ok_or_else(|| Error::corrupt(format!("the search index {} is gone", self.name)))
    }
}

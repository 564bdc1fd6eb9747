//! The writer of an index on the search server.
//!
//! Entries and checkpoint cannot be one commit there. Changes are therefore written before the checkpoint that includes
//! them, and may be written twice. Each writer has a greater number than the one before it, with which the server
//! refuses what an earlier writer still sends.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use model::{Error, Id, Result};
use serde_json::{Value, json};

use super::document::{Documents, identifier, place_key_of};
use super::index::SharedIndex;
use super::place_table;
use super::server::{BACKGROUND_TIMEOUT, SearchServer};
use super::stored_checkpoint::{StoredCheckpoint, taken_over, write_alias};
use crate::index::admission::PlaceKey;
use crate::index::checkpoint::Checkpoint;
use crate::index::entry::{Audience, Entry};

/// Bytes that are sent at once, unless one entry is longer.
const BATCH: usize = 4 << 20;
/// Pauses before a server that is busy is asked again.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(10)];
/// Error type of a request that the server is too busy for.
const BUSY: u64 = 429;
const CONFLICT: u64 = 409;

/// Replaces entries of documents on the search server.
pub(crate) struct SharedWriter {
    index: Arc<SharedIndex>,
    server: SearchServer,
    /// Name of the index.
    name: String,
    stored: StoredCheckpoint,
    documents: Documents,
    numbers: HashMap<PlaceKey, u32>,
    /// Places without a document yet.
    new_places: Vec<PlaceKey>,
    lines: Vec<u8>,
}

impl SharedWriter {
    /// Takes the index over from an earlier writer. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer, or another writer takes it over at the same time; `Corrupt` if the
    /// index is damaged or gone.
    pub(crate) fn open(index: Arc<SharedIndex>) -> Result<Self> {
        let (server, view) = (index.server().clone(), index.newest()?);
        let name = view.name().to_owned();
        let mut stored = StoredCheckpoint::read(&server, &name, BACKGROUND_TIMEOUT)?.1;
        stored.epoch += 1;
        stored.write(&server, &name)?;
        refresh(&server, &name)?;
        let places = view.places();
        places.read(&server, &name, 0, BACKGROUND_TIMEOUT)?;
        let mut numbers = HashMap::new();
        places.each(usize::MAX, |number, key| {
            numbers.insert(*key, number);
        });
        let (documents, new_places, lines) = (Documents::new()?, Vec::new(), Vec::new());
        Ok(Self { index, server, name, stored, documents, numbers, new_places, lines })
    }

    /// Replaces all entries of a document. Blocks while it sends.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` if the index cannot be written. Discard the writer after an error.
    pub(crate) fn replace(&mut self, node: Id, entries: &[Entry]) -> Result<()> {
        for audience in Audience::ALL {
            let (id, epoch) = (identifier(node, audience), self.stored.epoch);
            let about = |kind: &str| json!({kind: {"_id": id, "version": epoch, "version_type": "external_gte"}});
            match entries.iter().find(|entry| entry.audience == audience) {
                Some(entry) => {
                    let key = self.number(place_key_of(entry));
                    let fields = self.documents.of(entry, key)?;
                    self.add(&[about("index"), fields]);
                }
                None => self.add(&[about("delete")]),
            }
        }
        if self.lines.len() >= BATCH { self.send() } else { Ok(()) }
    }

    /// Makes what was replaced visible, then stores the checkpoint; on disk when it returns. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer or another writer took the index over; `Corrupt` if the index is
    /// gone.
    pub(crate) fn commit(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        self.send()?;
        refresh(&self.server, &self.name)?;
        self.stored.checkpoint = checkpoint.clone();
        self.stored.places = self.numbers.len();
        self.stored.write(&self.server, &self.name)?;
        self.index.newest_now().map(drop)
    }

    fn add(&mut self, lines: &[Value]) {
        for line in lines {
            self.lines.extend(line.to_string().into_bytes());
            self.lines.push(b'\n');
        }
    }

    /// Returns the number of a place, the next one for a new place.
    fn number(&mut self, key: PlaceKey) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(key).or_insert_with(|| {
            self.new_places.push(key);
            next
        })
    }

    fn send(&mut self) -> Result<()> {
        self.send_places()?;
        if self.lines.is_empty() {
            return Ok(());
        }
        let lines = std::mem::take(&mut self.lines);
        for item in self.bulk(lines)? {
            match item["status"].as_u64().unwrap_or_default() {
                // What is to be deleted need not be there.
                200..=299 | 404 => {}
                CONFLICT => return Err(taken_over(&self.name)),
                status if !(400..=499).contains(&status) => {
                    return Err(Error::unavailable(format!(
                        "the search server at {} did not store an entry (status {status}): check its disk and its log",
                        self.server.address()
                    )));
                }
                status => {
                    // It lies in the entry, which would be refused again, so the follower goes on. The nightly
                    // comparison counts what is missing.
                    let (id, kind) = (item["_id"].as_str(), item["error"]["type"].as_str());
                    tracing::warn!(id, status, kind, "the search server does not take an entry");
                }
            }
        }
        Ok(())
    }

    /// Creates the documents of new places. They must be there before entries that use their numbers, and no other
    /// writer may have given these to other places.
    fn send_places(&mut self) -> Result<()> {
        if self.new_places.is_empty() {
            return Ok(());
        }
        let (first, mut lines) = (self.numbers.len() - self.new_places.len(), Vec::new());
        for (number, key) in (first..).zip(&self.new_places) {
            let (id, fields) = place_table::document(number, key);
            lines.extend(format!("{}\n{fields}\n", json!({"create": {"_id": id}})).into_bytes());
        }
        self.new_places.clear();
        for item in self.bulk(lines)? {
            match item["status"].as_u64() {
                Some(201) => {}
                Some(CONFLICT) => return Err(taken_over(&self.name)),
                _ => {
                    return Err(Error::unavailable(
                        "the search server did not store the place of an entry: check its log",
                    ));
                }
            }
        }
        Ok(())
    }

    /// Sends changes, and sends those again for which the server was too busy. Returns what became of each.
    fn bulk(&self, lines: Vec<u8>) -> Result<Vec<Value>> {
        let (path, lines) =
            (format!("/{}/_bulk?require_alias=true", write_alias(&self.name)), bytes::Bytes::from(lines));
        let mut pauses = PAUSES.iter();
        loop {
            let mut answer = self.server.send_lines(&path, lines.clone(), BACKGROUND_TIMEOUT)?;
            let items = answer["items"].as_array_mut().map(std::mem::take);
            let items = items.ok_or_else(|| Error::unavailable("the search server does not say what it has stored"))?;
            // Each item has one member, named after what was asked for.
            let items = items.into_iter().filter_map(|item| item.as_object()?.values().next().cloned());
            let items: Vec<Value> = items.collect();
            let is = |wanted: u64| items.iter().any(|item| item["status"].as_u64() == Some(wanted));
            if items.iter().any(|item| item["error"]["type"] == "index_not_found_exception") {
                return Err(Error::corrupt(format!("the search index {} is gone; the server rebuilds it", self.name)));
            }
            if !is(BUSY) && !is(503) {
                return Ok(items);
            }
            let Some(pause) = pauses.next() else {
                return Err(Error::unavailable("the search server is too busy to store entries: check its load"));
            };
            // sleep: the server asks its clients to send less. Places that were created meanwhile count as taken over.
            std::thread::sleep(*pause);
        }
    }
}

/// Makes what was written visible.
fn refresh(server: &SearchServer, name: &str) -> Result<()> {
    let gone = || Error::corrupt(format!("the search index {name} is gone; the server rebuilds it"));
    let answer = server.ask(Method::POST, &format!("/{name}/_refresh"), None, BACKGROUND_TIMEOUT)?.ok_or_else(gone)?;
    if answer["_shards"]["failed"].as_u64() == Some(0) && answer["_shards"]["successful"].as_u64() > Some(0) {
        return Ok(());
    }
    Err(Error::unavailable("the search server could not refresh the index: check the health of its cluster"))
}

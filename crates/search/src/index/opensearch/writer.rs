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
use serde::Deserialize;
use serde_json::json;

use super::answer::Shards;
use super::bulk::{ANSWERED, Action, Item, MAX_ACTIONS, Outcome, Outcomes, TOO_LARGE};
use super::document::{Documents, identifier, place_key_of};
use super::index::SharedIndex;
use super::limits::Limits;
use super::place_table::{self, MAX_SURPLUS};
use super::server::{BACKGROUND_TIMEOUT, SearchServer};
use super::stored_checkpoint::{StoredCheckpoint, taken_over, write_alias};
use crate::index::admission::PlaceKey;
use crate::index::checkpoint::{Checkpoint, impossible};
use crate::index::entry::{Audience, Entry};

/// Bytes that are sent at once, unless one entry is longer, or the server takes less.
const BATCH: usize = 4 << 20;
const MIN_BATCH: usize = 64 << 10;
/// Pauses before a server that is busy is asked again.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3), Duration::from_secs(10)];
/// Status of a request that the server is too busy for.
const BUSY: u16 = 429;
const CONFLICT: u16 = 409;

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
    /// Changes that are still to be sent.
    actions: Vec<Action>,
    /// Their bytes.
    bytes: usize,
    /// Bytes that are sent at once, unless one entry is longer.
    batch: usize,
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
        // An earlier writer may have added more than its last checkpoint says.
        loop {
            let known = places.len();
            places.read(&server, &name, known, BACKGROUND_TIMEOUT)?;
            if places.len() == known {
                break;
            }
            if places.len() > stored.places + MAX_SURPLUS {
                return Err(impossible());
            }
        }
        let mut numbers = HashMap::new();
        places.each(
            usize::MAX,
            || true,
            |number, key| {
                numbers.insert(*key, number);
            },
        );
        let (documents, new_places, actions) = (Documents::new()?, Vec::new(), Vec::new());
        Ok(Self { index, server, name, stored, documents, numbers, new_places, actions, bytes: 0, batch: BATCH })
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
                    self.add(Action::new(id.clone(), &about("index"), Some(&fields)));
                }
                None => self.add(Action::new(id.clone(), &about("delete"), None)),
            }
        }
        if self.bytes >= self.batch || self.actions.len() >= MAX_ACTIONS { self.send() } else { Ok(()) }
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

    fn add(&mut self, action: Action) {
        self.bytes += action.lines.len();
        self.actions.push(action);
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
        let actions = std::mem::take(&mut self.actions);
        self.bytes = 0;
        for (outcome, action) in self.store(&actions)?.iter().zip(&actions) {
            match outcome.status {
                200..=299 => {}
                // What is to be deleted need not be there.
                404 if action.is_deletion() => {}
                CONFLICT => return Err(taken_over(&self.name)),
                // It lies in the entry, which would be refused again, so the follower goes on. The nightly comparison
                // counts what is missing.
                status @ (400 | TOO_LARGE) => {
                    let kind = outcome.error_type();
                    tracing::warn!(id = action.id, status, kind, "the search server does not take an entry");
                }
                status => {
                    return Err(Error::unavailable(format!(
                        "the search server at {} did not store an entry (status {status}): check its disk, its log and \
                         the role of its user",
                        self.server.address()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Creates the documents of new places. They must be there before entries that use their numbers, and no other
    /// writer may have given these to other places.
    fn send_places(&mut self) -> Result<()> {
        let first = self.numbers.len() - self.new_places.len();
        let new_places = std::mem::take(&mut self.new_places);
        let creation = |(number, key): (usize, &PlaceKey)| {
            let (id, fields) = place_table::document(number, key);
            Action::new(id.clone(), &json!({"create": {"_id": id}}), Some(&fields))
        };
        let actions: Vec<Action> = (first..).zip(&new_places).map(creation).collect();
        for actions in actions.chunks(MAX_ACTIONS) {
            for outcome in self.store(actions)? {
                match outcome.status {
                    201 => {}
                    CONFLICT => return Err(taken_over(&self.name)),
                    _ => {
                        return Err(Error::unavailable(
                            "the search server did not store the place of an entry: check its log",
                        ));
                    }
                }
            }
        }
        Ok(())
    }

    /// Sends changes, in smaller parts if the server does not take so much at once. An entry that it does not take
    /// alone is stored without its text. Returns what became of each.
    fn store(&mut self, actions: &[Action]) -> Result<Vec<Outcome>> {
        let (mut outcomes, mut parts) = (Vec::with_capacity(actions.len()), vec![actions]);
        while let Some(part) = parts.pop().filter(|part| !part.is_empty()) {
            match (self.bulk(part)?, part) {
                (Some(done), _) => outcomes.extend(done),
                (None, [action]) => {
                    tracing::warn!(id = action.id, "the search server does not take the text of an entry: too large");
                    let short = action.without_text().map(|action| self.bulk(&[action])).transpose()?.flatten();
                    outcomes.extend(short.ok_or_else(|| {
                        let address = self.server.address();
                        Error::unavailable(format!(
                            "the search server at {address} does not even take short requests (status 413): check its \
                             limits, and those of a proxy before it"
                        ))
                    })?);
                }
                (None, part) => {
                    // Later ones need not be refused first.
                    let length: usize = part.iter().map(|action| action.lines.len()).sum();
                    self.batch = self.batch.min((length / 2).max(MIN_BATCH));
                    let (first, second) = part.split_at(part.len() / 2);
                    parts.extend([second, first]);
                }
            }
        }
        Ok(outcomes)
    }

    /// Sends changes at once, and sends those again for which the server was too busy. Returns what became of each;
    /// `None` if they are too many bytes.
    fn bulk(&self, actions: &[Action]) -> Result<Option<Vec<Outcome>>> {
        let path = format!("/{}/_bulk?require_alias=true&filter_path={ANSWERED}", write_alias(&self.name));
        let lines: Vec<u8> = actions.iter().flat_map(|action| action.lines.iter().copied()).collect();
        let (lines, limits) = (bytes::Bytes::from(lines), Limits::actions(BACKGROUND_TIMEOUT, actions.len()));
        let mut pauses = PAUSES.iter();
        loop {
            let Some(answer) = self.server.send_lines::<Outcomes>(&path, lines.clone(), limits)? else {
                return Ok(None);
            };
            let outcomes: Option<Vec<Outcome>> = answer.items.0.into_iter().map(Item::outcome).collect();
            let outcomes = outcomes.filter(|outcomes| outcomes.len() == actions.len());
            let outcomes =
                outcomes.ok_or_else(|| Error::unavailable("the search server does not say what it has stored"))?;
            if outcomes.iter().any(|outcome| outcome.error_type() == "index_not_found_exception") {
                return Err(Error::corrupt(format!("the search index {} is gone; the server rebuilds it", self.name)));
            }
            if !outcomes.iter().any(|outcome| matches!(outcome.status, BUSY | 503)) {
                return Ok(Some(outcomes));
            }
            let Some(pause) = pauses.next() else {
                return Err(Error::unavailable("the search server is too busy to store entries: check its load"));
            };
            // sleep: the server asks its clients to send less. Places that were created meanwhile count as taken over.
            std::thread::sleep(*pause);
        }
    }
}

#[derive(Deserialize)]
struct Refreshed {
    #[serde(rename = "_shards")]
    shards: Shards,
}

/// Makes what was written visible.
fn refresh(server: &SearchServer, name: &str) -> Result<()> {
    let gone = || Error::corrupt(format!("the search index {name} is gone; the server rebuilds it"));
    let limits = Limits::short(BACKGROUND_TIMEOUT);
    let answer: Refreshed = server.ask(Method::POST, &format!("/{name}/_refresh"), None, limits)?.ok_or_else(gone)?;
    if answer.shards.failed == 0 && answer.shards.successful > 0 {
        return Ok(());
    }
    Err(Error::unavailable("the search server could not refresh the index: check the health of its cluster"))
}

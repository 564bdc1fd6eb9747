//! The checkpoint of an index as it is stored on the search server, with the number of its writer.

use std::time::Duration;

use hyper::Method;
use model::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};

use super::limits::Limits;
use super::mapping::SCHEMA;
use super::place_table::MAX_PLACES;
use super::server::{BACKGROUND_TIMEOUT, SearchServer};
use crate::index::checkpoint::{Checkpoint, FORMAT, impossible, other_version};

/// Limit on the numbers of writers.
const MAX_EPOCH: i64 = 1 << 53;

/// The checkpoint of an index.
pub(super) struct StoredCheckpoint {
    pub(super) checkpoint: Checkpoint,
    /// Number of the writer. Each has a greater one than those before.
    pub(super) epoch: i64,
    /// Number of places that entries may name.
    pub(super) places: usize,
    /// Sequence number and primary term; a write is refused if they changed.
    pub(super) seq_no_and_term: Option<(i64, i64)>,
}

/// The document with the checkpoint, as the server sends it.
#[derive(Deserialize)]
struct FoundDocument {
    #[serde(rename = "_index")]
    index: Option<String>,
    #[serde(rename = "_seq_no")]
    number: Option<i64>,
    #[serde(rename = "_primary_term")]
    term: Option<i64>,
    #[serde(default, rename = "_source")]
    source: Fields,
}

/// Its fields.
#[derive(Default, Deserialize)]
struct Fields {
    schema: Option<u64>,
    checkpoint: Option<String>,
    epoch: Option<i64>,
    spots: Option<u64>,
}

/// Returns the path of the checkpoint of an index.
pub(super) fn checkpoint_path(index: &str) -> String {
    format!("/{index}/_doc/checkpoint")
}

/// Returns the alias under which an index is written. Requests that need one cannot create an index by accident.
pub(super) fn write_alias(name: &str) -> String {
    format!("{name}-write")
}

/// Returns the error for an index that another writer has taken over.
pub(super) fn taken_over(name: &str) -> Error {
    Error::unavailable(format!("another process writes the search index {name} now"))
}

impl StoredCheckpoint {
    /// Returns the checkpoint of an empty index.
    pub(super) fn first() -> Self {
        Self { checkpoint: Checkpoint::of_empty_index(), epoch: 0, places: 0, seq_no_and_term: None }
    }

    /// Reads the checkpoint of an index or alias. Returns the name of the index, too. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer; `Corrupt` if there is no such index, it is of another version, or
    /// its numbers are impossible.
    pub(super) fn read(server: &SearchServer, index: &str, limit: Duration) -> Result<(String, Self)> {
        let missing = || Error::corrupt(format!("the search index {index} is missing; the server rebuilds it"));
        let found: Option<FoundDocument> =
            server.ask(Method::GET, &checkpoint_path(index), None, Limits::checkpoint(limit))?;
        let FoundDocument { index: name, number, term, source } = found.ok_or_else(missing)?;
        let name = name.ok_or_else(missing)?;
        if source.schema != Some(SCHEMA) {
            return Err(other_version());
        }
        let checkpoint = source.checkpoint.and_then(|text| serde_json::from_str(&text).ok());
        let checkpoint: Checkpoint = checkpoint.ok_or_else(other_version)?;
        if checkpoint.format != FORMAT {
            return Err(other_version());
        }
        let (epoch, places) = source.epoch.zip(source.spots).ok_or_else(other_version)?;
        let places = usize::try_from(places).ok().filter(|places| *places <= MAX_PLACES);
        if !(0..MAX_EPOCH).contains(&epoch) {
            return Err(impossible());
        }
        let seq_no_and_term = number.zip(term);
        Ok((
            name,
            Self { checkpoint: checkpoint.checked()?, epoch, places: places.ok_or_else(impossible)?, seq_no_and_term },
        ))
    }

    /// Stores the checkpoint, unless another writer did meanwhile. Blocks.
    pub(super) fn write(&mut self, server: &SearchServer, name: &str) -> Result<()> {
        let alias = write_alias(name);
        let condition = match self.seq_no_and_term {
            Some((number, term)) => format!("if_seq_no={number}&if_primary_term={term}"),
            None => "op_type=create".to_owned(),
        };
        let path = format!("{}?require_alias=true&{condition}", checkpoint_path(&alias));
        let Some(answer) = server.put_unless_changed(&path, self.fields()?, Limits::short(BACKGROUND_TIMEOUT))? else {
            return Err(taken_over(name));
        };
        let stored = answer["_seq_no"].as_i64().zip(answer["_primary_term"].as_i64());
        self.seq_no_and_term =
            Some(stored.ok_or_else(|| Error::unavailable("the search server does not say what it has stored"))?);
        Ok(())
    }

    /// Returns the fields of the document.
    pub(super) fn fields(&self) -> Result<Value> {
        let text = serde_json::to_string(&self.checkpoint)
            .map_err(|error| Error::corrupt("a checkpoint cannot be written").with_source(error))?;
        Ok(json!({"checkpoint": text, "epoch": self.epoch, "spots": self.places, "schema": SCHEMA}))
    }
}

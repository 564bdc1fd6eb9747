//! The checkpoint of an index as it is stored on the search server, with the number of its writer.

use std::time::Duration;

use hyper::Method;
use model::{Error, Result};
use serde_json::{Value, json};

use super::mapping::SCHEMA;
use super::server::SearchServer;
use crate::index::checkpoint::{Checkpoint, FORMAT};
use crate::index::error::other_version;

/// The checkpoint of an index.
pub(super) struct StoredCheckpoint {
    pub(super) checkpoint: Checkpoint,
    /// Number of the writer. Each has a greater one than those before.
    pub(super) epoch: i64,
    /// Number of spots that entries may name.
    pub(super) spots: usize,
    /// What the server knows the document by, so that it is replaced only while it is the same.
    pub(super) place: Option<(i64, i64)>,
}

/// Returns the path of the checkpoint of an index.
pub(super) fn checkpoint_path(index: &str) -> String {
    format!("/{index}/_doc/checkpoint")
}

impl StoredCheckpoint {
    /// Returns the checkpoint of an empty index.
    pub(super) fn first() -> Self {
        let checkpoint = Checkpoint { format: FORMAT, walk: Some(0), ..Checkpoint::default() };
        Self { checkpoint, epoch: 0, spots: 0, place: None }
    }

    /// Reads the checkpoint of an index or alias. Returns the name of the index, too. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if the server does not answer; `Corrupt` if there is no such index, or it is of another version.
    pub(super) fn read(server: &SearchServer, index: &str, limit: Duration) -> Result<(String, Self)> {
        let missing = || Error::corrupt(format!("the search index {index} is missing; the server rebuilds it"));
        let found = server.ask(Method::GET, &checkpoint_path(index), None, limit)?.ok_or_else(missing)?;
        let (name, source) = (found["_index"].as_str().ok_or_else(missing)?, &found["_source"]);
        if source["schema"].as_u64() != Some(SCHEMA) {
            return Err(other_version());
        }
        let checkpoint = source["checkpoint"].as_str().and_then(|text| serde_json::from_str(text).ok());
        let checkpoint: Checkpoint = checkpoint.ok_or_else(other_version)?;
        if checkpoint.format != FORMAT {
            return Err(other_version());
        }
        let stored = Self {
            checkpoint,
            epoch: source["epoch"].as_i64().ok_or_else(other_version)?,
            spots: source["spots"].as_u64().ok_or_else(other_version)? as usize,
            place: found["_seq_no"].as_i64().zip(found["_primary_term"].as_i64()),
        };
        Ok((name.to_owned(), stored))
    }

    /// Returns the fields of the document.
    pub(super) fn fields(&self) -> Result<Value> {
        let text = serde_json::to_string(&self.checkpoint)
            .map_err(|error| Error::corrupt("a checkpoint cannot be written").with_source(error))?;
        Ok(json!({"checkpoint": text, "epoch": self.epoch, "spots": self.spots, "schema": SCHEMA}))
    }
}

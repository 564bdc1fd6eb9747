//! Immutable snapshot of an index.

use std::sync::OnceLock;

use model::Result;
use tantivy::{Index, IndexReader, Searcher};

use super::checkpoint::{Checkpoint, FORMAT};
use super::columns::Columns;
use super::error::{index_failed, other_version};
use super::schema::Fields;

/// Reads the checkpoint of the newest commit.
pub(super) fn newest_checkpoint(index: &Index) -> Result<Checkpoint> {
    match index.load_metas().map_err(index_failed)?.payload {
        Some(payload) => serde_json::from_str(&payload).map_err(|_| other_version()),
        None => Ok(Checkpoint { format: FORMAT, walk: Some(0), ..Checkpoint::default() }),
    }
}

/// Immutable snapshot of an index: one commit.
pub struct View {
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    checkpoint: Checkpoint,
    /// The columns of each segment, opened when they are first needed.
    columns: OnceLock<Vec<Columns>>,
}

impl View {
    /// Takes the entries that a reader shows. The checkpoint must have been read before the reader was opened or
    /// reloaded, because another process may commit in between: a search may judge a change twice, but must not miss
    /// one.
    pub(super) fn of(reader: &IndexReader, checkpoint: Checkpoint, fields: Fields) -> Self {
        Self { searcher: reader.searcher(), fields, checkpoint, columns: OnceLock::new() }
    }

    /// Returns the columns of each segment.
    pub(super) fn columns(&self) -> tantivy::Result<&[Columns]> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        let opened = self.searcher.segment_readers().iter().map(Columns::of).collect::<tantivy::Result<Vec<_>>>()?;
        Ok(self.columns.get_or_init(|| opened))
    }

    /// Position of this commit in the events of its content database.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// Returns whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

//! Immutable snapshot of an index.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use model::Result;
use tantivy::index::SegmentId;
use tantivy::{Index, IndexReader, Searcher, SegmentReader};

use super::columns::Columns;
use super::error::index_failed;
use super::place_numbers::PlaceNumbers;
use super::schema::Fields;
use crate::index::checkpoint::{Checkpoint, other_version};

/// Reads the checkpoint of the newest commit.
///
/// # Errors
/// `Corrupt` if it is of another version, or its numbers are impossible.
pub(super) fn newest_checkpoint(index: &Index) -> Result<Checkpoint> {
    match index.load_metas().map_err(index_failed)?.payload {
        Some(payload) => serde_json::from_str::<Checkpoint>(&payload).map_err(|_| other_version())?.checked(),
        None => Ok(Checkpoint::of_empty_index()),
    }
}

/// Immutable snapshot of an index: one commit.
pub struct LocalView {
    pub(super) searcher: Searcher,
    pub(super) fields: Fields,
    checkpoint: Checkpoint,
    places: Arc<PlaceNumbers>,
    /// Opened when they are first needed.
    columns: OnceLock<SegmentColumns>,
    /// Those that the view before has opened, for segments that both have. Segments never change.
    known: HashMap<SegmentId, Arc<Columns>>,
}

/// The columns of each segment.
pub(super) struct SegmentColumns {
    /// In the order of the segments.
    pub(super) in_order: Vec<Arc<Columns>>,
    pub(super) by_segment: Arc<HashMap<SegmentId, Arc<Columns>>>,
}

impl LocalView {
    /// Takes the entries that a reader shows. The checkpoint must have been read before the reader was opened or
    /// reloaded, because another process may commit in between: a search may judge a change twice, but must not miss
    /// one.
    pub(super) fn of(reader: &IndexReader, checkpoint: Checkpoint, fields: Fields, places: Arc<PlaceNumbers>) -> Self {
        let (searcher, columns) = (reader.searcher(), OnceLock::new());
        Self { searcher, fields, checkpoint, places, columns, known: HashMap::new() }
    }

    /// Uses the columns that the view before has opened. Those of segments that are gone are not kept, so that their
    /// files leave the disk.
    pub(super) fn after(self, before: &Self) -> Self {
        let opened = before.columns.get().map_or(&before.known, |columns| &columns.by_segment);
        let known = |segment: &SegmentReader| opened.get_key_value(&segment.segment_id());
        let known = self.searcher.segment_readers().iter().filter_map(known);
        Self { known: known.map(|(id, columns)| (*id, columns.clone())).collect(), ..self }
    }

    /// Returns the columns of each segment.
    pub(super) fn columns(&self) -> tantivy::Result<&SegmentColumns> {
        if let Some(columns) = self.columns.get() {
            return Ok(columns);
        }
        let columns = |segment: &SegmentReader| {
            let id = segment.segment_id();
            match self.known.get(&id) {
                Some(known) => Ok((id, known.clone())),
                None => Ok((id, Arc::new(Columns::of(segment, &self.places)?))),
            }
        };
        let opened: Vec<_> = self.searcher.segment_readers().iter().map(columns).collect::<tantivy::Result<_>>()?;
        let in_order = opened.iter().map(|(_, columns)| columns.clone()).collect();
        let by_segment = Arc::new(opened.into_iter().collect());
        Ok(self.columns.get_or_init(|| SegmentColumns { in_order, by_segment }))
    }

    /// Iterates over the segments with their columns.
    pub(super) fn segments(&self) -> tantivy::Result<impl Iterator<Item = (&SegmentReader, &Arc<Columns>)>> {
        Ok(self.searcher.segment_readers().iter().zip(&self.columns()?.in_order))
    }

    /// Position of this commit in the events of its content database.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.searcher.num_docs()
    }
}

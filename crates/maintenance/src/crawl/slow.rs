//! The documents that take long to read: one after the other is read beside those that change.

use std::time::Instant;

use database::content::node::NodeRow;
use model::{Error, ErrorKind, Id, Result};
use search::index::Checkpoint;
use tokio::task::JoinSet;

use super::entries::{DocumentEntries, entries};
use super::text::{TextReader, Turn};

/// The document among those that wait in a checkpoint that is being read.
pub(super) struct SlowReading {
    /// Holds at most one task.
    reading: JoinSet<(Id, Result<DocumentEntries>)>,
    /// The document that was read last.
    last: Id,
    /// Set once the entries of that document were replaced meanwhile.
    pub(super) is_stale: bool,
    /// Time at which a store or a child process did not answer.
    pub(super) rests_since: Option<Instant>,
}

impl Default for SlowReading {
    fn default() -> Self {
        Self { reading: JoinSet::new(), last: Id::NONE, is_stale: false, rests_since: None }
    }
}

impl SlowReading {
    /// Returns the entries of the document that was being read, once they are there.
    ///
    /// # Errors
    /// Those of [`entries`]; `Unavailable` if the reading ended early.
    pub(super) fn read(&mut self) -> Result<Option<(Id, DocumentEntries)>> {
        let Some(read) = self.reading.try_join_next() else { return Ok(None) };
        let (id, read) = read
            .map_err(|error| Error::new(ErrorKind::Unavailable, "reading a document ended early").with_source(error))?;
        Ok(Some((id, read?)))
    }

    /// Returns whether a document is being read.
    pub(super) fn is_reading(&self) -> bool {
        !self.reading.is_empty()
    }

    /// Returns the document to read next. Text in pictures is recognised when no other document waits.
    pub(super) fn next(&mut self, checkpoint: &Checkpoint) -> Option<(Id, Turn)> {
        let waiting = [(&checkpoint.pending, Turn::Slow), (&checkpoint.unrecognized, Turn::Recognition)];
        let (documents, turn) = waiting.into_iter().find(|(documents, _)| !documents.is_empty())?;
        let next = documents.range(self.last.get() + 1..).next().or_else(|| documents.first())?;
        (self.last, self.is_stale, self.rests_since) = (Id::new(*next), false, None);
        Some((self.last, turn))
    }

    /// Reads a document.
    pub(super) fn start(&mut self, texts: &TextReader, document: NodeRow, turn: Turn) {
        let (texts, id) = (texts.clone(), document.id);
        self.reading.spawn(async move { (id, entries(&texts, document, turn).await) });
    }

    /// Notes that the entries of a document are replaced. A reading of it may have begun before.
    pub(super) fn note_replaced(&mut self, id: Id) {
        self.is_stale |= self.last == id;
    }
}

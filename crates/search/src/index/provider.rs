//! The contract of an index, with its two providers: an index in a directory of one server, and an index on a search
//! server that several servers of a farm share.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::{Id, Result};

use super::admission::Admission;
use super::checkpoint::Checkpoint;
use super::clock::Clock;
use super::entry::{Entry, FaultyDocument, IndexedEntry, WantedFaults};
use super::local::{LocalIndex, LocalView, LocalWriter};
use super::names::{NameHits, NameRequest};
use super::opensearch::{SEARCH_TIMEOUT, SharedGenerations, SharedIndex, SharedView, SharedWriter};
use super::top::{TopHits, TopRequest};

/// The index of one content database.
pub struct SearchIndex(IndexKind);

enum IndexKind {
    Local(Arc<LocalIndex>),
    Shared(Arc<SharedIndex>),
}

impl SearchIndex {
    /// Opens the index in a directory; makes an empty one if the directory holds none. Blocks.
    ///
    /// # Errors
    /// `Corrupt` if the directory holds an index that cannot be read or is of another version; `Unavailable` if the
    /// directory cannot be read or written.
    pub fn open(directory: &Path) -> Result<Self> {
        Ok(Self(IndexKind::Local(Arc::new(LocalIndex::open(directory)?))))
    }

    /// Opens the index in a directory, if there is one, for reading while another process may write it. Blocks.
    ///
    /// # Errors
    /// Those of [`Self::open`].
    pub fn open_existing(directory: &Path) -> Result<Option<Self>> {
        Ok(LocalIndex::open_existing(directory)?.map(|index| Self(IndexKind::Local(Arc::new(index)))))
    }

    /// Opens the index of a name on a search server; without one, whatever index is in use there, now and later.
    /// Blocks.
    ///
    /// # Errors
    /// `Corrupt` if it is missing, damaged or of another version; `Unavailable` if the server does not answer.
    pub fn open_shared(generations: &SharedGenerations, name: Option<&str>) -> Result<Self> {
        Ok(Self(IndexKind::Shared(Arc::new(generations.open(name)?))))
    }

    /// Compares all files in a directory with their checksums. A search server does that by itself. Blocks.
    ///
    /// # Errors
    /// `Corrupt` if a file differs; `Unavailable` if one cannot be read.
    pub fn verify(&self) -> Result<()> {
        match &self.0 {
            IndexKind::Local(index) => index.verify(),
            IndexKind::Shared(_) => Ok(()),
        }
    }

    /// The newest commit that this process knows.
    pub fn view(&self) -> Arc<View> {
        Arc::new(View(match &self.0 {
            IndexKind::Local(index) => ViewKind::Local(index.view()),
            IndexKind::Shared(index) => ViewKind::Shared(index.view()),
        }))
    }

    /// Returns the newest commit; that of a search server is at most 100 milliseconds old. Blocks, at most for a
    /// second.
    ///
    /// # Errors
    /// `Unavailable` if the search server does not answer; `Corrupt` if it has no such index.
    pub fn newest(&self) -> Result<Arc<View>> {
        match &self.0 {
            IndexKind::Local(_) => Ok(self.view()),
            IndexKind::Shared(index) => Ok(Arc::new(View(ViewKind::Shared(index.newest()?)))),
        }
    }
}

/// Immutable snapshot of an index: one commit. A search server also shows entries that were written since.
pub struct View(pub(super) ViewKind);

pub(super) enum ViewKind {
    Local(Arc<LocalView>),
    Shared(Arc<SharedView>),
}

impl View {
    /// Position of this commit in the events of its content database.
    pub fn checkpoint(&self) -> &Checkpoint {
        match &self.0 {
            ViewKind::Local(view) => view.checkpoint(),
            ViewKind::Shared(view) => view.checkpoint(),
        }
    }

    /// Returns how long a search may take that takes at most `usual` in a directory. A search server answers later, and
    /// without load of this process.
    pub fn time_limit(&self, usual: Duration) -> Duration {
        match &self.0 {
            ViewKind::Local(_) => usual,
            ViewKind::Shared(_) => usual.max(SEARCH_TIMEOUT),
        }
    }

    /// Returns the number of entries. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn entries(&self) -> Result<u64> {
        match &self.0 {
            ViewKind::Local(view) => Ok(view.len()),
            ViewKind::Shared(view) => view.len(),
        }
    }

    /// Returns the best hits of a query among the admitted entries. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn top(&self, request: &TopRequest<'_>, admission: &dyn Admission) -> Result<TopHits> {
        match &self.0 {
            ViewKind::Local(view) => view.top(request, admission),
            ViewKind::Shared(view) => view.top(request, admission),
        }
    }

    /// Returns admitted entries whose names contain all parts. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn named(&self, request: &NameRequest<'_>, admission: &dyn Admission) -> Result<NameHits> {
        match &self.0 {
            ViewKind::Local(view) => view.named(request, admission),
            ViewKind::Shared(view) => view.named(request, admission),
        }
    }

    /// Returns the number of entries without a readable text, and of those that wait for it, by error code. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn fault_counts(&self) -> Result<BTreeMap<String, u64>> {
        match &self.0 {
            ViewKind::Local(view) => view.fault_counts(),
            ViewKind::Shared(view) => view.fault_counts(),
        }
    }

    /// Returns entries with a wanted error code, newest documents first: those before the document and version
    /// `before`, at most `limit`, and at most 10,000. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn faults(
        &self,
        before: Option<(Id, Id)>,
        limit: usize,
        wanted: WantedFaults<'_>,
    ) -> Result<Vec<FaultyDocument>> {
        match &self.0 {
            ViewKind::Local(view) => view.faults(before, limit, wanted),
            ViewKind::Shared(view) => view.faults(before, limit, wanted),
        }
    }

    /// Returns whether the text of an admitted entry is still to be read. Supposes so if time is up. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn has_waiting(&self, admission: &dyn Admission, clock: &Clock) -> Result<bool> {
        match &self.0 {
            ViewKind::Local(view) => view.has_waiting(admission),
            ViewKind::Shared(view) => view.has_waiting(admission, clock),
        }
    }

    /// Returns whether the text of a version is still to be read. Supposes so if time is up. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn waits_for_text_of(&self, document: Id, version: Id, clock: &Clock) -> Result<bool> {
        match &self.0 {
            ViewKind::Local(view) => view.waits_for_text_of(document, version),
            ViewKind::Shared(view) => view.waits_for_text_of(document, version, clock),
        }
    }

    /// Returns the entries of the documents from `first` to `last`, in their order. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn entries_between(&self, first: Id, last: Id) -> Result<BTreeMap<Id, Vec<IndexedEntry>>> {
        match &self.0 {
            ViewKind::Local(view) => view.entries_between(first, last),
            ViewKind::Shared(view) => view.entries_between(first, last),
        }
    }

    /// Returns the library in whose columns the entries of a document have values; [`Id::NONE`] if they have none or
    /// there are none. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn library_of(&self, node: Id) -> Result<Id> {
        match &self.0 {
            ViewKind::Local(view) => view.library_of(node),
            ViewKind::Shared(view) => view.library_of(node),
        }
    }

    /// Returns the documents with values of a library in other columns than these. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub fn documents_with_other_values(&self, library: Id, known: &HashSet<Id>) -> Result<Vec<Id>> {
        match &self.0 {
            ViewKind::Local(view) => view.documents_with_other_values(library, known),
            ViewKind::Shared(view) => view.documents_with_other_values(library, known),
        }
    }
}

/// Replaces entries of documents. Changes become visible on commit, together with the checkpoint.
pub struct IndexWriter(WriterKind);

enum WriterKind {
    Local(Box<LocalWriter>),
    Shared(Box<SharedWriter>),
}

impl IndexWriter {
    /// Opens the only writer of an index. On a search server, it takes the place of an earlier one. Blocks.
    ///
    /// # Errors
    /// `Unavailable` if there is one already, in this process or another, or the search server does not answer.
    pub fn open(index: Arc<SearchIndex>) -> Result<Self> {
        Ok(Self(match &index.0 {
            IndexKind::Local(index) => WriterKind::Local(Box::new(LocalWriter::open(index.clone())?)),
            IndexKind::Shared(index) => WriterKind::Shared(Box::new(SharedWriter::open(index.clone())?)),
        }))
    }

    /// Replaces all entries of a document; without new ones, it is not found any more. Blocks.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` if the index cannot be written. Discard the writer after an error.
    pub fn replace(&mut self, node: Id, entries: &[Entry]) -> Result<()> {
        match &mut self.0 {
            WriterKind::Local(writer) => writer.replace(node, entries),
            WriterKind::Shared(writer) => writer.replace(node, entries),
        }
    }

    /// Commits what was replaced, with the checkpoint; on disk when it returns. Views taken from now on show it. On a
    /// search server, what was replaced may be there without the checkpoint after an error, and is written again.
    /// Blocks.
    ///
    /// # Errors
    /// `Unavailable` or `Corrupt` if the index cannot be written.
    pub fn commit(&mut self, checkpoint: &Checkpoint) -> Result<()> {
        match &mut self.0 {
            WriterKind::Local(writer) => writer.commit(checkpoint),
            WriterKind::Shared(writer) => writer.commit(checkpoint),
        }
    }

    /// Ends the writer after the merges that it has begun. Blocks.
    ///
    /// # Errors
    /// Those of a merge. The last commit stays as it is.
    pub fn close(self) -> Result<()> {
        match self.0 {
            WriterKind::Local(writer) => writer.close(),
            WriterKind::Shared(_) => Ok(()),
        }
    }
}

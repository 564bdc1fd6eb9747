//! The documents that wait to be read again: one after the other is read beside those that change. The index says which
//! they are.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use database::content::node::NodeRow;
use model::{Code, Error, ErrorKind, Id, Result};
use search::index::{Fault, View, WantedFaults};
use tokio::task::JoinSet;

use super::entries::{DocumentEntries, entries};
use super::text::{ReadPass, TextReader};

/// Limit on the documents that are remembered: as many as an index returns at once. It knows the others.
const MAX_REMEMBERED: usize = 10_000;
/// Pause after a store or a child process did not answer, and minimum interval between two rounds with such failures.
const PAUSE: Duration = Duration::from_secs(1);
const ROUND: Duration = Duration::from_secs(30);
/// Error codes of documents that an external program may be able to read.
const NEED_PROGRAMS: [Code; 3] = [Code::NeedsPoppler, Code::NeedsSoffice, Code::NeedsTesseract];

/// Documents that are read in turn.
#[derive(Default)]
struct Round {
    documents: BTreeSet<i64>,
    /// The document that was read last.
    last: i64,
    has_failed: bool,
    rests_until: Option<Instant>,
}

/// The documents that wait, and the one among them that is being read.
pub(super) struct SlowReading {
    /// Holds at most one task.
    reading: JoinSet<(Id, Result<DocumentEntries>)>,
    /// The document that was read last, and how.
    last: (Id, ReadPass),
    /// Set once the entries of that document were replaced meanwhile.
    pub(super) is_stale: bool,
    texts: Round,
    recognitions: Round,
    /// Set if the index may know more of them.
    has_more: bool,
}

/// Documents that need a program.
pub(super) struct Retried {
    /// The documents, the newest first.
    pub(super) documents: Vec<Id>,
    /// The last document and version; `None` if there are none.
    pub(super) last: Option<(Id, Id)>,
}

/// Returns documents that need a program: at most `limit` entries before this document and version. Blocks.
///
/// # Errors
/// `Corrupt` or `Unavailable` if the index cannot be read.
pub(super) fn retried_documents(view: &View, before: (Id, Id), limit: usize) -> Result<Retried> {
    let faults = view.faults(Some(before), limit, WantedFaults::Codes(&NEED_PROGRAMS.map(Code::as_str)))?;
    let last = faults.last().map(|fault| (fault.node, fault.version));
    let mut documents: Vec<Id> = faults.into_iter().map(|fault| fault.node).collect();
    documents.dedup();
    Ok(Retried { documents, last })
}

impl SlowReading {
    /// Loads the waiting documents from an index. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub(super) fn of(view: &View) -> Result<Self> {
        let (texts, more_texts) = Round::of(view, Fault::WAITS_FOR_TEXT)?;
        let (recognitions, more_recognitions) = Round::of(view, Fault::WAITS_FOR_RECOGNITION)?;
        Ok(Self {
            reading: JoinSet::new(),
            last: (Id::NONE, ReadPass::Slow),
            is_stale: false,
            texts,
            recognitions,
            has_more: more_texts || more_recognitions,
        })
    }

    /// Returns the number of documents that wait, as far as they are remembered.
    pub(super) fn waiting(&self) -> usize {
        self.texts.documents.len() + self.recognitions.documents.len() + usize::from(self.has_more)
    }

    /// Returns whether all remembered documents were read, and the index may know others.
    pub(super) fn has_unknown(&self) -> bool {
        self.has_more && self.texts.documents.is_empty() && self.recognitions.documents.is_empty()
    }

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

    /// Returns the document to read next. Text in pictures is recognised while no other document can be read.
    pub(super) fn next(&mut self) -> Option<(Id, ReadPass)> {
        let now = Instant::now();
        let text = self.texts.next(now).map(|id| (id, ReadPass::Slow));
        let next = text.or_else(|| self.recognitions.next(now).map(|id| (id, ReadPass::Recognition)))?;
        (self.last, self.is_stale) = (next, false);
        Some(next)
    }

    /// Reads a document.
    pub(super) fn start(&mut self, texts: &TextReader, document: NodeRow, pass: ReadPass) {
        let (texts, id) = (texts.clone(), document.id);
        self.reading.spawn(async move { (id, entries(&texts, document, pass).await) });
    }

    /// Notes that the document that was read last still waits.
    pub(super) fn note_failure(&mut self) {
        let round = if self.last.1 == ReadPass::Recognition { &mut self.recognitions } else { &mut self.texts };
        (round.has_failed, round.rests_until) = (true, Some(Instant::now() + PAUSE));
    }

    /// Notes that the entries of a document are written. A reading of it may have begun before.
    pub(super) fn note_written(&mut self, id: Id, is_whole: bool, awaits_recognition: bool) {
        self.is_stale |= self.last.0 == id;
        self.has_more |= self.texts.note(id, !is_whole);
        self.has_more |= self.recognitions.note(id, is_whole && awaits_recognition);
    }
}

impl Round {
    /// Returns the documents with an error code, and whether there may be more.
    fn of(view: &View, code: &str) -> Result<(Self, bool)> {
        let faults = view.faults(None, MAX_REMEMBERED, WantedFaults::Codes(&[code]))?;
        let has_more = faults.len() == MAX_REMEMBERED;
        let documents = faults.into_iter().map(|fault| fault.node.get()).collect();
        Ok((Self { documents, ..Self::default() }, has_more))
    }

    fn next(&mut self, now: Instant) -> Option<Id> {
        if self.documents.is_empty() || self.rests_until.is_some_and(|until| now < until) {
            return None;
        }
        let next = match self.documents.range(self.last + 1..).next() {
            Some(next) => *next,
            None if std::mem::take(&mut self.has_failed) => {
                (self.last, self.rests_until) = (0, Some(now + ROUND));
                return None;
            }
            None => *self.documents.first()?,
        };
        self.last = next;
        Some(Id::new(next))
    }

    /// Remembers or forgets a document. Returns whether it was not remembered, because there are too many.
    fn note(&mut self, id: Id, waits: bool) -> bool {
        if !waits {
            self.documents.remove(&id.get());
        } else if self.documents.len() < MAX_REMEMBERED {
            self.documents.insert(id.get());
        } else {
            return !self.documents.contains(&id.get());
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_that_fail_rest_until_the_next_round() {
        let mut round = Round { documents: [1, 2].into(), ..Round::default() };
        let now = Instant::now();
        let mut next = |after: Duration, has_failed: bool| {
            let next = round.next(now + after).map(Id::get);
            if has_failed {
                round.has_failed = true;
            }
            next
        };
        assert_eq!(next(Duration::ZERO, true), Some(1));
        assert_eq!(next(Duration::ZERO, false), Some(2));
        assert_eq!(next(Duration::ZERO, false), None);
        assert_eq!(next(ROUND / 2, false), None);
        assert_eq!(next(ROUND, false), Some(1));
        assert_eq!(next(ROUND, false), Some(2));
        assert_eq!(next(ROUND, false), Some(1), "without a failure there is no rest");
    }

    #[test]
    fn what_is_not_remembered_is_told() {
        let mut round = Round { documents: (0..MAX_REMEMBERED as i64).collect(), ..Round::default() };
        assert!(!round.note(Id::new(1), true));
        assert!(round.note(Id::new(-1), true));
        assert!(!round.note(Id::new(1), false));
        assert!(!round.note(Id::new(-1), true));
    }
}

//! The documents that wait to be read again: one after the other is read beside those that change. The index says which
//! they are.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use database::content::node::NodeRow;
use model::{Code, Error, ErrorKind, Id, Result};
use search::index::{Fault, View, WantedFaults};
use tokio::task::JoinSet;

use super::entries::{DocumentEntries, read_entries};
use super::text::{ReadPass, TextReader};

/// Limit on the documents that are remembered for each round: as many as an index returns at once. It knows the others.
const MAX_REMEMBERED: usize = 10_000;
/// Pause after a store or a child process did not answer, and minimum interval between two rounds with such failures.
const PAUSE: Duration = Duration::from_secs(1);
const ROUND: Duration = Duration::from_secs(30);
/// Error codes of documents that an external program may be able to read.
const NEED_PROGRAMS: [Code; 3] = [Code::NeedsPoppler, Code::NeedsSoffice, Code::NeedsTesseract];

/// Documents that are read in turn, a page after the other.
#[derive(Default)]
struct Round {
    /// The documents of this page.
    documents: BTreeSet<i64>,
    /// The document that was read last.
    last: i64,
    has_failed: bool,
    rests_until: Option<Instant>,
    /// True if the index may know documents that are not in this page.
    has_more: bool,
    /// The document and version before which the next page begins; `None` for the first page.
    before: Option<(Id, Id)>,
    /// True once all documents of this page were tried, and the next page is to be read.
    wants_page: bool,
}

/// A page of waiting documents that is to be read from an index.
pub(super) struct WantedPage {
    pass: ReadPass,
    before: Option<(Id, Id)>,
}

/// A page of waiting documents.
pub(super) struct Page {
    wanted: WantedPage,
    documents: BTreeSet<i64>,
    /// The last document and version; `None` if there are no more pages.
    last: Option<(Id, Id)>,
}

impl WantedPage {
    /// Reads the page. Blocks.
    ///
    /// # Errors
    /// `Corrupt` or `Unavailable` if the index cannot be read.
    pub(super) fn read(self, view: &View) -> Result<Page> {
        let code = match self.pass {
            ReadPass::Recognition => Fault::WAITS_FOR_RECOGNITION,
            ReadPass::First | ReadPass::Slow => Fault::WAITS_FOR_TEXT,
        };
        let faults = view.faults(self.before, MAX_REMEMBERED, WantedFaults::Codes(&[code]))?;
        let last = faults.last().filter(|_| faults.len() >= MAX_REMEMBERED).map(|fault| (fault.node, fault.version));
        let documents = faults.iter().map(|fault| fault.node.get()).collect();
        Ok(Page { wanted: self, documents, last })
    }
}

/// The documents that wait, and the one among them that is being read.
pub(super) struct SlowReading {
    /// Holds at most one task.
    reading: JoinSet<(Id, Result<Option<DocumentEntries>>)>,
    /// The document that was read last, and how.
    last: (Id, ReadPass),
    /// Set once the entries of that document were replaced meanwhile.
    pub(super) is_stale: bool,
    texts: Round,
    recognitions: Round,
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
        let (last, is_stale) = ((Id::NONE, ReadPass::Slow), false);
        let (texts, recognitions) = (Round::default(), Round::default());
        let mut slow = Self { reading: JoinSet::new(), last, is_stale, texts, recognitions };
        for pass in [ReadPass::Slow, ReadPass::Recognition] {
            slow.turn_page(WantedPage { pass, before: None }.read(view)?);
        }
        Ok(slow)
    }

    /// Returns the number of documents that wait, as far as they are remembered, and one for all others.
    pub(super) fn waiting(&self) -> usize {
        let waiting = |round: &Round| round.documents.len() + usize::from(round.has_more);
        waiting(&self.texts) + waiting(&self.recognitions)
    }

    /// Returns a page that is to be read next: all remembered documents were tried, and the index may know others.
    pub(super) fn wanted_page(&self) -> Option<WantedPage> {
        let wanted = |round: &Round, pass| round.wants_page.then_some(WantedPage { pass, before: round.before });
        wanted(&self.texts, ReadPass::Slow).or_else(|| wanted(&self.recognitions, ReadPass::Recognition))
    }

    /// Goes on with a page, read from an index to which everything was committed.
    pub(super) fn turn_page(&mut self, page: Page) {
        self.round(page.wanted.pass).turn_page(page);
    }

    fn round(&mut self, pass: ReadPass) -> &mut Round {
        match pass {
            ReadPass::Recognition => &mut self.recognitions,
            ReadPass::First | ReadPass::Slow => &mut self.texts,
        }
    }

    /// Returns the entries of the document that was being read, once they are there; none if its rows cannot be read.
    ///
    /// # Errors
    /// Those of [`read_entries`]; `Unavailable` if the reading ended early.
    pub(super) fn read(&mut self) -> Result<Option<(Id, Option<DocumentEntries>)>> {
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
        self.reading.spawn(async move { (id, read_entries(&texts, document, pass).await) });
    }

    /// Notes that the document that was read last still waits.
    pub(super) fn note_failure(&mut self) {
        let round = self.round(self.last.1);
        (round.has_failed, round.rests_until) = (true, Some(Instant::now() + PAUSE));
    }

    /// Notes that the entries of a document are written. A reading of it may have begun before.
    pub(super) fn note_written(&mut self, id: Id, is_whole: bool, awaits_recognition: bool) {
        self.is_stale |= self.last.0 == id;
        self.texts.note(id, !is_whole);
        self.recognitions.note(id, is_whole && awaits_recognition);
    }
}

impl Round {
    fn turn_page(&mut self, page: Page) {
        self.has_more = page.wanted.before.is_some() || page.last.is_some();
        (self.documents, self.before) = (page.documents, page.last);
        (self.last, self.wants_page) = (0, false);
    }

    fn next(&mut self, now: Instant) -> Option<Id> {
        if self.wants_page || self.rests_until.is_some_and(|until| now < until) {
            return None;
        }
        let next = match self.documents.range(self.last + 1..).next() {
            Some(next) => *next,
            None => {
                // A round ends with its last page.
                if self.before.is_none() && std::mem::take(&mut self.has_failed) {
                    self.rests_until = Some(now + ROUND);
                }
                (self.last, self.wants_page) = (0, self.has_more);
                if self.has_more || self.rests_until.is_some_and(|until| now < until) {
                    return None;
                }
                *self.documents.first()?
            }
        };
        self.last = next;
        Some(Id::new(next))
    }

    /// Remembers or forgets a document.
    fn note(&mut self, id: Id, waits: bool) {
        if !waits {
            self.documents.remove(&id.get());
        } else if self.documents.len() < MAX_REMEMBERED {
            self.documents.insert(id.get());
        } else {
            self.has_more |= !self.documents.contains(&id.get());
        }
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
    fn documents_that_are_not_remembered_are_read_beside_one_that_fails_forever() {
        let many = 2 * MAX_REMEMBERED as i64 + 10;
        let mut waiting: BTreeSet<i64> = (1..=many).collect();
        let (mut round, mut now) = (Round { wants_page: true, ..Round::default() }, Instant::now());
        let failing = many;
        while waiting.len() > 1 {
            if round.wants_page {
                let before = round.before.map_or(i64::MAX, |(node, _)| node.get());
                let documents: BTreeSet<i64> =
                    waiting.iter().rev().copied().filter(|id| *id < before).take(MAX_REMEMBERED).collect();
                let last = documents.first().filter(|_| documents.len() == MAX_REMEMBERED);
                let last = last.map(|id| (Id::new(*id), Id::NONE));
                round.turn_page(Page {
                    wanted: WantedPage { pass: ReadPass::Slow, before: round.before },
                    documents,
                    last,
                });
            }
            match round.next(now) {
                Some(id) if id.get() == failing => round.has_failed = true,
                Some(id) => {
                    assert!(waiting.remove(&id.get()), "read once");
                    round.note(id, false);
                }
                None => now += ROUND,
            }
        }
        assert!(waiting.contains(&failing));
    }

    #[test]
    fn the_next_page_is_wanted_once_there_is_no_room() {
        let mut round = Round { documents: (0..MAX_REMEMBERED as i64).collect(), ..Round::default() };
        round.note(Id::new(1), true);
        assert!(!round.has_more);
        round.note(Id::new(-1), true);
        assert!(round.has_more);
        round.documents.clear();
        assert_eq!(round.next(Instant::now()), None);
        assert!(round.wants_page);
    }
}

//! Queries for all words that an automaton accepts. They are interrupted when time is up, also within one segment.

use std::fmt;
use std::sync::Arc;

use tantivy::query::{
    AutomatonWeight, BitSetDocSet, ConstScorer, DfaWrapper, EmptyScorer, EnableScoring, Explanation, FuzzyTermQuery,
    Query, Scorer, Weight,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{BitSet, DocId, DocSet, Result, Score, SegmentReader, TERMINATED, Term};
use tantivy_fst::Automaton;

use crate::index::clock::Clock;
use crate::language::similar::digits;

/// A query for the words of a field that an automaton accepts.
#[derive(Clone, Debug)]
pub(super) struct WordQuery<A> {
    field: Field,
    words: A,
}

impl<A> Query for WordQuery<A>
where
    A: Automaton<State: Clone> + Clone + fmt::Debug + Send + Sync + 'static,
{
    fn weight(&self, _: EnableScoring<'_>) -> Result<Box<dyn Weight>> {
        Ok(Box::new(WordWeight { field: self.field, words: AutomatonWeight::new(self.field, self.words.clone()) }))
    }
}

/// Share of a segment's entries, as a divisor, from which on a bit for each entry takes less memory than a list.
const DENSE: u32 = 32;

/// Collects the entries with any of the words. Takes memory in proportion to them, and none if there are none, because
/// a query can have many such parts. The weights of tantivy take a bit for each entry of the segment.
struct WordWeight<A> {
    field: Field,
    words: AutomatonWeight<A>,
}

impl<A> Weight for WordWeight<A>
where
    A: Automaton<State: Clone> + Send + Sync + 'static,
{
    fn scorer(&self, segment: &SegmentReader, boost: Score) -> Result<Box<dyn Scorer>> {
        let words = self.words.get_match_term_infos(segment)?;
        let most = words.iter().fold(0_u32, |sum, word| sum.saturating_add(word.doc_freq));
        if most == 0 {
            return Ok(Box::new(EmptyScorer));
        }
        let is_dense = most >= segment.max_doc() / DENSE;
        let mut set = BitSet::with_max_value(if is_dense { segment.max_doc() } else { 0 });
        let mut list = Vec::with_capacity(if is_dense { 0 } else { most as usize });
        let index = segment.inverted_index(self.field)?;
        for word in &words {
            let mut found = index.read_block_postings_from_terminfo(word, IndexRecordOption::Basic)?;
            while !found.docs().is_empty() {
                if is_dense {
                    for doc in found.docs() {
                        set.insert(*doc);
                    }
                } else {
                    list.extend_from_slice(found.docs());
                }
                found.advance();
            }
        }
        if is_dense {
            return Ok(Box::new(ConstScorer::new(BitSetDocSet::from(set), boost)));
        }
        list.sort_unstable();
        list.dedup();
        Ok(Box::new(ConstScorer::new(ListDocSet { entries: list, at: 0 }, boost)))
    }

    fn explain(&self, segment: &SegmentReader, doc: DocId) -> Result<Explanation> {
        let mut scorer = self.scorer(segment, 1.0)?;
        let fits = scorer.doc() == doc || scorer.doc() < doc && scorer.seek(doc) == doc;
        Ok(Explanation::new("words of an automaton", if fits { scorer.score() } else { 0.0 }))
    }
}

/// Entries in a list.
struct ListDocSet {
    /// Different, in their order.
    entries: Vec<DocId>,
    at: usize,
}

impl DocSet for ListDocSet {
    fn advance(&mut self) -> DocId {
        self.at = (self.at + 1).min(self.entries.len());
        self.doc()
    }

    fn seek(&mut self, target: DocId) -> DocId {
        self.at += self.entries[self.at..].partition_point(|doc| *doc < target);
        self.doc()
    }

    fn doc(&self) -> DocId {
        self.entries.get(self.at).copied().unwrap_or(TERMINATED)
    }

    fn size_hint(&self) -> u32 {
        self.entries.len() as u32
    }
}

impl<A> WordQuery<A> {
    pub(super) fn new(field: Field, words: A) -> Self {
        Self { field, words }
    }
}

/// Accepts words with a beginning until time is up. The state is how much of it has been read; `None` after another
/// byte.
#[derive(Clone, Debug)]
pub(super) struct Beginning {
    text: Arc<[u8]>,
    clock: Clock,
}

impl Beginning {
    pub(super) fn new(text: &str, clock: Clock) -> Self {
        Self { text: text.as_bytes().into(), clock }
    }
}

impl Automaton for Beginning {
    type State = Option<usize>;

    fn start(&self) -> Self::State {
        Some(0)
    }

    fn is_match(&self, state: &Self::State) -> bool {
        *state == Some(self.text.len())
    }

    fn can_match(&self, state: &Self::State) -> bool {
        state.is_some() && !self.clock.is_over()
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        let read = (*state)?;
        match self.text.get(read) {
            Some(next) => (*next == byte).then_some(read + 1),
            None => Some(read),
        }
    }
}

/// Accepts words with an ending until time is up. The state is the number of bytes of the ending that match the end of
/// what was read.
#[derive(Clone, Debug)]
pub(super) struct Ending {
    text: Arc<[u8]>,
    clock: Clock,
}

impl Ending {
    pub(super) fn new(text: &str, clock: Clock) -> Self {
        Self { text: text.as_bytes().into(), clock }
    }
}

impl Automaton for Ending {
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn is_match(&self, state: &usize) -> bool {
        *state == self.text.len()
    }

    fn can_match(&self, _: &usize) -> bool {
        !self.clock.is_over()
    }

    fn accept(&self, state: &usize, byte: u8) -> usize {
        let read = &self.text[..*state];
        let longest = (*state + 1).min(self.text.len());
        (0..=longest)
            .rev()
            .find(|length| match self.text[..*length].split_last() {
                Some((last, before)) => *last == byte && read.ends_with(before),
                None => true,
            })
            .unwrap_or(0)
    }
}

/// Accepts words at a small edit distance from another until time is up. They begin with the same letter and have the
/// same digits. Two letters that are swapped count as one difference.
#[derive(Clone)]
pub(super) struct Similar {
    /// Shared, because each of its states takes a kilobyte.
    near: Arc<DfaWrapper>,
    /// First byte of the words.
    first: Option<u8>,
    /// Digits of the words.
    digits: Arc<[u8]>,
    clock: Clock,
}

impl Similar {
    /// # Errors
    /// Those of tantivy.
    pub(super) fn new(word: &str, allowed: u8, clock: Clock) -> Result<Self> {
        // The automaton does not depend on the field.
        let term = Term::from_field_text(Field::from_field_id(0), word);
        let near = FuzzyTermQuery::new(term, allowed, true).automaton()?;
        let (first, digits) = (word.bytes().next(), digits(word).collect::<Vec<u8>>().into());
        Ok(Self { near: Arc::new(near), first, digits, clock })
    }
}

impl fmt::Debug for Similar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Similar").field("first", &self.first).field("digits", &self.digits).finish_non_exhaustive()
    }
}

/// State after some bytes of a word.
#[derive(Clone, Copy)]
pub(super) struct Nearness {
    near: u32,
    is_start: bool,
    /// Number of digits so far.
    digits: usize,
}

impl Automaton for Similar {
    /// `None` if the word is not accepted whatever follows.
    type State = Option<Nearness>;

    fn start(&self) -> Self::State {
        Some(Nearness { near: self.near.start(), is_start: true, digits: 0 })
    }

    fn is_match(&self, state: &Self::State) -> bool {
        state.is_some_and(|state| state.digits == self.digits.len() && self.near.is_match(&state.near))
    }

    fn can_match(&self, state: &Self::State) -> bool {
        state.is_some_and(|state| self.near.can_match(&state.near)) && !self.clock.is_over()
    }

    fn accept(&self, state: &Self::State, byte: u8) -> Self::State {
        let state = (*state)?;
        let begins = !state.is_start || self.first.is_none_or(|first| first == byte);
        let is_digit = byte.is_ascii_digit();
        if !begins || is_digit && self.digits.get(state.digits) != Some(&byte) {
            return None;
        }
        let near = self.near.accept(&state.near, byte);
        Some(Nearness { near, is_start: false, digits: state.digits + usize::from(is_digit) })
    }
}

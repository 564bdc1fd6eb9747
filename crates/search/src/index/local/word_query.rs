//! Queries for all words that an automaton accepts. They are interrupted when time is up, also within one segment.

use std::fmt;
use std::sync::Arc;

use tantivy::query::{AutomatonWeight, DfaWrapper, EnableScoring, FuzzyTermQuery, Query, Weight};
use tantivy::schema::Field;
use tantivy::{Result, Term};
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
        Ok(Box::new(AutomatonWeight::new(self.field, self.words.clone())))
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

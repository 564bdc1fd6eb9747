//! A query for all words that an automaton accepts. It is interrupted when time is up, also within one segment.

use tantivy::query::{AutomatonWeight, DfaWrapper, EnableScoring, FuzzyTermQuery, Query, Weight};
use tantivy::schema::Field;
use tantivy::{Result, Term};
use tantivy_fst::Automaton;

use super::clock::Clock;
use crate::language::similar::digits;

/// A query for words that are similar to another, or begin with it.
#[derive(Clone, Debug)]
pub(super) struct WordQuery {
    term: FuzzyTermQuery,
    field: Field,
    /// First byte of the words.
    first: Option<u8>,
    /// Digits of the words; `None` for any.
    digits: Option<Vec<u8>>,
    clock: Clock,
}

impl WordQuery {
    /// Looks for words with a beginning.
    pub(super) fn beginning(field: Field, text: &str, clock: Clock) -> Self {
        let term = FuzzyTermQuery::new_prefix(Term::from_field_text(field, text), 0, false);
        Self { term, field, first: text.bytes().next(), digits: None, clock }
    }

    /// Looks for words at an edit distance of at most `allowed` letters that begin with the same one and have the same
    /// digits. Two letters that are swapped count as one difference.
    pub(super) fn similar(field: Field, word: &str, allowed: u8, clock: Clock) -> Self {
        let term = FuzzyTermQuery::new(Term::from_field_text(field, word), allowed, true);
        Self { term, field, first: word.bytes().next(), digits: Some(digits(word).collect()), clock }
    }
}

/// A query for words with an ending.
#[derive(Clone, Debug)]
pub(super) struct EndingQuery {
    field: Field,
    ending: Vec<u8>,
    clock: Clock,
}

impl EndingQuery {
    pub(super) fn new(field: Field, ending: &str, clock: Clock) -> Self {
        Self { field, ending: ending.as_bytes().to_vec(), clock }
    }
}

impl Query for EndingQuery {
    fn weight(&self, _: EnableScoring<'_>) -> Result<Box<dyn Weight>> {
        let ending = Ending { ending: self.ending.clone(), clock: self.clock.clone() };
        Ok(Box::new(AutomatonWeight::new(self.field, ending)))
    }
}

/// Accepts words with an ending until time is up. The state is how many bytes of the ending the last bytes are.
struct Ending {
    ending: Vec<u8>,
    clock: Clock,
}

impl Automaton for Ending {
    type State = usize;

    fn start(&self) -> usize {
        0
    }

    fn is_match(&self, state: &usize) -> bool {
        *state == self.ending.len()
    }

    fn can_match(&self, _: &usize) -> bool {
        !self.clock.is_over()
    }

    fn accept(&self, state: &usize, byte: u8) -> usize {
        let read = &self.ending[..*state];
        let longest = (*state + 1).min(self.ending.len());
        (0..=longest)
            .rev()
            .find(|length| match self.ending[..*length].split_last() {
                Some((last, before)) => *last == byte && read.ends_with(before),
                None => true,
            })
            .unwrap_or(0)
    }
}

impl Query for WordQuery {
    fn weight(&self, _: EnableScoring<'_>) -> Result<Box<dyn Weight>> {
        let (digits, clock) = (self.digits.clone(), self.clock.clone());
        let words = Words { accepted: self.term.automaton()?, first: self.first, digits, clock };
        Ok(Box::new(AutomatonWeight::new(self.field, words)))
    }
}

/// Accepts words until time is up.
struct Words {
    accepted: DfaWrapper,
    first: Option<u8>,
    digits: Option<Vec<u8>>,
    clock: Clock,
}

/// State after some bytes of a word; `None` if it is not accepted whatever follows.
#[derive(Clone)]
struct State {
    inner: Option<u32>,
    is_start: bool,
    /// Number of digits so far.
    digits: usize,
}

impl Automaton for Words {
    type State = State;

    fn start(&self) -> State {
        State { inner: Some(self.accepted.start()), is_start: true, digits: 0 }
    }

    fn is_match(&self, state: &State) -> bool {
        let has_all_digits = self.digits.as_ref().is_none_or(|digits| digits.len() == state.digits);
        has_all_digits && state.inner.is_some_and(|inner| self.accepted.is_match(&inner))
    }

    fn can_match(&self, state: &State) -> bool {
        state.inner.is_some_and(|inner| self.accepted.can_match(&inner)) && !self.clock.is_over()
    }

    fn accept(&self, state: &State, byte: u8) -> State {
        let begins = !state.is_start || self.first.is_none_or(|first| first == byte);
        let is_digit = byte.is_ascii_digit();
        let is_other_digit =
            is_digit && self.digits.as_ref().is_some_and(|digits| digits.get(state.digits) != Some(&byte));
        let inner = state.inner.filter(|_| begins && !is_other_digit).map(|inner| self.accepted.accept(&inner, byte));
        State { inner, is_start: false, digits: state.digits + usize::from(is_digit) }
    }
}

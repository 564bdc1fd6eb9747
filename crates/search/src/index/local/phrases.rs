//! Queries for phrases.

use std::sync::Arc;

use tantivy::Term;
use tantivy::query::{EmptyQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};

use super::admitted::AdmittedEntries;
use super::phrase_query::Phrase;
use crate::index::clock::Clock;
use crate::index::ranking::phrase_forms;
use crate::language::stems::Stems;
use crate::query::{Expression, Filter, QueryWord, Sought, ValueCondition};

/// Translates phrases, for one search.
pub(super) struct Phrases<'a> {
    stems: &'a Stems,
    /// The entries with which phrases are compared; none unless the query has a phrase.
    admitted: Arc<AdmittedEntries>,
    clock: Clock,
}

impl<'a> Phrases<'a> {
    pub(super) fn new(stems: &'a Stems, admitted: Arc<AdmittedEntries>, clock: Clock) -> Self {
        Self { stems, admitted, clock }
    }

    /// Returns one query for each form of a phrase, stemmed by the rules of one language after the other. `term` makes
    /// terms of words.
    pub(super) fn of(
        &self,
        words: &[QueryWord],
        gap: u32,
        field: Field,
        term: impl Fn(&str) -> String,
    ) -> Vec<Box<dyn Query>> {
        self.queries(words, gap, field, term, Some(&self.admitted))
    }

    /// Returns one query for each form of a phrase without a gap. It compares hidden entries too.
    pub(super) fn of_all_entries(&self, words: &[QueryWord], field: Field) -> Vec<Box<dyn Query>> {
        self.queries(words, 0, field, str::to_owned, None)
    }

    fn queries(
        &self,
        words: &[QueryWord],
        gap: u32,
        field: Field,
        term: impl Fn(&str) -> String,
        admitted: Option<&Arc<AdmittedEntries>>,
    ) -> Vec<Box<dyn Query>> {
        let phrase = |words: Vec<String>| -> Box<dyn Query> {
            match words.as_slice() {
                [] => Box::new(EmptyQuery),
                [word] => term_query(field, &term(word)),
                words => Box::new(Phrase {
                    field,
                    words: words.iter().map(|word| term(word)).collect(),
                    gap,
                    admitted: admitted.cloned(),
                    clock: self.clock.clone(),
                }),
            }
        };
        phrase_forms(words, self.stems).into_iter().map(phrase).collect()
    }
}

/// Returns whether a query compares texts or values with phrases.
pub(super) fn has_phrase(expression: &Expression) -> bool {
    match expression {
        Expression::All(parts) | Expression::Any(parts) => parts.iter().any(has_phrase),
        Expression::Not(part) => has_phrase(part),
        Expression::Words(_, sought) => matches!(sought, Sought::Phrase { .. }),
        Expression::Filter(Filter::Values(values)) => values.conditions.iter().any(|(_, condition)| match condition {
            ValueCondition::Words(words) => has_phrase(words),
            ValueCondition::Between(_) | ValueCondition::OneOf(_) => false,
        }),
        Expression::Everything | Expression::Filter(_) => false,
    }
}

/// Returns a query for a term in a field.
pub(super) fn term_query(field: Field, word: &str) -> Box<dyn Query> {
    Box::new(TermQuery::new(Term::from_field_text(field, word), IndexRecordOption::WithFreqs))
}

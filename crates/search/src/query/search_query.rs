//! A query as a whole.

use std::collections::HashMap;

use model::{Timestamp, Zone};

use super::expression::{Expression, Filter, Sought, WordField};
use super::filter_values::Reference;
use super::known_columns::KnownColumns;
use super::lex::has_unclosed_phrase;
use super::parse::Parser;
use super::parse_columns::possible_columns;
use super::remark::Remark;
use super::tolerance::Tolerance;
use crate::language::similar;

/// A query, as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// The condition that an entry must fulfil; `None` for a query without words and filters.
    pub expression: Option<Expression>,
    /// Remarks on parts of the query that were ignored, or read differently from what was probably meant.
    pub remarks: Vec<Remark>,
    /// True if the query consists of words and phrases without operators, parentheses and fields, so that names can be
    /// compared with it as well.
    pub is_plain: bool,
}

impl SearchQuery {
    /// Reads a query without columns of libraries, with days in UTC. Words such as "yesterday" depend on `now`.
    pub fn parse(text: &str, now: Timestamp) -> Self {
        Self::parse_with(text, now, &Zone::UTC, &KnownColumns::default())
    }

    /// Reads a query that may name columns of libraries. Days are those of the time zone.
    pub fn parse_with(text: &str, now: Timestamp, zone: &Zone, columns: &KnownColumns) -> Self {
        let mut parser = Parser::new(text, now, zone, columns);
        let expression = parser.parse();
        Self { expression, is_plain: parser.is_plain, remarks: parser.remarks }
    }

    /// Returns the names in a text that may be those of columns, folded; at most six.
    pub fn possible_columns(text: &str) -> Vec<String> {
        possible_columns(text)
    }

    /// Returns a query that finds what this text finds, if it also fulfils a filter.
    pub fn narrowed(text: &str, filter: &str) -> String {
        let query = Self::parse(text, Timestamp::from_micros(0));
        let text = format!("{}{}", text.trim(), if has_unclosed_phrase(text) { "\"" } else { "" });
        let is_alone = query.remarks.is_empty() && !matches!(query.expression, Some(Expression::Any(_)));
        if is_alone { format!("{text} {filter}") } else { format!("({text}) {filter}") }
    }

    /// Returns the names that must be replaced by what they stand for, each once.
    pub fn references(&self) -> Vec<Reference> {
        let mut references: Vec<Reference> = Vec::new();
        self.each(|part, _| {
            if let Expression::Filter(Filter::Reference(reference)) = part
                && !references.contains(reference)
            {
                references.push(reference.clone());
            }
        });
        references
    }

    /// Replaces references by their meanings. A reference without a meaning is fulfilled by no entry.
    pub fn resolve(&mut self, meanings: &HashMap<Reference, Expression>) {
        if let Some(expression) = &mut self.expression {
            expression.resolve(meanings);
        }
    }

    /// Replaces filters for which `meaning` returns another one.
    pub fn replace_filters(&mut self, mut meaning: impl FnMut(&Filter) -> Option<Filter>) {
        if let Some(expression) = &mut self.expression {
            expression.replace_filters(&mut meaning);
        }
    }

    /// Calls `visit` for each part of the query, with false below an odd number of negations.
    pub fn each<'a>(&'a self, mut visit: impl FnMut(&'a Expression, bool)) {
        if let Some(expression) = &self.expression {
            expression.each(&mut visit);
        }
    }

    /// Returns whether this tolerance can find entries that the next stricter one cannot.
    pub fn benefits_from(&self, tolerance: Tolerance) -> bool {
        match tolerance {
            Tolerance::Exact => true,
            Tolerance::Similar => self.sought().iter().any(|(_, sought)| match sought {
                Sought::Word(word) => similar::allowed_difference(&word.folded).is_some(),
                Sought::Prefix(_) | Sought::Phrase { .. } | Sought::Part(_) | Sought::Ending(_) => false,
            }),
            Tolerance::MostWords => {
                let words = self.missing_words();
                tolerance.required_words(words) < words
            }
        }
    }

    /// Returns the number of words of which some may be missing.
    fn missing_words(&self) -> usize {
        match &self.expression {
            Some(Expression::All(parts)) => parts.iter().filter(|part| part.may_be_missing()).count(),
            _ => 0,
        }
    }

    /// Returns what is sought in names and texts, without what is negated.
    pub fn sought(&self) -> Vec<(WordField, &Sought)> {
        let mut found = Vec::new();
        self.each(|part, is_wanted| {
            if let Expression::Words(field, sought) = part
                && is_wanted
            {
                found.push((*field, sought));
            }
        });
        found
    }
}

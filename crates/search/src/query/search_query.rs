//! A query as a whole.

use std::collections::HashMap;

use model::Timestamp;

use super::expression::{Expression, Filter, Reference, Sought, WordField};
use super::parse::Parser;
use super::remark::Remark;
use crate::language::similar;

/// A query, as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// What an entry must fulfil; `None` if nothing is looked for.
    pub expression: Option<Expression>,
    /// What was read otherwise than it may have been meant.
    pub remarks: Vec<Remark>,
}

impl SearchQuery {
    /// Reads a query. Words such as "yesterday" depend on `now`.
    pub fn parse(text: &str, now: Timestamp) -> Self {
        let mut parser = Parser::new(text, now);
        let expression = parser.parse();
        Self { expression, remarks: parser.remarks }
    }

    /// Returns whether the query consists of words and phrases that must all occur, so that names can be compared
    /// with it as well.
    pub fn is_plain(&self) -> bool {
        let is_words = |part: &Expression| {
            matches!(part, Expression::Words(WordField::All, Sought::Word(_) | Sought::Phrase { .. }))
        };
        match &self.expression {
            Some(Expression::All(parts)) => parts.iter().all(is_words),
            Some(part) => is_words(part),
            None => true,
        }
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

    /// Replaces names by what they stand for. Those without a meaning are fulfilled by nothing.
    pub fn resolve(&mut self, meanings: &HashMap<Reference, Expression>) {
        if let Some(expression) = &mut self.expression {
            expression.resolve(meanings);
        }
    }

    /// Calls `visit` for each part of the query, with false for what is negated.
    pub fn each<'a>(&'a self, mut visit: impl FnMut(&'a Expression, bool)) {
        if let Some(expression) = &self.expression {
            expression.each(&mut visit);
        }
    }

    /// Returns whether words are sought to which others are similar.
    pub fn has_similar(&self) -> bool {
        self.sought().iter().any(|(_, sought)| match sought {
            Sought::Word(word) => similar::allowed_difference(&word.folded).is_some(),
            Sought::Prefix(_) | Sought::Phrase { .. } => false,
        })
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

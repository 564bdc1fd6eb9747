//! Reads fields of a query: their values, lists of these, and values in quotation marks.

use std::ops::Range;

use model::Timestamp;

use super::expression::{Expression, Filter, WordField};
use super::fields::{self, Comparison, Field, Property, bounded};
use super::filter_values::Reference;
use super::lex::{Phrase, Token, TokenKind};
use super::parse::{Operator, Parser, any_of, operator_of};
use super::remark::RemarkReason;
use super::{dates, sizes, types};

impl<'a> Parser<'a> {
    /// Reads a field whose name and comparison end where `value` begins, at the end of `range`.
    pub(super) fn field(
        &mut self,
        field: Field,
        comparison: Comparison,
        value: &str,
        range: Range<usize>,
    ) -> Option<Expression> {
        self.is_plain = false;
        if !value.is_empty() {
            return any_of(self.list(field, comparison, value, range.end - value.len()));
        }
        match self.next() {
            Some(Token { kind: TokenKind::Phrase(phrase), range }) => self.quoted(field, comparison, phrase, range),
            Some(Token { kind: TokenKind::Chunk(text), range }) => {
                any_of(self.list(field, comparison, text, range.start))
            }
            Some(Token { kind: TokenKind::Open, .. }) => self.values(field, comparison, range),
            other => {
                // What follows is no value.
                self.at = other.map_or(self.at, |token| token.range.start);
                self.left_out(RemarkReason::NoValue, range)
            }
        }
    }

    /// Returns the field with a name that stands alone, if a comparison follows it, such as "size > 10KB"; with the
    /// comparison and what follows it in its chunk.
    pub(super) fn spaced_field(
        &mut self,
        name: &str,
        range: &Range<usize>,
    ) -> Option<(Field, Comparison, &'a str, Range<usize>)> {
        let Token { kind: TokenKind::Chunk(chunk), range: next } = self.peek()? else { return None };
        let (field, comparison, value) = fields::compared_field(name, chunk, self.columns)?;
        self.at = next.end;
        Some((field, comparison, value, range.start..next.end))
    }

    /// Returns a size with the unit that follows it, such as "1.5 MB".
    fn with_unit(&mut self, size: &str) -> String {
        match self.peek() {
            Some(Token { kind: TokenKind::Chunk(unit), range })
                if size.ends_with(|c: char| c.is_ascii_digit()) && sizes::is_unit(unit) =>
            {
                self.at = range.end;
                format!("{size}{unit}")
            }
            _ => size.to_owned(),
        }
    }

    /// Reads values in parentheses, of which one must fit. `range` is that of the field's name.
    fn values(&mut self, field: Field, comparison: Comparison, range: Range<usize>) -> Option<Expression> {
        let mut parts = Vec::new();
        while let Some(Token { kind, range }) = self.next() {
            match kind {
                TokenKind::Close => return any_of(parts),
                TokenKind::Phrase(phrase) => parts.extend(self.quoted(field, comparison, phrase, range)),
                TokenKind::Chunk(chunk) => match operator_of(chunk) {
                    None => parts.append(&mut self.list(field, comparison, chunk, range.start)),
                    Some(Operator::Or) => {}
                    Some(Operator::And | Operator::Not) => self.remark(RemarkReason::NoValue, range),
                },
                TokenKind::Minus | TokenKind::Open => self.remark(RemarkReason::NoValue, range),
            }
        }
        self.remark(RemarkReason::UnmatchedParenthesis, range);
        any_of(parts)
    }

    /// Reads values between commas, or one value if the field has no lists.
    fn list(&mut self, field: Field, comparison: Comparison, text: &str, start: usize) -> Vec<Expression> {
        let (mut at, mut parts) = (start, Vec::new());
        for value in text.split(|c| c == ',' && field.has_lists()) {
            let range = at..at + value.len();
            at = range.end + 1;
            if !value.is_empty() {
                parts.extend(match field {
                    Field::Words(words) => self.words(value, range, words),
                    Field::Property(property) => self.value(property, comparison, value, range),
                    Field::Column(column) => {
                        let words = self.words(value, range.clone(), WordField::All);
                        self.column(column, comparison, value, words, range)
                    }
                });
            }
        }
        parts
    }

    /// Reads a value in quotation marks.
    fn quoted(
        &mut self,
        field: Field,
        comparison: Comparison,
        phrase: Phrase<'_>,
        range: Range<usize>,
    ) -> Option<Expression> {
        match field {
            Field::Words(words) => self.phrase(phrase, range, words),
            Field::Column(column) => {
                let words = self.phrase(phrase, range.clone(), WordField::All);
                self.column(column, comparison, phrase.text, words, range)
            }
            Field::Property(property) => {
                if !phrase.is_closed {
                    self.remark(RemarkReason::UnclosedPhrase, range.clone());
                }
                self.value(property, comparison, phrase.text, range)
            }
        }
    }

    fn value(
        &mut self,
        property: Property,
        comparison: Comparison,
        value: &str,
        range: Range<usize>,
    ) -> Option<Expression> {
        if !self.limits.take_filter() {
            return self.left_out(RemarkReason::TooMuch, range);
        }
        let (now, zone) = (self.now, self.zone);
        let time = |value| {
            let limits = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
            bounded(value, comparison, limits, |text| dates::period(text, now, zone))
        };
        let filter = match property {
            Property::Type => types::extensions(value).map(Filter::Extension),
            Property::Extension => types::extension(value).map(|extension| Filter::Extension(vec![extension])),
            Property::Reference(kind) => {
                let name = value.trim().to_owned();
                if name.is_empty() {
                    return self.left_out(RemarkReason::NoValue, range);
                }
                if !self.limits.take_reference() {
                    return self.left_out(RemarkReason::TooMuch, range);
                }
                Some(Filter::Reference(Reference { kind, name, range: range.clone() }))
            }
            Property::Size => {
                // The size itself is compared; only an equal one may be rounded.
                let is_exact = comparison != Comparison::Equal;
                let size = |text: &str| {
                    sizes::size(text).map(|size| if is_exact { size.start..size.start.saturating_add(1) } else { size })
                };
                let value = self.with_unit(value);
                bounded(&value, comparison, (0, u64::MAX), size).map(Filter::Size)
            }
            Property::Language => fields::language(value).map(Filter::Language),
            Property::Status => fields::status(value).map(Filter::Status),
            Property::Created => time(value).map(Filter::Created),
            Property::Modified => time(value).map(Filter::Modified),
        };
        match (filter, property) {
            (Some(filter), _) => Some(Expression::Filter(filter)),
            (None, Property::Size) => self.left_out(RemarkReason::NoSize, range),
            (None, Property::Created | Property::Modified) => self.left_out(RemarkReason::NoDate, range),
            (None, _) => self.left_out(RemarkReason::NoValue, range),
        }
    }
}

//! Reads fields of a query that are columns of libraries.

use std::ops::Range;

use model::{MAX_NAME_CHARS, Timestamp, fold};

use super::dates;
use super::expression::{ColumnCondition, Expression, Filter};
use super::fields::{self, Comparison, Field, bounded, possible_column, quoted_column};
use super::lex::{Phrase, Token, TokenKind, token};
use super::parse::{MAX_QUERY_BYTES, Parser};
use super::remark::RemarkReason;
use super::value_keys::{self, number_key};

/// Limit on the names in a query that are looked up as columns.
const MAX_COLUMNS: usize = 6;

impl<'a> Parser<'a> {
    /// Reads the sign behind a phrase that is the name of a column, and moves behind it.
    pub(super) fn quoted_field(
        &mut self,
        name: Phrase<'_>,
        range: &Range<usize>,
    ) -> Option<(Field, Comparison, &'a str, Range<usize>)> {
        let Some(Token { kind: TokenKind::Chunk(chunk), range: next }) = self.peek() else { return None };
        if next.start != range.end || !name.is_closed {
            return None;
        }
        let (field, comparison, value) = quoted_column(name.text, chunk, self.columns)?;
        self.at = next.end;
        Some((field, comparison, value, range.start..next.end))
    }

    /// Reads a condition on a column. `words` is the value as text.
    pub(super) fn column(
        &mut self,
        column: usize,
        comparison: Comparison,
        value: &str,
        words: Option<Expression>,
        range: Range<usize>,
    ) -> Option<Expression> {
        let columns = self.columns;
        let (name, kinds) = columns.at(column);
        let (is_equal, value) = (comparison == Comparison::Equal, value.trim());
        let is_any = is_equal && value == "*";
        let numbers = |text: &str| {
            let key = number_key(value_keys::number(text)?);
            Some(key..key + 1)
        };
        let (now, zone, is_person) = (self.now, self.zone, kinds.people && is_equal && !is_any && !value.is_empty());
        let limits = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
        let times = |text: &str| dates::day_values(text, now, zone);
        let mut condition = ColumnCondition {
            name: name.to_owned(),
            is_any,
            words: words.filter(|_| kinds.texts && is_equal && !is_any).map(Box::new),
            numbers: bounded(value, comparison, (0, u64::MAX), numbers).filter(|_| kinds.numbers),
            times: bounded(value, comparison, limits, times).filter(|_| kinds.dates),
            answer: value_keys::answer(value).filter(|_| kinds.answers && is_equal),
            person: None,
            range: range.clone(),
        };
        if is_person {
            if !self.limits.take_reference() {
                return self.left_out(RemarkReason::TooMuch, range);
            }
            condition.person = Some(value.to_owned());
        }
        let ColumnCondition { words, numbers, times, answer, person, .. } = &condition;
        if !(is_any || words.is_some() || numbers.is_some() || times.is_some() || answer.is_some() || person.is_some())
        {
            let only_dates = kinds.dates && !kinds.numbers && !kinds.texts && !kinds.people && !kinds.answers;
            let reason = if only_dates { RemarkReason::NoDate } else { RemarkReason::NoValue };
            return self.left_out(reason, range);
        }
        if !self.limits.take_filter() {
            return self.left_out(RemarkReason::TooMuch, range);
        }
        Some(Expression::Filter(Filter::Column(condition)))
    }
}

/// Returns the names before signs such as ":" that may be those of columns, folded and each once.
pub(super) fn possible_columns(query: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let (mut phrase, mut word): (Option<(&str, usize)>, Option<&str>) = (None, None);
    let kept = &query[..query.floor_char_boundary(MAX_QUERY_BYTES)];
    let mut at = 0;
    while let Some(Token { kind, range }) = token(kept, at) {
        at = range.end;
        let before = phrase.take().filter(|(_, end)| *end == range.start).map(|(name, _)| name);
        let word_before = word.take();
        let name = match kind {
            TokenKind::Chunk(chunk) => match before {
                Some(name) if chunk.starts_with(fields::SIGNS) => Some(name),
                // A comparison may stand between spaces.
                _ if chunk.starts_with(fields::COMPARISONS) => word_before,
                _ => {
                    word = Some(chunk);
                    possible_column(chunk)
                }
            },
            TokenKind::Phrase(name) => {
                phrase = name.is_closed.then_some((name.text, range.end));
                None
            }
            TokenKind::Open | TokenKind::Close | TokenKind::Minus => None,
        };
        let name =
            name.map(|name| fold(name.trim())).filter(|name| (1..=MAX_NAME_CHARS).contains(&name.chars().count()));
        if let Some(name) = name.filter(|name| !names.contains(name)) {
            names.push(name);
        }
        if names.len() == MAX_COLUMNS {
            break;
        }
    }
    names
}

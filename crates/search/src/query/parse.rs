//! Reads a query. Nothing is refused: what cannot be read as an operator or a filter is read as words or left out, with
//! a remark.
//!
//! ```text
//! any    = all { ("OR" | "ODER" | "|") all }
//! all    = item { ["AND" | "UND" | "&"] item }
//! item   = ("NOT" | "NICHT" | "-") item | "(" any ")" | field | phrase | word
//! word   = chars ["*"] | "*" chars | "*" chars "*" | "*"
//! phrase = '"' text '"' ["~" number]
//! field  = name (":" | "=" | "<" | "<=" | ">" | ">=") (value | "(" value { ["," | "OR" | "ODER"] value } ")")
//! name   = a field of this crate | column | '"' column '"'
//! value  = text | phrase | value ".." value | value ".." | ".." value
//! ```

use std::ops::Range;

use model::{Timestamp, fold};

use super::expression::{Expression, Filter, Reference, Sought, WordField};
use super::fields::{self, Comparison, Field, Property, bounded, split_field};
use super::known_columns::KnownColumns;
use super::lex::{Phrase, Token, TokenKind, token};
use super::query_word::QueryWord;
use super::remark::{Remark, RemarkReason};
use super::{dates, sizes, types};
use crate::language::words::Words;

/// Limit on the bytes of a query that are read.
pub(super) const MAX_QUERY_BYTES: usize = 16 << 10;
/// Limit on the words of a query. Further ones are left out.
pub(super) const MAX_WORDS: usize = 32;
/// Limit on the filters of a query. Further ones are left out.
const MAX_FILTERS: usize = 32;
/// Limit on the names of people and places in a query, each of which is looked up. Further ones are left out.
const MAX_REFERENCES: usize = 6;
/// Limit on the beginnings of words in a query, each of which may stand for many words. Further ones are left out.
const MAX_PREFIXES: usize = 6;
/// Limit on parentheses within parentheses.
const MAX_NESTING: usize = 50;
/// Fewest letters before an asterisk.
const MIN_PREFIX: usize = 3;

pub(super) struct Parser<'a> {
    query: &'a str,
    pub(super) at: usize,
    pub(super) now: Timestamp,
    /// The columns that the caller knows.
    pub(super) columns: &'a KnownColumns,
    words_left: usize,
    pub(super) filters_left: usize,
    pub(super) references_left: usize,
    prefixes_left: usize,
    /// True if the query consists of words and phrases without operators, parentheses and fields.
    pub is_plain: bool,
    pub remarks: Vec<Remark>,
}

enum Operator {
    And,
    Or,
    Not,
}

impl<'a> Parser<'a> {
    pub(super) fn new(query: &'a str, now: Timestamp, columns: &'a KnownColumns) -> Self {
        let kept = &query[..query.floor_char_boundary(MAX_QUERY_BYTES)];
        let mut parser = Self {
            query: kept,
            at: 0,
            now,
            columns,
            words_left: MAX_WORDS,
            filters_left: MAX_FILTERS,
            references_left: MAX_REFERENCES,
            prefixes_left: MAX_PREFIXES,
            is_plain: true,
            remarks: Vec::new(),
        };
        if kept.len() < query.len() {
            parser.remark(RemarkReason::TooMuch, kept.len()..kept.len());
        }
        parser
    }

    /// Reads the whole query; `None` if there is nothing to look for.
    pub(super) fn parse(&mut self) -> Option<Expression> {
        let mut parts = Vec::new();
        loop {
            parts.extend(self.any(0));
            // What is left begins with a parenthesis that closes nothing.
            match self.next() {
                Some(token) => self.remark(RemarkReason::UnmatchedParenthesis, token.range),
                None => break,
            }
        }
        all_of(parts).or_else(|| self.only_words())
    }

    /// Reads a query of operators as words, such as "OR".
    fn only_words(&mut self) -> Option<Expression> {
        let is_operators = self.remarks.iter().any(|remark| remark.reason == RemarkReason::LoneOperator);
        is_operators.then(|| self.words(self.query, 0..self.query.len(), WordField::All)).flatten()
    }

    fn any(&mut self, depth: usize) -> Option<Expression> {
        let mut parts = Vec::new();
        parts.extend(self.all(depth));
        while let Some((Operator::Or, operator)) = self.operator() {
            (self.at, self.is_plain) = (operator.end, false);
            match self.all(depth) {
                Some(part) if !parts.is_empty() => parts.push(part),
                part => {
                    self.remark(RemarkReason::LoneOperator, operator);
                    parts.extend(part);
                }
            }
        }
        any_of(parts)
    }

    fn all(&mut self, depth: usize) -> Option<Expression> {
        let mut parts: Vec<Expression> = Vec::new();
        loop {
            let operator = self.operator();
            match operator {
                Some((Operator::Or, _)) => break,
                Some((Operator::And, range)) => {
                    (self.at, self.is_plain) = (range.end, false);
                    match (parts.is_empty(), self.item(depth)) {
                        (false, Some(part)) => parts.push(part),
                        (_, part) => {
                            self.remark(RemarkReason::LoneOperator, range);
                            parts.extend(part);
                        }
                    }
                }
                _ => match self.peek() {
                    None | Some(Token { kind: TokenKind::Close, .. }) => break,
                    Some(_) => parts.extend(self.item(depth)),
                },
            }
        }
        all_of(parts)
    }

    /// Reads an item. Moves on in any case, unless there is none before the end of the group.
    fn item(&mut self, depth: usize) -> Option<Expression> {
        let is_operator = matches!(self.operator(), Some((Operator::Not, _)));
        let Token { kind, range } = self.peek()?;
        let is_not = is_operator || kind == TokenKind::Minus;
        match kind {
            TokenKind::Close => return None,
            TokenKind::Open => self.is_plain = false,
            _ => self.is_plain &= !is_not,
        }
        self.at = range.end;
        if matches!(operator_in(kind), Some(Operator::And | Operator::Or)) {
            return self.left_out(RemarkReason::LoneOperator, range);
        }
        if (is_not || kind == TokenKind::Open) && depth >= MAX_NESTING {
            self.at = self.query.len();
            return self.left_out(RemarkReason::TooMuch, range);
        }
        if is_not {
            return match self.item(depth + 1) {
                Some(Expression::Not(part)) => Some(*part),
                Some(part) => Some(Expression::Not(Box::new(part))),
                None => self.left_out(RemarkReason::LoneOperator, range),
            };
        }
        match kind {
            TokenKind::Close | TokenKind::Minus => None,
            TokenKind::Open => {
                let inner = self.any(depth + 1);
                match self.peek() {
                    Some(Token { kind: TokenKind::Close, range }) => self.at = range.end,
                    _ => self.remark(RemarkReason::UnmatchedParenthesis, range),
                }
                inner
            }
            TokenKind::Phrase(phrase) => match self.quoted_field(phrase, &range) {
                Some((field, comparison, value, range)) => self.field(field, comparison, value, range),
                None => self.phrase(phrase, range, WordField::All),
            },
            TokenKind::Chunk(chunk) => match split_field(chunk, self.columns) {
                Some((field, comparison, value)) => self.field(field, comparison, value, range),
                None => self.words(chunk, range, WordField::All),
            },
        }
    }

    /// Reads a field whose name and comparison end where `value` begins, at the end of `range`.
    fn field(&mut self, field: Field, comparison: Comparison, value: &str, range: Range<usize>) -> Option<Expression> {
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
        let Some(left) = self.filters_left.checked_sub(1) else {
            return self.left_out(RemarkReason::TooMuch, range);
        };
        self.filters_left = left;
        let now = self.now;
        let time = |value| {
            let limits = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
            bounded(value, comparison, limits, |text| dates::period(text, now))
        };
        let filter = match property {
            Property::Type => types::extensions(value).map(Filter::Extension),
            Property::Extension => types::extension(value).map(|extension| Filter::Extension(vec![extension])),
            Property::Reference(kind) => {
                let name = value.trim().to_owned();
                if name.is_empty() {
                    return self.left_out(RemarkReason::NoValue, range);
                }
                let Some(left) = self.references_left.checked_sub(1) else {
                    return self.left_out(RemarkReason::TooMuch, range);
                };
                self.references_left = left;
                Some(Filter::Reference(Reference { kind, name, range: range.clone() }))
            }
            Property::Size => {
                // The size itself is compared; only an equal one may be rounded.
                let is_exact = comparison != Comparison::Equal;
                let size = |text: &str| {
                    sizes::size(text).map(|size| if is_exact { size.start..size.start.saturating_add(1) } else { size })
                };
                bounded(value, comparison, (0, u64::MAX), size).map(Filter::Size)
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

    /// Reads a word. Words that are joined by other characters such as "RE-2026-0815" are a phrase.
    fn words(&mut self, text: &str, range: Range<usize>, field: WordField) -> Option<Expression> {
        self.is_plain &= !text.contains('*');
        if let Some(inner) = text.strip_prefix('*')
            && let Some(part) = self.part(inner, field)
        {
            return Some(part);
        }
        let before = text.trim_end_matches('*');
        if before.is_empty() {
            return (field == WordField::All && text == "*").then_some(Expression::Everything);
        }
        let mut words = self.words_of(before, &range);
        if before.contains('*') {
            self.remark(RemarkReason::ShortPrefix, range.clone());
        }
        let mut prefix = None;
        if before.len() < text.len() {
            match words.pop() {
                Some(last) if last.folded.chars().count() >= MIN_PREFIX && before.ends_with(char::is_alphanumeric) => {
                    match self.prefixes_left.checked_sub(1) {
                        Some(left) => {
                            self.prefixes_left = left;
                            prefix = Some(Expression::Words(field, Sought::Prefix(last)));
                        }
                        None => self.remark(RemarkReason::TooMuch, range),
                    }
                }
                last => {
                    words.extend(last);
                    self.remark(RemarkReason::ShortPrefix, range);
                }
            }
        }
        all_of(sought(words, 0).map(|sought| Expression::Words(field, sought)).into_iter().chain(prefix).collect())
    }

    /// Reads the rest of a word with an asterisk before it, which is sought in names: any part of them before another
    /// asterisk, else the end of a word. Returns `None` if it is too short, or of several words.
    fn part(&mut self, rest: &str, field: WordField) -> Option<Expression> {
        let part = rest.trim_end_matches('*');
        let is_long = part.chars().filter(|c| c.is_alphanumeric()).count() >= MIN_PREFIX;
        if !matches!(field, WordField::All | WordField::Name) || !is_long || part.contains('*') {
            return None;
        }
        let sought = if part.len() < rest.len() {
            Sought::Part(fold(part))
        } else {
            let mut words = Words::of(part);
            let word = words.next()?;
            if words.next().is_some() || !part.ends_with(char::is_alphanumeric) {
                return None;
            }
            Sought::Ending(QueryWord::of(&part[word.start..word.end], word.folded))
        };
        self.prefixes_left = self.prefixes_left.checked_sub(1)?;
        Some(Expression::Words(WordField::Name, sought))
    }

    fn phrase(&mut self, phrase: Phrase<'_>, range: Range<usize>, field: WordField) -> Option<Expression> {
        if !phrase.is_closed {
            self.remark(RemarkReason::UnclosedPhrase, range.clone());
        }
        let words = self.words_of(phrase.text, &range);
        sought(words, phrase.gap).map(|sought| Expression::Words(field, sought))
    }

    /// Returns the words of a text, within the limit.
    fn words_of(&mut self, text: &str, range: &Range<usize>) -> Vec<QueryWord> {
        let mut words = Vec::new();
        for word in Words::of(text) {
            let Some(left) = self.words_left.checked_sub(1) else {
                self.remark(RemarkReason::TooMuch, range.clone());
                break;
            };
            self.words_left = left;
            words.push(QueryWord::of(&text[word.start..word.end], word.folded));
        }
        words
    }

    /// Remarks on a part that is left out.
    pub(super) fn left_out(&mut self, reason: RemarkReason, range: Range<usize>) -> Option<Expression> {
        self.remark(reason, range);
        None
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        token(self.query, self.at)
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let token = self.peek()?;
        self.at = token.range.end;
        Some(token)
    }

    /// Returns the operator that comes next, if one does.
    fn operator(&self) -> Option<(Operator, Range<usize>)> {
        match self.peek()? {
            Token { kind: TokenKind::Chunk(chunk), range } => operator_of(chunk).map(|operator| (operator, range)),
            _ => None,
        }
    }

    fn remark(&mut self, reason: RemarkReason, range: Range<usize>) {
        Remark::add(&mut self.remarks, reason, self.query, range);
    }
}

/// Returns whether a token is an operator such as AND.
pub(super) fn is_operator(kind: TokenKind<'_>) -> bool {
    operator_in(kind).is_some()
}

fn operator_in(kind: TokenKind<'_>) -> Option<Operator> {
    if let TokenKind::Chunk(chunk) = kind { operator_of(chunk) } else { None }
}

fn operator_of(chunk: &str) -> Option<Operator> {
    match chunk {
        "AND" | "UND" | "&" | "&&" => Some(Operator::And),
        "OR" | "ODER" | "|" | "||" => Some(Operator::Or),
        "NOT" | "NICHT" => Some(Operator::Not),
        _ => None,
    }
}

fn sought(mut words: Vec<QueryWord>, gap: u32) -> Option<Sought> {
    if words.len() > 1 {
        return Some(Sought::Phrase { words, gap });
    }
    words.pop().map(Sought::Word)
}

/// Returns an expression that all parts must fulfil, each once.
fn all_of(parts: Vec<Expression>) -> Option<Expression> {
    let mut different: Vec<Expression> = Vec::with_capacity(parts.len());
    for part in parts {
        if !different.contains(&part) {
            different.push(part);
        }
    }
    if different.len() > 1 { Some(Expression::All(different)) } else { different.pop() }
}

fn any_of(mut parts: Vec<Expression>) -> Option<Expression> {
    if parts.len() > 1 { Some(Expression::Any(parts)) } else { parts.pop() }
}

//! Reads a query. Nothing is refused: what cannot be read as an operator or a filter is read as words or left out, with
//! a remark.
//!
//! ```text
//! any    = all { ("OR" | "ODER" | "|") all }
//! all    = item { ["AND" | "UND" | "&"] item }
//! item   = ("NOT" | "NICHT" | "-") item | "(" any ")" | field | phrase | word | word "*" | "*"
//! phrase = '"' text '"' ["~" number]
//! field  = name (":" | "=" | "<" | "<=" | ">" | ">=") value | name ":" "(" value { ["," | "OR"] value } ")"
//! value  = text | phrase | value ".." value | value ".." | ".." value
//! ```

use std::ops::Range;

use model::Timestamp;

use super::expression::{Expression, Filter, QueryWord, Reference, ReferenceKind, Sought, WordField};
use super::lex::{Token, TokenKind, token};
use super::remark::{Remark, RemarkReason};
use super::{dates, sizes, types};
use crate::language::words::Words;

/// Limit on the bytes of a query that are read.
pub const MAX_QUERY_BYTES: usize = 16 << 10;
/// Limit on the words of a query. Further ones are left out.
pub const MAX_WORDS: usize = 32;
/// Limit on the filters of a query. Further ones are left out.
const MAX_FILTERS: usize = 32;
/// Limit on parentheses within parentheses.
const MAX_NESTING: usize = 50;
/// Limit on remarks.
const MAX_REMARKS: usize = 10;
/// Limit on the characters that a remark repeats.
const MAX_REMARK_CHARS: usize = 60;
/// Fewest letters before an asterisk.
const MIN_PREFIX: usize = 3;

pub(super) struct Parser<'a> {
    query: &'a str,
    at: usize,
    now: Timestamp,
    words_left: usize,
    filters_left: usize,
    pub remarks: Vec<Remark>,
}

/// A field of a query.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Field {
    Words(WordField),
    Type,
    Reference(ReferenceKind),
    Size,
    Created,
    Modified,
}

/// Comparison of a field with a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Comparison {
    Equal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

enum Operator {
    And,
    Or,
    Not,
}

impl<'a> Parser<'a> {
    pub(super) fn new(query: &'a str, now: Timestamp) -> Self {
        let kept = &query[..query.floor_char_boundary(MAX_QUERY_BYTES)];
        let (words_left, filters_left) = (MAX_WORDS, MAX_FILTERS);
        let mut parser = Self { query: kept, at: 0, now, words_left, filters_left, remarks: Vec::new() };
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
        is_operators.then(|| self.words(self.query, 0, WordField::All)).flatten()
    }

    fn any(&mut self, depth: usize) -> Option<Expression> {
        let mut parts = Vec::new();
        parts.extend(self.all(depth));
        while let Some((Operator::Or, operator)) = self.operator() {
            self.at = operator.end;
            match self.all(depth) {
                Some(part) if !parts.is_empty() => parts.push(part),
                part => {
                    self.remark(RemarkReason::LoneOperator, operator);
                    parts.extend(part);
                }
            }
        }
        if parts.len() > 1 { Some(Expression::Any(parts)) } else { parts.pop() }
    }

    fn all(&mut self, depth: usize) -> Option<Expression> {
        let mut parts: Vec<Expression> = Vec::new();
        loop {
            let operator = self.operator();
            match operator {
                Some((Operator::Or, _)) => break,
                Some((Operator::And, range)) => {
                    self.at = range.end;
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
        if let Some((Operator::Not, range)) = self.operator() {
            self.at = range.end;
            if depth >= MAX_NESTING {
                return self.give_up(range);
            }
            let Some(part) = self.item(depth + 1) else {
                self.remark(RemarkReason::LoneOperator, range);
                return None;
            };
            return Some(Expression::Not(Box::new(part)));
        }
        let Token { kind, range } = self.peek()?;
        match kind {
            TokenKind::Close => None,
            TokenKind::Minus => {
                self.at = range.end;
                if depth >= MAX_NESTING {
                    return self.give_up(range);
                }
                Some(Expression::Not(Box::new(self.item(depth + 1)?)))
            }
            TokenKind::Open => {
                self.at = range.end;
                if depth >= MAX_NESTING {
                    return self.give_up(range);
                }
                let inner = self.any(depth + 1);
                match self.peek() {
                    Some(Token { kind: TokenKind::Close, range }) => self.at = range.end,
                    _ => self.remark(RemarkReason::UnmatchedParenthesis, range),
                }
                inner
            }
            TokenKind::Phrase { text, gap, is_closed } => {
                self.at = range.end;
                if !is_closed {
                    self.remark(RemarkReason::UnclosedPhrase, range);
                }
                self.phrase(text, gap, WordField::All)
            }
            TokenKind::Chunk(chunk) => {
                self.at = range.end;
                match field(chunk) {
                    Some((field, comparison, value)) => self.field(field, comparison, value, range),
                    None => self.words(chunk, range.start, WordField::All),
                }
            }
        }
    }

    fn field(
        &mut self,
        field: Field,
        comparison: Comparison,
        value: &'a str,
        range: Range<usize>,
    ) -> Option<Expression> {
        if !value.is_empty() {
            let values: Vec<&str> = if field == Field::Type { value.split(',').collect() } else { vec![value] };
            let parts = values.into_iter().filter_map(|value| self.value(field, comparison, value, range.clone()));
            return any_of(parts.collect());
        }
        match self.next() {
            Some(Token { kind: TokenKind::Phrase { text, gap, .. }, range: value }) => {
                let range = range.start..value.end;
                match field {
                    Field::Words(words) => self.phrase(text, gap, words),
                    _ => self.value(field, comparison, text, range),
                }
            }
            Some(Token { kind: TokenKind::Chunk(text), range: value }) => {
                self.value(field, comparison, text, range.start..value.end)
            }
            Some(Token { kind: TokenKind::Open, .. }) => self.values(field, comparison, range.start),
            other => {
                // What follows is no value.
                self.at = other.map_or(self.at, |token| token.range.start);
                self.remark(RemarkReason::NoValue, range);
                None
            }
        }
    }

    /// Reads values in parentheses, of which one must fit.
    fn values(&mut self, field: Field, comparison: Comparison, start: usize) -> Option<Expression> {
        let mut parts = Vec::new();
        while let Some(Token { kind, range }) = self.next() {
            let range = start..range.end;
            match kind {
                TokenKind::Close => return any_of(parts),
                TokenKind::Phrase { text, gap, .. } => parts.extend(match field {
                    Field::Words(words) => self.phrase(text, gap, words),
                    _ => self.value(field, comparison, text, range),
                }),
                TokenKind::Chunk(chunk) if operator_of(chunk).is_none() => {
                    for value in chunk.split(',').filter(|value| !value.is_empty()) {
                        parts.extend(self.value(field, comparison, value, range.clone()));
                    }
                }
                TokenKind::Chunk(_) | TokenKind::Minus | TokenKind::Open => {}
            }
        }
        self.remark(RemarkReason::UnmatchedParenthesis, start..self.at);
        any_of(parts)
    }

    fn value(&mut self, field: Field, comparison: Comparison, value: &str, range: Range<usize>) -> Option<Expression> {
        if let Field::Words(words) = field {
            return self.words(value, range.start, words);
        }
        let Some(left) = self.filters_left.checked_sub(1) else {
            self.remark(RemarkReason::TooMuch, range);
            return None;
        };
        self.filters_left = left;
        let now = self.now;
        let filter = match field {
            Field::Type => {
                let folded = Words::of(value).map(|word| word.folded).collect::<Vec<_>>().join(" ");
                if folded.is_empty() {
                    self.remark(RemarkReason::NoValue, range);
                    return None;
                }
                Filter::Extension(types::extensions(&folded))
            }
            Field::Reference(kind) => {
                let name = value.trim().to_owned();
                if name.is_empty() {
                    self.remark(RemarkReason::NoValue, range);
                    return None;
                }
                Filter::Reference(Reference { kind, name })
            }
            Field::Size => match bounded(value, comparison, 0, u64::MAX, sizes::size) {
                Some(sizes) => Filter::Size(sizes),
                None => return self.unreadable(RemarkReason::NoSize, range),
            },
            Field::Created | Field::Modified => {
                let (first, last) = (Timestamp::from_micros(i64::MIN), Timestamp::from_micros(i64::MAX));
                match bounded(value, comparison, first, last, |text| dates::period(text, now)) {
                    Some(time) if field == Field::Created => Filter::Created(time),
                    Some(time) => Filter::Modified(time),
                    None => return self.unreadable(RemarkReason::NoDate, range),
                }
            }
            Field::Words(_) => return None,
        };
        Some(Expression::Filter(filter))
    }

    fn unreadable(&mut self, reason: RemarkReason, range: Range<usize>) -> Option<Expression> {
        self.remark(reason, range);
        None
    }

    /// Reads a word. Words that are joined by other characters such as "RE-2026-0815" are a phrase.
    fn words(&mut self, text: &str, start: usize, field: WordField) -> Option<Expression> {
        let before = text.trim_end_matches('*');
        if before.is_empty() {
            return (field == WordField::All && text == "*").then_some(Expression::Everything);
        }
        let mut words = self.take(before, start);
        let range = start..(start + text.len()).min(self.query.len());
        if before.contains('*') {
            self.remark(RemarkReason::ShortPrefix, range.clone());
        }
        let mut prefix = None;
        if before.len() < text.len() {
            match words.pop() {
                Some(last) if last.folded.chars().count() >= MIN_PREFIX && before.ends_with(char::is_alphanumeric) => {
                    prefix = Some(Expression::Words(field, Sought::Prefix(last.folded)));
                }
                last => {
                    words.extend(last);
                    self.remark(RemarkReason::ShortPrefix, range);
                }
            }
        }
        all_of(sought(words, 0).map(|sought| Expression::Words(field, sought)).into_iter().chain(prefix).collect())
    }

    fn phrase(&mut self, text: &str, gap: u32, field: WordField) -> Option<Expression> {
        let words = self.take(text, self.at);
        sought(words, gap).map(|sought| Expression::Words(field, sought))
    }

    /// Returns the words of a text, within the limit.
    fn take(&mut self, text: &str, at: usize) -> Vec<QueryWord> {
        let words: Vec<QueryWord> =
            Words::of(text).take(self.words_left + 1).map(|word| QueryWord::of(&text[word.start..word.end])).collect();
        let taken = words.len().min(self.words_left);
        if taken < words.len() {
            self.remark(RemarkReason::TooMuch, at.min(self.query.len())..self.query.len());
        }
        self.words_left -= taken;
        words.into_iter().take(taken).collect()
    }

    fn give_up(&mut self, range: Range<usize>) -> Option<Expression> {
        self.remark(RemarkReason::TooMuch, range);
        self.at = self.query.len();
        None
    }

    fn peek(&self) -> Option<Token<'a>> {
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
        if self.remarks.len() >= MAX_REMARKS {
            return;
        }
        let text = self.query[range.clone()].chars().take(MAX_REMARK_CHARS).collect();
        self.remarks.push(Remark { range, reason, text });
    }
}

impl QueryWord {
    /// Returns the words of a text.
    pub fn all_of(text: &str) -> Vec<Self> {
        Words::of(text).map(|word| Self::of(&text[word.start..word.end])).collect()
    }

    fn of(original: &str) -> Self {
        let fold = |text: &str| Words::of(text).next().map(|word| word.folded).unwrap_or_default();
        let folded = fold(original);
        let umlauts = [("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "ae"), ("Ö", "oe"), ("Ü", "ue")];
        let written_out = umlauts.iter().fold(original.to_owned(), |text, (umlaut, out)| text.replace(umlaut, out));
        let shortened = folded.replace("ae", "a").replace("oe", "o").replace("ue", "u");
        let mut others = vec![fold(&written_out), shortened];
        others.dedup();
        others.retain(|other| *other != folded);
        Self { folded, others }
    }
}

fn operator_of(chunk: &str) -> Option<Operator> {
    match chunk {
        "AND" | "UND" | "&" | "&&" => Some(Operator::And),
        "OR" | "ODER" | "|" | "||" => Some(Operator::Or),
        "NOT" | "NICHT" => Some(Operator::Not),
        _ => None,
    }
}

/// Splits a chunk into a field, a comparison and a value; `None` if it does not begin with the name of a field.
fn field(chunk: &str) -> Option<(Field, Comparison, &str)> {
    let end = chunk.find([':', '=', '<', '>'])?;
    let field = field_of(&Words::of(&chunk[..end]).map(|word| word.folded).collect::<Vec<_>>().join(" "))?;
    let mut value = &chunk[end..];
    value = value.strip_prefix(':').unwrap_or(value);
    let comparisons = [
        ("<=", Comparison::LessOrEqual),
        (">=", Comparison::GreaterOrEqual),
        ("<", Comparison::Less),
        (">", Comparison::Greater),
        ("=", Comparison::Equal),
    ];
    for (sign, comparison) in comparisons {
        if let Some(rest) = value.strip_prefix(sign) {
            return Some((field, comparison, rest));
        }
    }
    Some((field, Comparison::Equal, value))
}

/// Returns the field with a name in English or German, folded.
fn field_of(name: &str) -> Option<Field> {
    Some(match name {
        "name" => Field::Words(WordField::Name),
        "title" | "titel" => Field::Words(WordField::Title),
        "text" => Field::Words(WordField::All),
        "type" | "typ" | "ext" | "extension" | "filetype" => Field::Type,
        "author" | "autor" | "verfasser" => Field::Reference(ReferenceKind::Author),
        "editor" | "bearbeiter" => Field::Reference(ReferenceKind::Editor),
        "site" | "website" => Field::Reference(ReferenceKind::Site),
        "library" | "bibliothek" => Field::Reference(ReferenceKind::Library),
        "in" | "folder" | "ordner" => Field::Reference(ReferenceKind::Container),
        "size" | "grosse" | "groesse" => Field::Size,
        "created" | "erstellt" => Field::Created,
        "modified" | "changed" | "geandert" | "geaendert" => Field::Modified,
        _ => return None,
    })
}

/// Reads a value, or a range of values, with a comparison. Returns from the first that fits to the first that does not.
fn bounded<T: Copy + PartialOrd>(
    value: &str,
    comparison: Comparison,
    first: T,
    last: T,
    read: impl Fn(&str) -> Option<Range<T>>,
) -> Option<Range<T>> {
    if let Some((from, to)) = value.split_once("..") {
        let from = if from.is_empty() { first } else { read(from)?.start };
        let to = if to.is_empty() { last } else { read(to)?.end };
        return Some(from..to);
    }
    let value = read(value)?;
    Some(match comparison {
        Comparison::Equal => value,
        Comparison::Less => first..value.start,
        Comparison::LessOrEqual => first..value.end,
        Comparison::Greater => value.end..last,
        Comparison::GreaterOrEqual => value.start..last,
    })
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

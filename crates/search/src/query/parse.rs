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

use model::{Timestamp, Zone};

use super::expression::{Expression, WordField};
use super::fields::{split_field, unknown_field};
use super::known_columns::KnownColumns;
use super::lex::{Token, TokenKind, token};
use super::limits::Limits;
use super::remark::{Remark, RemarkReason};

/// Limit on the bytes of a query that are read.
pub(super) const MAX_QUERY_BYTES: usize = 16 << 10;
/// Limit on parentheses within parentheses.
const MAX_NESTING: usize = 50;
pub(super) struct Parser<'a> {
    query: &'a str,
    pub(super) at: usize,
    pub(super) now: Timestamp,
    /// Time zone of the caller.
    pub(super) zone: &'a Zone,
    /// The columns that the caller knows.
    pub(super) columns: &'a KnownColumns,
    pub(super) limits: Limits,
    /// True if the query consists of words and phrases without operators, parentheses and fields.
    pub is_plain: bool,
    pub remarks: Vec<Remark>,
}

pub(super) enum Operator {
    And,
    Or,
    Not,
}

impl<'a> Parser<'a> {
    pub(super) fn new(query: &'a str, now: Timestamp, zone: &'a Zone, columns: &'a KnownColumns) -> Self {
        let kept = &query[..query.floor_char_boundary(MAX_QUERY_BYTES)];
        let mut parser = Self {
            query: kept,
            at: 0,
            now,
            zone,
            columns,
            limits: Limits::default(),
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
                None => match self.spaced_field(chunk, &range) {
                    Some((field, comparison, value, range)) => self.field(field, comparison, value, range),
                    None => {
                        if let Some(name) = unknown_field(chunk) {
                            self.remark(RemarkReason::UnknownFilter, range.start..range.start + name.len());
                        }
                        self.words(chunk, range, WordField::All)
                    }
                },
            },
        }
    }

    /// Remarks on a part that is left out.
    pub(super) fn left_out(&mut self, reason: RemarkReason, range: Range<usize>) -> Option<Expression> {
        self.remark(reason, range);
        None
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        token(self.query, self.at)
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
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

    pub(super) fn remark(&mut self, reason: RemarkReason, range: Range<usize>) {
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

pub(super) fn operator_of(chunk: &str) -> Option<Operator> {
    match chunk {
        "AND" | "UND" | "&" | "&&" => Some(Operator::And),
        "OR" | "ODER" | "|" | "||" => Some(Operator::Or),
        "NOT" | "NICHT" => Some(Operator::Not),
        _ => None,
    }
}

/// Returns an expression that all parts must fulfil, each once.
pub(super) fn all_of(parts: Vec<Expression>) -> Option<Expression> {
    let mut different: Vec<Expression> = Vec::with_capacity(parts.len());
    for part in parts {
        if !different.contains(&part) {
            different.push(part);
        }
    }
    if different.len() > 1 { Some(Expression::All(different)) } else { different.pop() }
}

pub(super) fn any_of(mut parts: Vec<Expression>) -> Option<Expression> {
    if parts.len() > 1 { Some(Expression::Any(parts)) } else { parts.pop() }
}

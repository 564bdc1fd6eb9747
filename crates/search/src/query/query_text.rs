//! The text of a query: its filters, which can be removed, and its last word, which can be completed.

use std::ops::Range;

use super::fields::{Comparison, Field, Property, compared_field, quoted_column, split_field};
use super::filter_values::ReferenceKind;
use super::known_columns::KnownColumns;
use super::lex::{Token, TokenKind, has_unclosed_phrase, token};
use super::parse::is_operator;
use super::search_query::SearchQuery;
use super::sizes;

/// A filter that can be left out of a query without a change to the rest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterPart {
    /// Its place in the query, in bytes.
    pub range: Range<usize>,
    /// Set for the name of a person or place, unless it is negated.
    pub reference: Option<ReferenceKind>,
    /// Its value without quotation marks.
    pub value: String,
}

/// The last word of a query, which is being typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastWord<'a> {
    /// All before it, with the white space between.
    pub before: &'a str,
    /// The name of a field of people with its colon, or empty.
    pub field: &'a str,
    /// The word, or the beginning of the value of the field.
    pub word: &'a str,
}

impl SearchQuery {
    /// Returns a text as a value of a filter: in quotation marks, if it is more than one word.
    pub fn quoted(text: &str) -> String {
        let is_word = !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.'));
        if is_word {
            text.to_owned()
        } else {
            format!("\"{}\"", text.replace(['"', '\u{201c}', '\u{201d}', '\u{201e}', '\u{ab}', '\u{bb}'], " "))
        }
    }

    /// Returns the filters of a query that stand alone: not in parentheses, and not beside an operator.
    pub fn filter_parts(query: &str, columns: &KnownColumns) -> Vec<FilterPart> {
        let tokens: Vec<Token<'_>> = tokens(query).collect();
        let (mut parts, mut depth, mut at) = (Vec::new(), 0_usize, 0);
        while let Some(Token { kind, range }) = tokens.get(at) {
            let first = at;
            at += 1;
            let filter = match kind {
                TokenKind::Chunk(chunk) if depth == 0 => match (split_field(chunk, columns), tokens.get(at)) {
                    (None, Some(Token { kind: TokenKind::Chunk(next), .. })) => {
                        compared_field(chunk, next, columns).inspect(|_| at += 1)
                    }
                    (field, _) => field,
                },
                // The name of a column in quotation marks, with the sign right behind it.
                TokenKind::Phrase(name) if depth == 0 && name.is_closed => match tokens.get(at) {
                    Some(Token { kind: TokenKind::Chunk(chunk), range: next }) if next.start == range.end => {
                        quoted_column(name.text, chunk, columns).inspect(|_| at += 1)
                    }
                    _ => None,
                },
                _ => None,
            };
            let head_end = at;
            match (kind, filter) {
                (TokenKind::Open, _) => depth += 1,
                (TokenKind::Close, _) => depth = depth.saturating_sub(1),
                (_, Some((field, _, value))) => {
                    let whole = range.start..tokens[head_end - 1].range.end;
                    let mut part = FilterPart { range: whole, reference: None, value: value.to_owned() };
                    if value.is_empty() {
                        at = value_end(&tokens, at);
                        let value = tokens.get(head_end).filter(|_| at > head_end);
                        part.value = value.map(text_of).unwrap_or_default();
                        part.range.end = tokens[at - 1].range.end;
                    }
                    if field == Field::Property(Property::Size)
                        && part.value.ends_with(|c: char| c.is_ascii_digit())
                        && let Some(Token { kind: TokenKind::Chunk(unit), range }) = tokens.get(at)
                        && sizes::is_unit(unit)
                    {
                        at += 1;
                        part.value.push_str(unit);
                        part.range.end = range.end;
                    }
                    let before = first.checked_sub(1).map(|before| &tokens[before]);
                    let is_negated = before.is_some_and(|token| token.kind == TokenKind::Minus);
                    if let Some(minus) = before.filter(|_| is_negated) {
                        part.range.start = minus.range.start;
                    } else if let Field::Property(Property::Reference(kind)) = field {
                        part.reference = Some(kind);
                    }
                    let before = first.checked_sub(1 + usize::from(is_negated)).map(|before| &tokens[before]);
                    if ![before, tokens.get(at)].into_iter().flatten().any(|token| is_operator(token.kind)) {
                        parts.push(part);
                    }
                }
                _ => {}
            }
        }
        parts
    }

    /// Returns a query without a part of it.
    pub fn without(query: &str, part: &Range<usize>) -> String {
        let before = query.get(..part.start).unwrap_or_default().trim_end();
        let after = query.get(part.end..).unwrap_or_default().trim_start();
        [before, after].into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
    }

    /// Returns the word with which a query ends; `None` if it ends with anything else, such as white space.
    pub fn last_word(query: &str) -> Option<LastWord<'_>> {
        let Token { kind: TokenKind::Chunk(chunk), range } = tokens(query).last()? else { return None };
        if range.end < query.len() || has_unclosed_phrase(query) || is_operator(TokenKind::Chunk(chunk)) {
            return None;
        }
        let before = &query[..range.start];
        match split_field(chunk, &KnownColumns::default()) {
            None => Some(LastWord { before, field: "", word: chunk }),
            Some((Field::Property(Property::Reference(kind)), Comparison::Equal, value)) if kind.is_person() => {
                let field = &chunk[..chunk.len() - value.len()];
                Some(LastWord { before, field, word: value })
            }
            Some(_) => None,
        }
    }
}

fn tokens(query: &str) -> impl Iterator<Item = Token<'_>> {
    std::iter::successors(token(query, 0), |last| token(query, last.range.end))
}

/// Returns the index after the value of a filter whose name ends before the token `at`.
fn value_end(tokens: &[Token<'_>], at: usize) -> usize {
    match tokens.get(at).map(|token| token.kind) {
        Some(TokenKind::Phrase(_) | TokenKind::Chunk(_)) => at + 1,
        Some(TokenKind::Open) => {
            let close = tokens[at..].iter().position(|token| token.kind == TokenKind::Close);
            close.map_or(tokens.len(), |close| at + close + 1)
        }
        _ => at,
    }
}

fn text_of(token: &Token<'_>) -> String {
    match token.kind {
        TokenKind::Phrase(phrase) => phrase.text.to_owned(),
        TokenKind::Chunk(text) => text.to_owned(),
        TokenKind::Open | TokenKind::Close | TokenKind::Minus => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filters(query: &str) -> Vec<&str> {
        SearchQuery::filter_parts(query, &KnownColumns::default()).into_iter().map(|part| &query[part.range]).collect()
    }

    #[test]
    fn filters_are_found_where_they_can_be_left_out() {
        assert_eq!(filters("plan type:pdf in:\"A B/C\" x"), ["type:pdf", "in:\"A B/C\""]);
        assert_eq!(filters("plan -type:pdf size>10MB"), ["-type:pdf", "size>10MB"]);
        assert_eq!(filters("(a OR type:txt) ext:txt type:(pdf, docx)"), ["ext:txt", "type:(pdf, docx)"]);
        for none in ["a OR type:pdf", "NOT type:pdf", "type:pdf AND a", "(type:pdf)", "https://a", "", "\"type:pdf"] {
            assert_eq!(filters(none), [] as [&str; 0], "{none}");
        }
        let parts = SearchQuery::filter_parts("x in: \"A B\" -site:c author:anna", &KnownColumns::default());
        let of = |part: &FilterPart| (part.reference, part.value.clone());
        assert_eq!(
            parts.iter().map(of).collect::<Vec<_>>(),
            [
                (Some(ReferenceKind::Container), "A B".to_owned()),
                (None, "c".to_owned()),
                (Some(ReferenceKind::Author), "anna".to_owned())
            ]
        );
        assert_eq!(SearchQuery::without("x in:a  y", &(2..6)), "x y");
    }

    #[test]
    fn the_word_that_is_typed_is_the_ending() {
        let ending = |query| SearchQuery::last_word(query).map(|end| (end.before, end.field, end.word));
        assert_eq!(ending("plan ann"), Some(("plan ", "", "ann")));
        assert_eq!(ending("plan author:an"), Some(("plan ", "author:", "an")));
        assert_eq!(ending("Autor:"), Some(("", "Autor:", "")));
        for none in ["", "plan ", "plan \"an", "type:pd", "in:Doc", "a OR", "\"a b\"", "(a)"] {
            assert_eq!(ending(none), None, "{none}");
        }
    }

    #[test]
    fn values_of_several_words_are_quoted() {
        assert_eq!(SearchQuery::quoted("anna"), "anna");
        assert_eq!(SearchQuery::quoted("Anna Berg"), "\"Anna Berg\"");
        assert_eq!(SearchQuery::quoted("a\"b"), "\"a b\"");
        assert_eq!(SearchQuery::quoted(""), "\"\"");
    }
}

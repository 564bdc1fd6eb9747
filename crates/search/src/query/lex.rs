//! The tokens of a query.

use std::ops::Range;

/// A token, with its place in the query in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub kind: TokenKind<'a>,
    pub range: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TokenKind<'a> {
    Open,
    Close,
    /// A hyphen right before what is not wanted.
    Minus,
    Phrase(Phrase<'a>),
    /// Characters without white space, quotation marks and parentheses.
    Chunk(&'a str),
}

/// A text in quotation marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Phrase<'a> {
    pub text: &'a str,
    /// Limit on other words between its words.
    pub gap: u32,
    /// False if it extends to the end of the query because there is no second quotation mark.
    pub is_closed: bool,
}

/// Largest gap between the words of a phrase.
const MAX_GAP: u32 = 50;

/// Returns the token at or after a position; `None` at the end.
pub(super) fn token(query: &str, from: usize) -> Option<Token<'_>> {
    let rest = &query[from..];
    let start = from + rest.find(|c: char| !is_space(c))?;
    let rest = &query[start..];
    let first = rest.chars().next()?;
    let one = |kind| Token { kind, range: start..start + first.len_utf8() };
    match first {
        '(' => Some(one(TokenKind::Open)),
        ')' => Some(one(TokenKind::Close)),
        _ if is_quote(first) => Some(phrase(query, start, first)),
        '-' if rest[1..].starts_with(|c: char| !is_space(c) && c != '-' && c != ')') => Some(one(TokenKind::Minus)),
        _ => {
            let length =
                rest.find(|c: char| is_space(c) || is_quote(c) || matches!(c, '(' | ')')).unwrap_or(rest.len());
            Some(Token { kind: TokenKind::Chunk(&rest[..length]), range: start..start + length })
        }
    }
}

/// Returns whether a quotation mark in a query is not closed.
pub(super) fn has_unclosed_phrase(query: &str) -> bool {
    let tokens = std::iter::successors(token(query, 0), |last| token(query, last.range.end));
    tokens.last().is_some_and(|last| matches!(last.kind, TokenKind::Phrase(phrase) if !phrase.is_closed))
}

fn phrase(query: &str, start: usize, mark: char) -> Token<'_> {
    let inner = start + mark.len_utf8();
    let length = query[inner..].find(is_quote);
    let end = length.map_or(query.len(), |length| inner + length);
    let text = &query[inner..end];
    let Some(closing) = query[end..].chars().next() else {
        return Token { kind: TokenKind::Phrase(Phrase { text, gap: 0, is_closed: false }), range: start..end };
    };
    let mut after = end + closing.len_utf8();
    let mut gap = 0;
    if let Some(number) = query[after..].strip_prefix('~') {
        let digits = number.bytes().take_while(u8::is_ascii_digit).count();
        let digits_only = &number[..digits];
        gap = if digits == 0 { 0 } else { digits_only.parse().unwrap_or(MAX_GAP).min(MAX_GAP) };
        after += 1 + digits;
    }
    Token { kind: TokenKind::Phrase(Phrase { text, gap, is_closed: true }), range: start..after }
}

/// Returns whether a character separates tokens. Control characters do, so that they cannot hide in words.
fn is_space(c: char) -> bool {
    c.is_whitespace() || c.is_control()
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}' | '\u{ab}' | '\u{bb}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(query: &str) -> Vec<String> {
        let (mut at, mut kinds) = (0, Vec::new());
        while let Some(token) = token(query, at) {
            assert!(token.range.end > at, "no token is empty");
            at = token.range.end;
            kinds.push(match token.kind {
                TokenKind::Open => "(".to_owned(),
                TokenKind::Close => ")".to_owned(),
                TokenKind::Minus => "-".to_owned(),
                TokenKind::Phrase(Phrase { text, gap, is_closed }) => {
                    format!("[{text}]{gap}{}", if is_closed { "" } else { "?" })
                }
                TokenKind::Chunk(text) => text.to_owned(),
            });
        }
        kinds
    }

    #[test]
    fn tokens_are_told_apart() {
        assert_eq!(kinds(" a (b\tc)"), ["a", "(", "b", "c", ")"]);
        assert_eq!(kinds("-a --b - -(c)"), ["-", "a", "--b", "-", "-", "(", "c", ")"]);
        assert_eq!(kinds("RE-2026 „Über uns“~3 x"), ["RE-2026", "[Über uns]3", "x"]);
        assert_eq!(kinds("author:\"Anna B\" \"open"), ["author:", "[Anna B]0", "[open]0?"]);
        assert_eq!(kinds("\"a\"~999999999999"), ["[a]50"]);
        assert_eq!(kinds("a\u{0}b"), ["a", "b"]);
        assert_eq!(kinds("\""), ["[]0?"]);
        assert_eq!(kinds(" \n"), [] as [&str; 0]);
    }
}

//! Tokenizers for names and for texts in columns, and the names of all tokenizers.

use model::Id;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::index::word_tokenizers::{StemStream, StemTokenizer};
use crate::language::parts::each_part;

/// Name of the tokenizer for words.
pub(super) const STEMS: &str = "stems";
/// Name of the tokenizer for the ends of words.
pub(super) const ENDS: &str = "ends";

/// Name of the tokenizer for parts of names.
pub(super) const PARTS: &str = "parts";

/// Name of the tokenizer for texts in columns.
pub(super) const VALUES: &str = "values";

/// Stands between the column and the text, and between the column and each word. No word contains it.
const AFTER_COLUMN: char = '\u{1f}';

/// Returns a text with its column, for the tokenizer.
pub(super) fn marked_value(column: Id, text: &str) -> String {
    format!("{:x}{AFTER_COLUMN}{text}", column.get())
}

/// Cuts texts in columns into their words and the stems of these, each with its column before it.
#[derive(Clone, Default)]
pub(super) struct ValueTokenizer {
    inner: StemTokenizer,
}

pub(super) struct ValueStream<'a> {
    column: &'a str,
    inner: StemStream<'a>,
}

impl Tokenizer for ValueTokenizer {
    type TokenStream<'a> = ValueStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> ValueStream<'a> {
        let end = text.find(AFTER_COLUMN).map_or(0, |at| at + AFTER_COLUMN.len_utf8());
        ValueStream { column: &text[..end], inner: self.inner.token_stream(&text[end..]) }
    }
}

impl TokenStream for ValueStream<'_> {
    fn advance(&mut self) -> bool {
        let has_more = self.inner.advance();
        if has_more {
            self.inner.token_mut().text.insert_str(0, self.column);
        }
        has_more
    }

    fn token(&self) -> &Token {
        self.inner.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.inner.token_mut()
    }
}

/// Cuts folded names into their parts.
#[derive(Clone, Default)]
pub(super) struct PartTokenizer {
    parts: Vec<(usize, String)>,
}

pub(super) struct PartStream<'a> {
    parts: std::vec::Drain<'a, (usize, String)>,
    token: Token,
}

impl Tokenizer for PartTokenizer {
    type TokenStream<'a> = PartStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> PartStream<'a> {
        self.parts.clear();
        each_part(text, |position, part| self.parts.push((position, part.to_owned())));
        PartStream { parts: self.parts.drain(..), token: Token::default() }
    }
}

impl TokenStream for PartStream<'_> {
    fn advance(&mut self) -> bool {
        let Some((position, text)) = self.parts.next() else { return false };
        (self.token.position, self.token.text) = (position, text);
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

//! Adapters from [`crate::language`] to tantivy's tokenizers.

use model::Id;
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::language::parts::each_part;
use crate::language::similar::{may_be_compound, suffix_key};
use crate::language::stems::Stems;
use crate::language::text_languages::TextLanguages;
use crate::language::words::{Word, Words};

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

/// Cuts texts into their words and the stems of these. A word and its stems are at the same position.
#[derive(Default)]
pub(super) struct StemTokenizer {
    token: Token,
    stems: Stems,
    ready: Vec<String>,
}

/// Cuts texts into their long words, each backwards and without its ending. Texts in languages without compounds have
/// none.
#[derive(Default)]
pub(super) struct EndTokenizer {
    token: Token,
}

impl Clone for StemTokenizer {
    fn clone(&self) -> Self {
        // What is remembered belongs to one thread.
        Self::default()
    }
}

impl Clone for EndTokenizer {
    fn clone(&self) -> Self {
        Self::default()
    }
}

pub(super) struct StemStream<'a> {
    words: Words<'a>,
    word: Word,
    languages: TextLanguages,
    stems: &'a mut Stems,
    /// Further stems of the current word.
    ready: &'a mut Vec<String>,
    token: &'a mut Token,
}

impl Tokenizer for StemTokenizer {
    type TokenStream<'a> = StemStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> StemStream<'a> {
        self.token.reset();
        self.ready.clear();
        let word = Word { folded: String::new(), start: 0, end: 0 };
        let languages = TextLanguages::of(text);
        let Self { token, stems, ready } = self;
        StemStream { words: Words::of(text), word, languages, stems, ready, token }
    }
}

impl TokenStream for StemStream<'_> {
    fn advance(&mut self) -> bool {
        if let Some(stem) = self.ready.pop() {
            self.token.text = stem;
            return true;
        }
        if !self.words.next_into(&mut self.word) {
            return false;
        }
        self.stems.put(&self.word.folded, self.languages, self.ready);
        if !self.ready.contains(&self.word.folded) {
            self.ready.push(self.word.folded.clone());
        }
        self.token.text = self.ready.pop().unwrap_or_default();
        self.token.offset_from = self.word.start;
        self.token.offset_to = self.word.end;
        self.token.position = self.token.position.wrapping_add(1);
        true
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

pub(super) struct EndStream<'a> {
    words: Words<'a>,
    word: Word,
    has_compounds: bool,
    token: &'a mut Token,
}

impl Tokenizer for EndTokenizer {
    type TokenStream<'a> = EndStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> EndStream<'a> {
        self.token.reset();
        let word = Word { folded: String::new(), start: 0, end: 0 };
        let has_compounds = TextLanguages::of(text).has_compounds();
        EndStream { words: Words::of(text), word, has_compounds, token: &mut self.token }
    }
}

impl TokenStream for EndStream<'_> {
    fn advance(&mut self) -> bool {
        while self.has_compounds
            && let Some(span) = self.words.next_span()
        {
            if !may_be_compound(span.len()) {
                continue;
            }
            self.words.take_word(span, &mut self.word);
            if may_be_compound(self.word.folded.len())
                && let Some(end) = suffix_key(&self.word.folded)
            {
                self.token.text = end;
                self.token.position = self.token.position.wrapping_add(1);
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

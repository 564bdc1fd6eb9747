//! Adapters from [`crate::language`] to tantivy's tokenizers.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::language::parts::each_part;
use crate::language::similar::{backwards, is_compound};
use crate::language::stems::{Stems, TextRules};
use crate::language::words::{Word, Words};

/// Name of the tokenizer for words.
pub(super) const STEMS: &str = "stems";
/// Name of the tokenizer for the ends of words.
pub(super) const ENDS: &str = "ends";

/// Name of the tokenizer for parts of names.
pub(super) const PARTS: &str = "parts";

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

/// Cuts texts into the stems of their long words, each backwards. Texts in languages without compounds have none.
#[derive(Default)]
pub(super) struct EndTokenizer(StemTokenizer);

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
    rules: TextRules,
    /// True if words are returned too, beside their stems, so that they are found by their beginnings.
    keeps_words: bool,
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
        let rules = self.stems.rules_for(text);
        let Self { token, stems, ready } = self;
        StemStream { words: Words::of(text), word, rules, keeps_words: true, stems, ready, token }
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
        self.stems.put(&self.word.folded, self.rules, self.ready);
        if self.keeps_words && !self.ready.contains(&self.word.folded) {
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

pub(super) struct EndStream<'a>(StemStream<'a>);

impl Tokenizer for EndTokenizer {
    type TokenStream<'a> = EndStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> EndStream<'a> {
        EndStream(StemStream { keeps_words: false, ..self.0.token_stream(text) })
    }
}

impl TokenStream for EndStream<'_> {
    fn advance(&mut self) -> bool {
        while self.0.rules.has_compounds() && self.0.advance() {
            let stem = &mut self.0.token.text;
            if is_compound(stem) {
                *stem = backwards(stem);
                return true;
            }
        }
        false
    }

    fn token(&self) -> &Token {
        self.0.token()
    }

    fn token_mut(&mut self) -> &mut Token {
        self.0.token_mut()
    }
}

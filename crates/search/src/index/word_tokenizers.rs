//! Adapters from the words of [`crate::language`] to tantivy's tokenizers, for both providers.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::language::similar::{may_be_compound, suffix_key};
use crate::language::stems::Stems;
use crate::language::text_languages::TextLanguages;
use crate::language::words::{Word, Words};

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

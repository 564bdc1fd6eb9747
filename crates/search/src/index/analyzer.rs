//! Adapter from [`crate::language`] to tantivy's tokenizer.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

use crate::language::words::{Word, Words};

/// Name of the tokenizer in the index.
pub(super) const NAME: &str = "folded_words";

/// Cuts texts into folded words.
#[derive(Clone, Default)]
pub(super) struct FoldedWords {
    token: Token,
}

pub(super) struct FoldedWordStream<'a> {
    words: Words<'a>,
    word: Word,
    token: &'a mut Token,
}

impl Tokenizer for FoldedWords {
    type TokenStream<'a> = FoldedWordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> FoldedWordStream<'a> {
        self.token.reset();
        let word = Word { folded: String::new(), start: 0, end: 0 };
        FoldedWordStream { words: Words::of(text), word, token: &mut self.token }
    }
}

impl TokenStream for FoldedWordStream<'_> {
    fn advance(&mut self) -> bool {
        if !self.words.next_into(&mut self.word) {
            return false;
        }
        std::mem::swap(&mut self.token.text, &mut self.word.folded);
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

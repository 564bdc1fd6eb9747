//! Reads words and phrases of a query.

use std::ops::Range;

use model::fold;

use super::expression::{Expression, Sought, WordField};
use super::lex::Phrase;
use super::parse::{Parser, all_of};
use super::query_word::QueryWord;
use super::remark::RemarkReason;
use crate::language::words::Words;

/// Fewest letters before an asterisk.
const MIN_PREFIX: usize = 3;

impl Parser<'_> {
    /// Reads a word. Words that are joined by other characters such as "RE-2026-0815" are a phrase.
    pub(super) fn words(&mut self, text: &str, range: Range<usize>, field: WordField) -> Option<Expression> {
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
                    if self.limits.take_prefix() {
                        prefix = Some(Expression::Words(field, Sought::Prefix(last)));
                    } else {
                        self.remark(RemarkReason::TooMuch, range);
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
        self.limits.take_prefix().then_some(Expression::Words(WordField::Name, sought))
    }

    pub(super) fn phrase(&mut self, phrase: Phrase<'_>, range: Range<usize>, field: WordField) -> Option<Expression> {
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
            if !self.limits.take_word() {
                self.remark(RemarkReason::TooMuch, range.clone());
                break;
            }
            words.push(QueryWord::of(&text[word.start..word.end], word.folded));
        }
        words
    }
}

fn sought(mut words: Vec<QueryWord>, gap: u32) -> Option<Sought> {
    if words.len() > 1 {
        return Some(Sought::Phrase { words, gap });
    }
    words.pop().map(Sought::Word)
}

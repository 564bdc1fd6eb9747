//! Cuts a text into words. A word is a run of letters, digits and their marks, folded so that case, accents and
//! compatibility forms do not matter: "Übergröße" and "ubergrosse" are one word.
//!
//! Han, Kana and Hangul are written without spaces. Their characters are words of one character each, so that a phrase
//! of them is found wherever it occurs.

use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// Limit on the characters of a word. Longer words are truncated.
pub const MAX_WORD_CHARS: usize = 64;

/// A word of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The folded word.
    pub folded: String,
    /// Offset of its first byte in the text.
    pub start: usize,
    /// Offset after its last byte.
    pub end: usize,
}

/// Iterates over the words of a text. [`Words::next_into`] reuses the memory of the last word.
pub struct Words<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Words<'a> {
    /// Begins at the start of a text.
    pub fn of(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Puts the next word into `word`. Returns false at the end of the text.
    pub fn next_into(&mut self, word: &mut Word) -> bool {
        let Some(span) = self.next_span() else { return false };
        self.take_word(span, word);
        true
    }

    /// Puts the word into `word` at a place that [`Self::next_span`] returned.
    pub fn take_word(&self, span: Range<usize>, word: &mut Word) {
        fold_into(&self.text[span.clone()], &mut word.folded);
        (word.start, word.end) = (span.start, span.end);
    }

    /// Returns where the next word is, without folding it.
    pub fn next_span(&mut self) -> Option<Range<usize>> {
        let found = next_word(self.text, self.at);
        self.at = found.as_ref().map_or(self.text.len(), |word| word.end);
        found
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let mut word = Word { folded: String::new(), start: 0, end: 0 };
        self.next_into(&mut word).then_some(word)
    }
}

/// Returns where the next word of a text is, at or after `at`.
pub(crate) fn next_word(text: &str, at: usize) -> Option<Range<usize>> {
    let bytes = text.as_bytes();
    let wide = |at: usize| text[at..].chars().next();
    let mut start = at;
    loop {
        match CLASSES[usize::from(*bytes.get(start)?)] {
            Class::Part => break,
            Class::Gap => start += 1,
            Class::Wide => {
                let c = wide(start)?;
                if stands_alone(c) {
                    return Some(start..start + c.len_utf8());
                }
                if is_wide_part(c) {
                    break;
                }
                start += c.len_utf8();
            }
        }
    }
    let mut end = start;
    while let Some(byte) = bytes.get(end) {
        match CLASSES[usize::from(*byte)] {
            Class::Part => end += 1,
            Class::Gap => break,
            Class::Wide => match wide(end) {
                Some(c) if is_wide_part(c) && !stands_alone(c) => end += c.len_utf8(),
                _ => break,
            },
        }
    }
    Some(start..end)
}

/// Class of a byte of a text.
#[derive(Clone, Copy)]
enum Class {
    /// An ASCII letter or digit.
    Part,
    /// Another ASCII character.
    Gap,
    /// A byte of another character.
    Wide,
}

const CLASSES: [Class; 256] = {
    let mut classes = [Class::Wide; 256];
    let mut byte = 0_u8;
    while byte < 128 {
        classes[byte as usize] = if byte.is_ascii_alphanumeric() { Class::Part } else { Class::Gap };
        byte += 1;
    }
    classes
};

/// Returns whether a character other than ASCII can be part of a word.
fn is_wide_part(c: char) -> bool {
    c.is_alphanumeric() || is_combining_mark(c)
}

/// Returns whether a character of a script without spaces is a word by itself.
fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

/// Puts the folded form of one word into `folded`, cut at [`MAX_WORD_CHARS`].
pub(crate) fn fold_into(word: &str, folded: &mut String) {
    folded.clear();
    let mut left = MAX_WORD_CHARS;
    if word.is_ascii() {
        folded.extend(word.bytes().take(left).map(|byte| byte.to_ascii_lowercase() as char));
        return;
    }
    // Decomposed, a letter stands before its marks, which are dropped.
    let plain = word.nfkd().filter(|c| !is_combining_mark(*c));
    for c in plain.flat_map(char::to_lowercase) {
        let (text, length) = match c {
            'ß' => ("ss", 2),
            'æ' => ("ae", 2),
            'œ' => ("oe", 2),
            'ø' => ("o", 1),
            'ł' => ("l", 1),
            'đ' => ("d", 1),
            'ı' => ("i", 1),
            _ => ("", 1),
        };
        if is_combining_mark(c) {
            continue;
        }
        if left < length {
            return;
        }
        left -= length;
        if text.is_empty() {
            folded.push(c);
        } else {
            folded.push_str(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folded(text: &str) -> Vec<String> {
        Words::of(text).map(|word| word.folded).collect()
    }

    #[test]
    fn case_accents_and_forms_do_not_matter() {
        assert_eq!(folded("Übergröße  ÜBERGROSSE u\u{308}bergro\u{308}ße"), ["ubergrosse"; 3]);
        assert_eq!(folded("Ærø, ŁÓDŹ; İstanbul ﬁn"), ["aero", "lodz", "istanbul", "fin"]);
        assert_eq!(folded("RE-2026-0815.pdf"), ["re", "2026", "0815", "pdf"]);
        assert_eq!(folded("don't  \u{0}\u{202e}…"), ["don", "t"]);
        assert_eq!(folded(""), Vec::<String>::new());
    }

    #[test]
    fn characters_of_scripts_without_spaces_are_words() {
        assert_eq!(folded("東京tower大阪"), ["東", "京", "tower", "大", "阪"]);
    }

    #[test]
    fn offsets_are_those_of_the_text() {
        let text = "a Größe, b";
        let words: Vec<&str> = Words::of(text).map(|word| &text[word.start..word.end]).collect();
        assert_eq!(words, ["a", "Größe", "b"]);
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(folded(&"x".repeat(1_000)), ["x".repeat(MAX_WORD_CHARS)]);
        assert_eq!(folded(&"ä".repeat(1_000)), ["a".repeat(MAX_WORD_CHARS)]);
    }
}

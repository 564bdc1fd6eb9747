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
        let start = self.position_of(self.at, is_part).unwrap_or(self.text.len());
        let first = self.text[start..].chars().next();
        let end = match first {
            Some(first) if stands_alone(first) => start + first.len_utf8(),
            _ => self.position_of(start, |c| !is_part(c) || stands_alone(c)).unwrap_or(self.text.len()),
        };
        self.at = end;
        first.map(|_| start..end)
    }

    /// Returns the position of the first character at or after `at` for which `is_wanted` holds.
    fn position_of(&self, mut at: usize, is_wanted: impl Fn(char) -> bool) -> Option<usize> {
        let bytes = self.text.as_bytes();
        loop {
            let byte = *bytes.get(at)?;
            if byte.is_ascii() {
                if is_wanted(char::from(byte)) {
                    return Some(at);
                }
                at += 1;
            } else {
                let c = self.text[at..].chars().next()?;
                if is_wanted(c) {
                    return Some(at);
                }
                at += c.len_utf8();
            }
        }
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        let mut word = Word { folded: String::new(), start: 0, end: 0 };
        self.next_into(&mut word).then_some(word)
    }
}

fn is_part(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphanumeric() } else { c.is_alphanumeric() || is_combining_mark(c) }
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

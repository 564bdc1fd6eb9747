//! Texts as they are sent to the search server: their words and stems, found by the same rules as those of an index in
//! a directory, so that both find the same.
//!
//! Positions are separated by spaces, and forms at one position by vertical bars. Words with digits carry a mark,
//! because they are similar to no word without.

use model::Id;
use tantivy::tokenizer::{TokenStream, Tokenizer};

use crate::index::word_tokenizers::{EndTokenizer, StemTokenizer};
use crate::language::parts::each_part;

/// Name of the analysis that undoes what this module does.
pub(super) const ANALYZER: &str = "tokens";
/// Stands before words with digits.
const DIGITS: char = '=';
/// Stands between a column and a word.
const AFTER_COLUMN: char = ':';
/// Stand for characters that separate words here. No name and no word contains them.
const INSTEAD: [(char, char); 2] = [(' ', '\u{2}'), ('|', '\u{3}')];

/// Makes texts of words.
#[derive(Default)]
pub(super) struct Tokens {
    stems: StemTokenizer,
    ends: EndTokenizer,
}

impl Tokens {
    /// Returns the words of a text with their stems.
    pub(super) fn words(&mut self, text: &str) -> String {
        joined(&mut self.stems.token_stream(text), marked)
    }

    /// Returns the words of a text in a column with their stems.
    pub(super) fn values(&mut self, column: Id, text: &str) -> String {
        joined(&mut self.stems.token_stream(text), |word| in_column(column, word))
    }

    /// Returns the ends of the long words of a text.
    pub(super) fn ends(&mut self, text: &str) -> String {
        joined(&mut self.ends.token_stream(text), str::to_owned)
    }
}

fn joined(tokens: &mut impl TokenStream, form: impl Fn(&str) -> String) -> String {
    let (mut text, mut last) = (String::new(), None);
    while tokens.advance() {
        let token = tokens.token();
        if let Some(last) = last {
            text.push(if last == token.position { '|' } else { ' ' });
        }
        last = Some(token.position);
        text.push_str(&form(&token.text));
    }
    text
}

/// Returns the parts of a folded name.
pub(super) fn parts(folded: &str) -> String {
    let (mut text, mut last) = (String::new(), None);
    each_part(folded, |position, part| {
        if let Some(last) = last {
            text.push(if last == position { '|' } else { ' ' });
        }
        last = Some(position);
        text.push_str(&plain(part));
    });
    text
}

/// Returns a part of a name as it is in the index.
pub(super) fn plain(text: &str) -> String {
    let instead = |c: char| INSTEAD.iter().find(|(from, _)| *from == c).map_or(c, |(_, to)| *to);
    text.chars().map(instead).collect()
}

/// Returns a word as it is in the index.
pub(super) fn marked(word: &str) -> String {
    if has_digits(word) { with_mark(word) } else { plain(word) }
}

/// Returns a word as it is in the index if it has digits.
pub(super) fn with_mark(word: &str) -> String {
    format!("{DIGITS}{}", plain(word))
}

/// Returns whether a word has digits.
pub(super) fn has_digits(word: &str) -> bool {
    word.bytes().any(|byte| byte.is_ascii_digit())
}

/// Returns a word of a text in a column as it is in the index.
pub(super) fn in_column(column: Id, word: &str) -> String {
    format!("{:x}{AFTER_COLUMN}{}", column.get(), plain(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_share_its_position() {
        let mut tokens = Tokens::default();
        let words = tokens.words("Verträge 2026, a|b");
        let positions: Vec<Vec<&str>> = words.split(' ').map(|forms| forms.split('|').collect()).collect();
        assert_eq!(positions.len(), 4);
        assert!(positions[0].contains(&"vertrage") && positions[0].contains(&"vertrag"), "{words}");
        assert_eq!(positions[1..], [vec!["=2026"], vec!["a"], vec!["b"]]);
        assert!(tokens.values(Id::new(10), "Offen").starts_with("a:"));
        assert_eq!(parts("a b"), "\u{1}a|\u{1}a\u{2} a\u{2}|a\u{2}b \u{2}b");
        assert_eq!(plain("a|b c"), "a\u{3}b\u{2}c");
    }
}

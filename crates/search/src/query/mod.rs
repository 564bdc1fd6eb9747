//! Search queries: words and phrases that a document must contain.

use crate::language::words::Words;

/// Limit on the words of a query. Further ones are left out.
const MAX_WORDS: usize = 32;

/// A query: what a document must contain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchQuery {
    /// A document must contain each of these in its name or its text. Nothing is found without any.
    pub all: Vec<Sought>,
}

/// A part of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sought {
    /// A folded word.
    Word(String),
    /// Folded words that stand one after the other.
    Phrase(Vec<String>),
}

impl SearchQuery {
    /// Reads a query. Words in quotation marks, and words that are joined by other characters such as "RE-2026-0815",
    /// are phrases. An unclosed quotation mark extends to the end of the query.
    pub fn parse(text: &str) -> Self {
        let mut query = Self::default();
        let mut left = MAX_WORDS;
        let mut is_quoted = false;
        for part in text.split(['"', '\u{201c}', '\u{201d}', '\u{201e}', '\u{ab}', '\u{bb}']) {
            let phrases: Vec<&str> = if is_quoted { vec![part] } else { part.split_whitespace().collect() };
            for phrase in phrases {
                let mut words: Vec<String> = Words::of(phrase).take(left).map(|word| word.folded).collect();
                left -= words.len();
                let sought = match words.len() {
                    0 => None,
                    1 => words.pop().map(Sought::Word),
                    _ => Some(Sought::Phrase(words)),
                };
                query.all.extend(sought.filter(|sought| !query.all.contains(sought)));
            }
            is_quoted = !is_quoted;
        }
        query
    }

    /// Returns all words of the query.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.all.iter().flat_map(|sought| match sought {
            Sought::Word(word) => std::slice::from_ref(word).iter().map(String::as_str),
            Sought::Phrase(words) => words.iter().map(String::as_str),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        let show = |sought: &Sought| match sought {
            Sought::Word(word) => word.clone(),
            Sought::Phrase(words) => format!("[{}]", words.join(" ")),
        };
        SearchQuery::parse(text).all.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn words_and_phrases_are_told_apart() {
        assert_eq!(shown("  Größe der  ROHRE "), "grosse der rohre");
        assert_eq!(shown("a \"b c\" d"), "a [b c] d");
        assert_eq!(shown("RE-2026-0815 x"), "[re 2026 0815] x");
        assert_eq!(shown("„Über uns“ team"), "[uber uns] team");
        assert_eq!(shown("a \"b c"), "a [b c]");
        assert_eq!(shown("\" \" ... \u{0}"), "");
    }

    #[test]
    fn a_query_has_a_bounded_number_of_words() {
        assert_eq!(SearchQuery::parse(&"a ".repeat(1_000)).words().count(), 1);
        assert_eq!(SearchQuery::parse(&"a-".repeat(1_000)).words().count(), MAX_WORDS);
    }
}

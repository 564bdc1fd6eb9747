//! A query for parts of names.

use std::cmp::Reverse;

use database::content::search::MAX_WORDS;
use model::{Code, Error, MAX_NAME_CHARS, Result, fold};
use search::index::SHORTEST_PART;

/// A query for parts of names.
#[derive(Default)]
pub(super) struct NameQuery {
    /// All words in their original order.
    pub(super) phrase: String,
    /// Parts that names must contain, longest first, because the longest excludes most.
    pub(super) words: Vec<String>,
}

impl NameQuery {
    /// Parses a text.
    ///
    /// # Errors
    /// `Invalid` when it is longer than a name can be.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.chars().count() > MAX_NAME_CHARS {
            return Err(Error::invalid("no name is longer than 255 characters: search for a part of it")
                .with_code(Code::SearchTooLong));
        }
        let folded = fold(text);
        let parts = folded.split(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '/' | '\\'));
        let mut words: Vec<String> = parts.filter(|word| !word.is_empty()).map(str::to_owned).collect();
        let phrase = words.join(" ");
        // A query with this many words is probably a pasted name, so the excess words must occur in this order.
        if words.len() > MAX_WORDS {
            let tail = words.split_off(MAX_WORDS - 1).join(" ");
            words.push(tail);
        }
        words.sort_by_key(|word| Reverse(word.len()));
        Ok(Self { phrase, words })
    }

    /// Returns whether nothing is looked for.
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Returns whether an index knows parts that are as short as the words.
    pub(super) fn suits_index(&self) -> bool {
        self.words.iter().all(|word| word.chars().count() >= SHORTEST_PART)
    }

    pub(super) fn matches(&self, folded: &str) -> bool {
        self.words.iter().all(|word| folded.contains(word.as_str()))
    }

    /// Returns whether each word of the query begins a word of a name.
    pub(super) fn begins_words(&self, name: &str) -> bool {
        let folded = fold(name);
        let begins = |word: &String| {
            folded.match_indices(word.as_str()).any(|(at, _)| !folded[..at].ends_with(char::is_alphanumeric))
        };
        self.words.iter().all(begins)
    }

    /// Returns the distance of a name from the query; smaller is better.
    pub(super) fn distance(&self, name: &str) -> u8 {
        let folded = fold(name);
        let stem = folded.rsplit_once('.').map_or(folded.as_str(), |(stem, _)| stem);
        if folded == self.phrase || stem == self.phrase {
            0
        } else if folded.starts_with(&self.phrase) {
            1
        } else {
            2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_names_begin_with_words_of_the_query() {
        let begins = |text: &str, name: &str| NameQuery::parse(text).unwrap().begins_words(name);
        assert!(begins("rohr plan", "Plan der Rohre"));
        assert!(begins("ls", "coreutils/ls") && begins("2026", "report-2026.pdf"));
        assert!(!begins("ls", "Manuals"));
        assert!(begins("ls", "Manuals of ls"));
    }

    #[test]
    fn queries_are_folded_and_cut_into_words() {
        let query = NameQuery::parse("  ÄRGER im/Büro\t2026 ").unwrap();
        assert_eq!(query.phrase, "ärger im büro 2026");
        assert_eq!(query.words, ["ärger", "büro", "2026", "im"]);
        let long = NameQuery::parse("a b c d e f g h").unwrap();
        assert_eq!(long.words, ["f g h", "a", "b", "c", "d", "e"]);
        assert!(long.matches("a b c d e f g h.pdf"));
        assert!(!long.matches("a b c d e f h g"));
        assert!(NameQuery::parse("\u{0}\u{7}  ").unwrap().words.is_empty());
        assert_eq!(
            NameQuery::parse(&"x".repeat(256)).err().map(|error| error.code().as_str()),
            Some("search_too_long")
        );
        NameQuery::parse(&"ü".repeat(255)).unwrap();
    }

    #[test]
    fn names_that_begin_with_the_query_are_nearer() {
        let query = NameQuery::parse("Plan").unwrap();
        let distances = ["plan", "Plan.PDF", "Planung.txt", "my plan.txt"].map(|name| query.distance(name));
        assert_eq!(distances, [0, 0, 1, 2]);
    }
}

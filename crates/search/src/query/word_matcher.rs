//! Finds the words of a text for which a query is fulfilled, to mark them in passages.

use std::collections::HashMap;

use super::expression::{Expression, Sought, WordField};
use super::search_query::SearchQuery;
use super::tolerance::Tolerance;
use crate::language::similar;
use crate::language::stems::Stems;
use crate::language::text_languages::TextLanguages;

/// Limit on the words that are remembered.
const MAX_REMEMBERED: usize = 10_000;

/// Tells which words of a text a query looks for.
pub struct WordMatcher {
    /// The number of what is sought, by stem.
    stems: HashMap<String, usize>,
    prefixes: Vec<(String, usize)>,
    /// Suffix keys of the words that are sought, each with the number of the word.
    ends: Vec<(String, usize)>,
    /// The first two letters of the stems, to exclude most words at once: a word and its stem have
    /// them in common, with few exceptions. A bit for each second letter, by the first one.
    beginnings: Box<[u128; 128]>,
    /// True if a stem is shorter or begins with another character, so that all words are folded.
    folds_all: bool,
    with_similar: bool,
    finder: Stems,
    remembered: HashMap<String, Option<usize>>,
    /// Number of different words that are sought.
    count: usize,
}

impl WordMatcher {
    /// Prepares for a query.
    pub fn of(query: &SearchQuery, tolerance: Tolerance) -> Self {
        let mut matcher = Self {
            stems: HashMap::new(),
            prefixes: Vec::new(),
            ends: Vec::new(),
            beginnings: Box::new([0; 128]),
            folds_all: false,
            with_similar: tolerance.allows_similar(),
            finder: Stems::default(),
            remembered: HashMap::new(),
            count: 0,
        };
        query.each(|part, is_wanted| {
            if let Expression::Words(WordField::All | WordField::Title | WordField::StatedAuthor, sought) = part
                && is_wanted
            {
                matcher.add(sought);
            }
        });
        matcher
    }

    fn add(&mut self, sought: &Sought) {
        if let Sought::Prefix(prefix) = sought {
            for spelling in prefix.spellings() {
                self.note_beginning(spelling);
                self.prefixes.push((spelling.clone(), self.count));
            }
            self.count += 1;
        }
        for word in sought.words() {
            let stems: Vec<String> = word.spellings().flat_map(|spelling| self.finder.joined(spelling)).collect();
            let number = stems.iter().find_map(|stem| self.stems.get(stem)).copied().unwrap_or(self.count);
            self.count = self.count.max(number + 1);
            self.ends.extend(similar::suffix_key(&word.folded).map(|end| (end, number)));
            for stem in stems {
                self.note_beginning(&stem);
                self.stems.entry(stem).or_insert(number);
            }
        }
    }

    /// Number of different words that are sought.
    pub fn count(&self) -> usize {
        self.count
    }

    fn note_beginning(&mut self, stem: &str) {
        match stem.as_bytes() {
            [first, second, ..] if first.is_ascii() && second.is_ascii() => {
                self.beginnings[usize::from(*first)] |= 1 << second;
            }
            _ => self.folds_all = true,
        }
    }

    /// Returns whether a word may fit, before it is folded. Excludes most words of a text at once.
    pub fn may_fit(&self, word: &str) -> bool {
        let may_begin = match word.as_bytes() {
            [first, second, ..] if first.is_ascii() && second.is_ascii() => {
                let (first, second) = (first.to_ascii_lowercase(), second.to_ascii_lowercase());
                // Similar words have the first letter in common; "dying" has only that in common with "die".
                let end = word.as_bytes().last_chunk::<4>().filter(|_| word.len() <= 6);
                let needs_first_only = self.with_similar || end.is_some_and(|end| end.eq_ignore_ascii_case(b"ying"));
                let seconds = self.beginnings[usize::from(first)];
                if needs_first_only { seconds != 0 } else { seconds >> second & 1 == 1 }
            }
            // Other characters may fold to any letters.
            _ => true,
        };
        may_begin || self.folds_all || self.with_similar && similar::may_be_compound(word.len())
    }

    /// Returns the number of what a folded word fits; `None` if it fits nothing.
    pub fn fits(&mut self, folded: &str) -> Option<usize> {
        if let Some(known) = self.remembered.get(folded) {
            return *known;
        }
        let found = self.look(folded);
        if self.remembered.len() >= MAX_REMEMBERED {
            self.remembered.clear();
        }
        self.remembered.insert(folded.to_owned(), found);
        found
    }

    fn look(&mut self, folded: &str) -> Option<usize> {
        let mut stems = Vec::new();
        self.finder.put(folded, TextLanguages::ALL, &mut stems);
        let exact = stems.iter().find_map(|stem| self.stems.get(stem)).copied();
        let begins = || self.prefixes.iter().find(|(prefix, _)| folded.starts_with(prefix)).map(|(_, number)| *number);
        let similar = || {
            let is_similar = |sought: &&String| stems.iter().any(|stem| similar::is_similar(stem, sought));
            // The same one each time, whatever the order of the map.
            self.stems.keys().filter(is_similar).filter_map(|sought| self.stems.get(sought)).min().copied()
        };
        let ends = || {
            let end = similar::suffix_key(folded).filter(|_| similar::may_be_compound(folded.len()))?;
            self.ends.iter().find(|(sought, _)| end.starts_with(sought)).map(|(_, number)| *number)
        };
        exact.or_else(begins).or_else(|| if self.with_similar { similar().or_else(ends) } else { None })
    }
}

#[cfg(test)]
mod tests {
    use model::Timestamp;

    use super::*;

    #[test]
    fn every_word_that_fits_may_fit() {
        let words = [
            "die",
            "dying",
            "DYING",
            "lies",
            "heron",
            "hreon",
            "Herons",
            "Größe",
            "grosse",
            "groesse",
            "Rohrleitung",
            "Leitung",
            "Haftpflichtversicherung",
            "Versicherung",
            "a",
            "à",
            "東",
            "applications",
            "apply",
            "Applied",
        ];
        for sought in words {
            for tolerance in [Tolerance::Exact, Tolerance::Similar] {
                let query = SearchQuery::parse(sought, Timestamp::from_micros(0));
                let mut matcher = WordMatcher::of(&query, tolerance);
                for word in words {
                    let mut folded = String::new();
                    crate::language::words::fold_into(word, &mut folded);
                    if matcher.fits(&folded).is_some() {
                        assert!(matcher.may_fit(word), "{word} for {sought}");
                    }
                }
                assert!(matcher.may_fit(sought), "{sought}");
            }
        }
    }
}

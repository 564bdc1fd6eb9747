//! A word of a query in its spellings.

use crate::language::words::Words;

/// A word of a query.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueryWord {
    /// The folded word.
    pub folded: String,
    /// The same word with its umlauts written out: "groesse" for "größe".
    pub written_out: Option<String>,
    /// The word as it would be folded if "ae", "oe" and "ue" stand for umlauts: "grosse" for "groesse", but also "pot"
    /// for "poet".
    pub with_umlauts: Option<String>,
}

impl QueryWord {
    /// Returns the words of a text.
    pub fn all_of(text: &str) -> Vec<Self> {
        Words::of(text).map(|word| Self::of(&text[word.start..word.end], word.folded)).collect()
    }

    /// Returns a word with its folded form.
    pub(super) fn of(original: &str, folded: String) -> Self {
        let umlauts = [("ä", "ae"), ("ö", "oe"), ("ü", "ue"), ("Ä", "ae"), ("Ö", "oe"), ("Ü", "ue")];
        let out = umlauts.iter().fold(original.to_owned(), |text, (umlaut, out)| text.replace(umlaut, out));
        let written_out = Words::of(&out).next().map(|word| word.folded);
        let with_umlauts = folded.replace("ae", "a").replace("oe", "o").replace("ue", "u");
        let is_other = |other: &String| *other != folded;
        Self { written_out: written_out.filter(is_other), with_umlauts: Some(with_umlauts).filter(is_other), folded }
    }

    /// Iterates over all spellings, the word itself first.
    pub fn spellings(&self) -> impl Iterator<Item = &String> {
        std::iter::once(&self.folded).chain(&self.written_out).chain(&self.with_umlauts)
    }
}

//! How exactly entries must fulfil a query.

/// How exactly entries must fulfil a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tolerance {
    /// They contain all words, in any of their forms.
    #[default]
    Exact,
    /// For each word they contain it, a similar one, or a compound that begins or ends with it.
    Similar,
    /// Up to a third of three or more words may be missing; the others may be similar ones or compounds.
    MostWords,
}

impl Tolerance {
    /// Returns whether similar words and compounds count as the words.
    pub fn allows_similar(self) -> bool {
        self != Self::Exact
    }

    /// Returns the fewest of so many words that an entry must contain.
    pub fn required_words(self, count: usize) -> usize {
        match self {
            Self::MostWords if count > 2 => count - count / 3,
            _ => count,
        }
    }
}

//! How closely entries must match a query.

/// How closely an entry must match the words of a query. Each level also finds what the ones before it find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tolerance {
    /// Every word, in any inflection.
    #[default]
    Exact,
    /// Every word, a similar word, or a compound that begins or ends with it.
    Similar,
    /// As `Similar`, but up to a third of three or more single words may be missing. Phrases, prefixes, fields,
    /// filters, alternatives and negations must fit.
    MostWords,
}

impl Tolerance {
    /// Returns whether similar words and compounds count as the words.
    pub fn allows_similar(self) -> bool {
        self != Self::Exact
    }

    /// Returns how many of `count` words an entry must contain at least.
    pub fn required_words(self, count: usize) -> usize {
        match self {
            Self::MostWords if count > 2 => count - count / 3,
            _ => count,
        }
    }
}

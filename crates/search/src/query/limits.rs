//! Limits on the parts of a query, whose evaluation costs time.

/// Limit on the words of a query. Further ones are left out.
pub(super) const MAX_WORDS: usize = 32;
/// Limit on the filters of a query. Further ones are left out.
const MAX_FILTERS: usize = 32;
/// Limit on the names of people and places in a query, each of which is looked up. Further ones are left out.
const MAX_REFERENCES: usize = 6;
/// Limit on the beginnings of words in a query, each of which may stand for many words. Further ones are left out.
const MAX_PREFIXES: usize = 6;
/// The parts that a query may still have.
pub(super) struct Limits {
    words: usize,
    filters: usize,
    references: usize,
    prefixes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { words: MAX_WORDS, filters: MAX_FILTERS, references: MAX_REFERENCES, prefixes: MAX_PREFIXES }
    }
}

impl Limits {
    /// Counts a word. Returns whether it is within the limit.
    pub(super) fn take_word(&mut self) -> bool {
        take(&mut self.words)
    }

    /// Counts a filter. Returns whether it is within the limit.
    pub(super) fn take_filter(&mut self) -> bool {
        take(&mut self.filters)
    }

    /// Counts the name of a person or place. Returns whether it is within the limit.
    pub(super) fn take_reference(&mut self) -> bool {
        take(&mut self.references)
    }

    /// Counts the beginning of a word. Returns whether it is within the limit.
    pub(super) fn take_prefix(&mut self) -> bool {
        take(&mut self.prefixes)
    }
}

fn take(left: &mut usize) -> bool {
    match left.checked_sub(1) {
        Some(less) => {
            *left = less;
            true
        }
        None => false,
    }
}

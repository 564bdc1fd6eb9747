//! Columns of libraries that a query may name.

use model::{ColumnKind, fold};

/// The columns that a query may name: those that the caller knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownColumns(Vec<(String, ColumnKinds)>);

/// Kinds of columns that have the same name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ColumnKinds {
    /// Texts, choices and links.
    pub texts: bool,
    /// Numbers.
    pub numbers: bool,
    /// Dates.
    pub dates: bool,
    /// People.
    pub people: bool,
    /// Yes or no.
    pub answers: bool,
}

impl KnownColumns {
    /// Adds a column by its folded name.
    pub fn add(&mut self, folded: &str, kind: &ColumnKind) {
        let at = self.index_of(folded).unwrap_or_else(|| {
            self.0.push((folded.to_owned(), ColumnKinds::default()));
            self.0.len() - 1
        });
        let kinds = &mut self.0[at].1;
        match kind.single() {
            ColumnKind::Text | ColumnKind::Note | ColumnKind::Choice(_) | ColumnKind::Link => kinds.texts = true,
            ColumnKind::Number => kinds.numbers = true,
            ColumnKind::Date => kinds.dates = true,
            ColumnKind::Person => kinds.people = true,
            ColumnKind::YesNo => kinds.answers = true,
            // Entries have names that not everybody may see. Several values stand one by one.
            ColumnKind::Lookup(_) | ColumnKind::Multiple(_) => {}
        }
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of the column with a name, in any case.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        if self.0.is_empty() { None } else { self.index_of(&fold(name.trim())) }
    }

    fn index_of(&self, folded: &str) -> Option<usize> {
        self.0.iter().position(|(known, _)| known == folded)
    }

    /// Returns the name and the kinds of a column.
    pub(super) fn at(&self, number: usize) -> (&str, ColumnKinds) {
        self.0.get(number).map_or(("", ColumnKinds::default()), |(name, kinds)| (name, *kinds))
    }
}

impl ColumnKinds {
    /// Returns whether values are smaller and greater.
    pub(super) fn are_ordered(self) -> bool {
        self.numbers || self.dates
    }
}

//! Styles of cells.

use model::ColumnKind;

/// Styles of cells: their positions in the part that defines them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    General,
    Title,
    Text,
    Day,
    Time,
    Millisecond,
}

impl Style {
    /// Returns the style of the empty cells in a column, so that what people type there becomes a value of its kind.
    pub const fn of_column(kind: &ColumnKind) -> Self {
        match kind {
            ColumnKind::Number | ColumnKind::YesNo => Self::General,
            ColumnKind::Date => Self::Day,
            ColumnKind::Text
            | ColumnKind::Note
            | ColumnKind::Choice(_)
            | ColumnKind::Person
            | ColumnKind::Link
            | ColumnKind::Lookup(_)
            | ColumnKind::Multiple(_) => Self::Text,
        }
    }

    /// Returns the number of the style.
    pub const fn number(self) -> u8 {
        self as u8
    }
}

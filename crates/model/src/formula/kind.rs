//! The types of values in formulas.

use crate::{ColumnKind, ColumnValue};

/// The type of a value in a formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FormulaType {
    /// Text; also that of notes, choices and links.
    Text,
    /// A number.
    Number,
    /// A point in time.
    Date,
    /// Yes or no.
    YesNo,
    /// A user or group.
    Person,
    /// An entry of another list.
    Lookup,
}

impl FormulaType {
    /// Returns the type of the values in a column, of each if it takes several.
    pub const fn of(kind: &ColumnKind) -> Self {
        match kind {
            ColumnKind::Multiple(kind) => Self::of(kind),
            ColumnKind::Text | ColumnKind::Note | ColumnKind::Choice(_) | ColumnKind::Link => Self::Text,
            ColumnKind::Number => Self::Number,
            ColumnKind::Date => Self::Date,
            ColumnKind::Person => Self::Person,
            ColumnKind::Lookup(_) => Self::Lookup,
            ColumnKind::YesNo => Self::YesNo,
        }
    }

    /// Returns the type of a value; `None` for several values, which formulas do not have.
    pub const fn of_value(value: &ColumnValue) -> Option<Self> {
        match value {
            ColumnValue::Text(_) => Some(Self::Text),
            ColumnValue::Number(_) => Some(Self::Number),
            ColumnValue::Date(_) => Some(Self::Date),
            ColumnValue::Person(_) => Some(Self::Person),
            ColumnValue::Lookup(_) => Some(Self::Lookup),
            ColumnValue::YesNo(_) => Some(Self::YesNo),
            ColumnValue::Multiple(_) => None,
        }
    }

    /// Returns the word used in the API, which is that of a column of this type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Date => "date",
            Self::YesNo => "yes-no",
            Self::Person => "person",
            Self::Lookup => "lookup",
        }
    }

    /// Returns its name in a sentence.
    pub(super) const fn named(self) -> &'static str {
        match self {
            Self::Text => "a text",
            Self::Number => "a number",
            Self::Date => "a date",
            Self::YesNo => "a yes/no value",
            Self::Person => "a person",
            Self::Lookup => "an entry of another list",
        }
    }
}

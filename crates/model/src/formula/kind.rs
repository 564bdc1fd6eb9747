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
    /// Returns the type of the values in a column.
    pub const fn of(kind: &ColumnKind) -> Self {
        match kind {
            ColumnKind::Text | ColumnKind::Note | ColumnKind::Choice(_) | ColumnKind::Link => Self::Text,
            ColumnKind::Number => Self::Number,
            ColumnKind::Date => Self::Date,
            ColumnKind::Person => Self::Person,
            ColumnKind::Lookup(_) => Self::Lookup,
            ColumnKind::YesNo => Self::YesNo,
        }
    }

    /// Returns the type of a value.
    pub const fn of_value(value: &ColumnValue) -> Self {
        match value {
            ColumnValue::Text(_) => Self::Text,
            ColumnValue::Number(_) => Self::Number,
            ColumnValue::Date(_) => Self::Date,
            ColumnValue::Person(_) => Self::Person,
            ColumnValue::Lookup(_) => Self::Lookup,
            ColumnValue::YesNo(_) => Self::YesNo,
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

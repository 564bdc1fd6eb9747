//! Columns of libraries and lists, and the values that items have in them.

pub(crate) mod carried;
pub(crate) mod copy_definitions;
mod definitions;
mod field_change;
pub(crate) mod fields;
mod lookups;
mod options;
pub(crate) mod recompute;
mod rules;
mod set;
mod unique;
mod values;

pub use definitions::{Column, ColumnChange, ContentType, named_columns};
pub use lookups::{EntryName, ValueNames};
pub use options::ColumnOptions;
pub use rules::is_built_in_column;
pub use values::ValuesChange;

pub(crate) use definitions::{MAX_COLUMNS, add_title_column, unnamed_columns};
pub(crate) use field_change::{Completing, FieldChange};
pub(crate) use lookups::FoundEntries;
pub(crate) use lookups::MAX_LOOKUPS;
pub(crate) use options::{
    MAX_DESCRIPTION, MAX_MESSAGE, WITH_NOW_AND_ME, check_all, checked as checked_options, invalid as invalid_formula,
};
pub(crate) use rules::MAX_CHOICES;
pub(crate) use set::ColumnSet;
pub(crate) use unique::TakenValues;

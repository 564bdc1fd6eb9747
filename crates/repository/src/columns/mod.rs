//! Columns of libraries and lists, and the values that items have in them.

mod definitions;
pub(crate) mod fields;
mod values;

pub use definitions::{Column, ColumnChange, ContentType, is_built_in_column};
pub use values::ValuesChange;

pub(crate) use definitions::add_title_column;

//! Columns and the values in them, of libraries and lists alike, and the rows of lists.

mod columns;
mod fields;
mod rows;
mod values;

pub use columns::{Column, ColumnChange, ContentType, is_built_in_column};
pub use rows::{MAX_CHANGES, RowChange, RowOutcome, RowVersion};
pub use values::ValuesChange;

pub(crate) use columns::add_title_column;
pub(crate) use fields::store_known;

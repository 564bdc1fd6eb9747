//! Rows of lists as CSV (RFC 4180): sent page by page, and read from files and spreadsheets.
//!
//! The first column of a file is `#`, the number of the row; the others are the columns of the list. A text that a
//! spreadsheet would execute, because it begins with `=`, `+`, `-`, `@` or a control character, gets an apostrophe in
//! front, and so does one that begins with an apostrophe. Reading removes exactly one. Several values are one text, as
//! [`crate::protocol::value_list`] joins them.
//!
//! A [`Table`] can come from the cells of a workbook as well. It is read in the same way, but for the apostrophes.

mod cut;
mod fields;
mod import;
mod send;
mod table;

pub(super) use cut::cut;
pub(super) use fields::{NUMBER, text_of};
pub(super) use send::names_in;

pub use import::{Mode, Refusal, Report, import};
pub use send::send;
pub use table::Table;

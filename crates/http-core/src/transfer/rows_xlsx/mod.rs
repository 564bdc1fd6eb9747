//! Rows of lists as workbooks of Excel (ECMA-376 part 1, chapter 18): written while they are sent, page by page.
//!
//! The cells have the types of their columns, so nothing depends on the language of the spreadsheet, and no text is a
//! formula. What Excel cannot hold as such is a text: times before March 1900 or finer than milliseconds, and numbers
//! beyond its range. Reading a workbook gives a [`Table`](super::rows_csv::Table), as reading CSV does.

mod cells;
mod parts;
mod read;
mod send;
mod style;
mod workbook;

pub use read::read;
pub use send::{MEDIA_TYPE, send};

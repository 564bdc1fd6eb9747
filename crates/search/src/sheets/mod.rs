//! The cells of a workbook of Excel (ECMA-376 part 1, chapter 18), with their types, for reading them into a list.
//!
//! Unlike the text of a document, which may be cut, cells are read completely or not at all: a workbook that has more
//! of anything than the limits allow, or that can be understood in two ways, is refused with the reason. A formula
//! counts as its stored result. Reading runs in a child process ([`crate::sandbox`]), which sends the cells back in the
//! form of [`wire`].

mod book;
mod dates;
mod escapes;
mod reader;
mod strings;
mod table;
pub(crate) mod wire;

pub use dates::{moment, serial};
pub use escapes::{escaped, unescaped};
pub use reader::{MAX_WORKBOOK_BYTES, read};
pub use table::{Cell, MAX_SHEET_ROWS, Sheet, SheetRow};

//! What all pages are made of: the frame around the content, who looks at it, forms and what they send, notes, errors,
//! texts and formats. Must not know what any page is about.

pub mod address;
pub mod assets;
mod bidi;
pub mod confirm_form;
pub mod csv;
pub mod dialog;
pub mod error_page;
pub mod fault;
pub mod fields;
pub mod flash;
pub mod form;
pub mod format;
pub mod item;
pub mod navigation;
pub mod page;
pub mod reader;
pub mod refuse;
pub mod sign_in_form;
pub mod texts;
pub mod value_format;
pub mod visit;

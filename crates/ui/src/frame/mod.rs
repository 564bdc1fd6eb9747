//! Parts that all pages share: the frame around the content, the signed-in user, forms and their input, messages,
//! errors, texts and formats. This module must not depend on the subject of any page.

pub mod address;
pub mod assets;
mod bidi;
pub mod confirm_form;
pub mod csv;
pub mod dialog;
pub mod error_page;
pub mod escape;
pub mod fault;
pub mod fields;
pub mod file_form;
pub mod flash;
pub mod form;
pub mod format;
pub mod image;
pub mod item;
pub mod navigation;
pub mod page;
pub mod reader;
pub mod refuse;
pub mod sign_in_form;
pub mod templates;
pub mod texts;
pub mod value_format;
pub mod visit;

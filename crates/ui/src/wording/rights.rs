//! Rights and roles in the reader's words.

use model::{Id, Rights};

use crate::frame::page::Page;

/// The role's name in the reader's language; own roles keep theirs.
pub fn role_name(page: &Page, id: Id, name: &str) -> String {
    page.language.find(&format!("role.{id}")).map_or_else(|| name.to_owned(), ToOwned::to_owned)
}

/// The rights in the reader's language.
pub fn words(page: &Page, rights: Rights) -> Vec<&'static str> {
    rights.iter().map(|right| page.language.text(&format!("right.{}", right.as_str()))).collect()
}

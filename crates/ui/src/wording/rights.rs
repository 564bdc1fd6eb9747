//! Rights and roles in the user's language.

use model::{Id, Rights};

use crate::frame::page::Page;

/// Returns the role's name in the user's language. Custom roles keep their names.
pub fn role_name(page: &Page, id: Id, name: &str) -> String {
    page.language.find(&format!("role.{id}")).map_or_else(|| name.to_owned(), ToOwned::to_owned)
}

/// Returns the names of the rights in the user's language.
pub fn words(page: &Page, rights: Rights) -> Vec<&'static str> {
    rights.iter().map(|right| page.language.text(&format!("right.{}", right.as_str()))).collect()
}

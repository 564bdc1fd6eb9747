//! Rights and roles in the user's language.

use model::{Id, Rights, Role};

use crate::frame::form::Choice;
use crate::frame::page::Page;

/// Returns the role's name in the user's language. Custom roles keep their names.
pub fn role_name(page: &Page, id: Id, name: &str) -> String {
    page.language.find(&format!("role.{id}")).map_or_else(|| name.to_owned(), ToOwned::to_owned)
}

/// Returns the names of the rights in the user's language.
pub fn words(page: &Page, rights: Rights) -> Vec<&'static str> {
    rights.iter().map(|right| page.language.text(&format!("right.{}", right.as_str()))).collect()
}

/// Returns the roles as choices, each with its rights as a hint.
pub fn role_choices(page: &Page, roles: &[Role], chosen: Id) -> Vec<Choice> {
    let choice = |role: &Role| {
        Choice::new(role.id.to_string(), role_name(page, role.id, &role.name), role.id == chosen)
            .hint(words(page, role.rights).join(", "))
    };
    roles.iter().map(choice).collect()
}

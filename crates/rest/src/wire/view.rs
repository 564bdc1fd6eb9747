//! Saved views of libraries.

use model::{Name, Result};
use repository::{NewView, SavedView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A saved view of a library.
#[derive(Serialize, ToSchema)]
pub struct ViewJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
    /// Order, filter and columns, in the form of the query string of the library's page.
    pub query: String,
    /// True if all users see it; otherwise it is the caller's own.
    pub shared: bool,
    /// True if the library opens with it. The caller's own view takes precedence over a shared one.
    pub standard: bool,
}

impl From<SavedView> for ViewJson {
    fn from(view: SavedView) -> Self {
        Self {
            id: view.id.to_string(),
            name: view.name,
            query: view.query,
            shared: view.shared,
            standard: view.standard,
        }
    }
}

/// A view to be saved.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewForm {
    /// Name. A shared view, or one of the caller's own, with the same name is replaced.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Order, filter and columns, in the form of the query string of the library's page; at most 4,000 bytes.
    #[serde(default)]
    #[schema(value_type = super::rules::ViewQuery)]
    pub query: String,
    /// True if all users see it. Needs the right to manage the library.
    #[serde(default)]
    pub shared: bool,
    /// Set for the view with which the library opens.
    #[serde(default)]
    pub standard: bool,
}

impl ViewForm {
    /// Converts the form to the repository's type.
    pub fn view(self) -> Result<NewView> {
        Ok(NewView { name: Name::new(self.name)?, query: self.query, shared: self.shared, standard: self.standard })
    }
}

//! Saved views of libraries.

use model::{Name, Result};
use repository::{NewView, SavedView};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a library is shown.
#[derive(Serialize, ToSchema)]
pub struct ViewJson {
    /// Identifier.
    pub id: String,
    /// Name.
    pub name: String,
    /// Order, filter and columns, as the query of the library's page has them.
    pub query: String,
    /// Whether everybody has it; else it is the caller's own.
    pub shared: bool,
    /// Whether the library opens with it; a caller's own comes before everybody's.
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

/// What a view is to be.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ViewForm {
    /// Name; a view of the same name that is everybody's, or the caller's, is replaced.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
    /// Order, filter and columns, as the query of the library's page has them; at most 4,000 bytes.
    #[serde(default)]
    #[schema(value_type = super::rules::ViewQuery)]
    pub query: String,
    /// Whether everybody has it; needs the right to manage the library.
    #[serde(default)]
    pub shared: bool,
    /// Whether the library opens with it.
    #[serde(default)]
    pub standard: bool,
}

impl ViewForm {
    /// As the repository takes it.
    pub fn view(self) -> Result<NewView> {
        Ok(NewView { name: Name::new(self.name)?, query: self.query, shared: self.shared, standard: self.standard })
    }
}

//! Lookup of the item that a page or form is about.

use model::{Error, Result, Right};
use repository::{Item, Target};
use serde::Deserialize;

use super::address;
use super::visit::Visit;

/// Query parameters: the target after a form.
#[derive(Default, Deserialize)]
pub struct Back {
    /// A path on this server.
    pub next: Option<String>,
}

/// Finds the item by the identifier in a URL.
pub async fn find(visit: &Visit, id: &str) -> Result<Item> {
    visit.session.item(&Target::Id(id.parse()?)).await
}

/// Finds the item by the identifier in a URL. Refuses early when the caller lacks the right that the form's action
/// needs.
pub async fn find_for(visit: &Visit, id: &str, right: Right) -> Result<Item> {
    let item = find(visit, id).await?;
    require(&item, right)?;
    Ok(item)
}

/// Refuses to show a form whose action would fail for lack of this right.
pub fn require(item: &Item, right: Right) -> Result<()> {
    if item.rights.has(right) { Ok(()) } else { Err(Error::lacking(right, &item.name)) }
}

/// Returns the URL of the item's parent.
pub fn parent_page(item: &Item) -> String {
    address::browse_parent(&item.path)
}

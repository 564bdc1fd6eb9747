//! The item that a page or form is about.

use model::{Error, Result, Right};
use repository::{Item, Target};
use serde::Deserialize;

use super::address;
use super::visit::Visit;

/// Where to go after a form.
#[derive(Default, Deserialize)]
pub struct Back {
    /// A path on this server.
    pub next: Option<String>,
}

/// The item of an address.
pub async fn find(visit: &Visit, id: &str) -> Result<Item> {
    visit.session.item(&Target::Id(id.parse()?)).await
}

/// The item of an address, for a form that would be refused without this right.
pub async fn find_for(visit: &Visit, id: &str, right: Right) -> Result<Item> {
    let item = find(visit, id).await?;
    require(&item, right)?;
    Ok(item)
}

/// Refuses a form that would be refused without this right.
pub fn require(item: &Item, right: Right) -> Result<()> {
    if item.rights.has(right) { Ok(()) } else { Err(Error::lacking(right, &item.name)) }
}

/// The place that holds an item.
pub fn parent_page(item: &Item) -> String {
    address::browse_parent(&item.path)
}

//! Names of people and icons of items in lists.

use std::collections::HashMap;

use model::{Id, NodeKind, Result};
use repository::{Item, PrincipalName, Session};

use crate::frame::format::{Icon, file_icon, icon, toned};

/// Returns the names of all users who last changed the items, have them checked out or have them open.
pub async fn names(session: &Session, items: &[Item]) -> Result<HashMap<Id, PrincipalName>> {
    let mut ids: Vec<Id> = items.iter().map(|item| item.modified_by).collect();
    ids.extend(items.iter().filter_map(|item| item.check_out).map(|held| held.by));
    ids.extend(items.iter().filter_map(|item| item.locked_by));
    ids.sort_unstable();
    ids.dedup();
    session.principal_names(&ids).await
}

/// Returns the name of a user or group, or a dash.
pub fn name_of(names: &HashMap<Id, PrincipalName>, id: Id) -> String {
    known_as(names, id).to_owned()
}

/// Borrowing variant of [`name_of`].
pub fn known_as(names: &HashMap<Id, PrincipalName>, id: Id) -> &str {
    names.get(&id).map_or("–", |name| name.name.as_str())
}

/// Returns the icon of an item.
pub fn icon_of(item: &Item) -> Icon {
    match item.kind {
        NodeKind::Document => {
            let end = item.name.rsplit_once('.').map_or("", |(_, end)| end);
            // Most extensions are already in lower case.
            if end.bytes().any(|b| b.is_ascii_uppercase()) {
                file_icon(&end.to_ascii_lowercase())
            } else {
                file_icon(end)
            }
        }
        kind => icon_of_kind(kind),
    }
}

/// Returns the icon of an item of which only the kind is known.
pub fn icon_of_kind(kind: NodeKind) -> Icon {
    match kind {
        NodeKind::Site => toned("site", "tone-accent"),
        NodeKind::Library => toned("library", "tone-accent"),
        NodeKind::List => toned("list", "tone-accent"),
        NodeKind::Row => toned("row", "tone-accent"),
        NodeKind::Folder => toned("folder", "tone-yellow"),
        NodeKind::Document => icon("file"),
    }
}

//! The names of people, and the icons of items, in lists.

use std::collections::HashMap;

use model::{Id, NodeKind, Result};
use repository::{Item, PrincipalName, Session};

use crate::frame::format::{Icon, file_icon, toned};

/// The names of all who changed the items, hold them or have them open.
pub async fn names(session: &Session, items: &[Item]) -> Result<HashMap<Id, PrincipalName>> {
    let mut ids: Vec<Id> = items.iter().map(|item| item.modified_by).collect();
    ids.extend(items.iter().filter_map(|item| item.check_out).map(|held| held.by));
    ids.extend(items.iter().filter_map(|item| item.locked_by));
    ids.sort_unstable();
    ids.dedup();
    session.principal_names(&ids).await
}

/// The name of a user or group, or a dash.
pub fn name_of(names: &HashMap<Id, PrincipalName>, id: Id) -> String {
    known_as(names, id).to_owned()
}

/// The same, lent.
pub fn known_as(names: &HashMap<Id, PrincipalName>, id: Id) -> &str {
    names.get(&id).map_or("–", |name| name.name.as_str())
}

/// The icon of an item.
pub fn icon_of(item: &Item) -> Icon {
    match item.kind {
        NodeKind::Site => toned("site", "tone-accent"),
        NodeKind::Library => toned("library", "tone-accent"),
        NodeKind::Folder => toned("folder", "tone-yellow"),
        NodeKind::Document => {
            let end = item.name.rsplit_once('.').map_or("", |(_, end)| end);
            // Names mostly end in lower case already.
            if end.bytes().any(|b| b.is_ascii_uppercase()) {
                file_icon(&end.to_ascii_lowercase())
            } else {
                file_icon(end)
            }
        }
    }
}

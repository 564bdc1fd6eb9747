//! Items.

use std::collections::HashMap;

use model::{Id, NodeKind, Result, Right, Rights};
use repository::{Item, PrincipalName, Session};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::IdText;
use http_core::protocol::time;

/// A user or group: identifier and display name.
#[derive(Serialize, ToSchema)]
pub struct PersonJson {
    /// Identifier.
    pub id: String,
    /// Name; empty if it is no longer known.
    pub name: String,
}

/// A check-out of a document.
#[derive(Serialize, ToSchema)]
pub struct CheckOutJson {
    /// The holder.
    pub by: PersonJson,
    /// Start time.
    pub at: String,
}

/// An item as the caller sees it.
#[derive(Serialize, ToSchema)]
pub struct ItemJson {
    /// Identifier; stays the same when the item is renamed or moved.
    pub id: String,
    /// `site`, `library`, `folder`, `document`, `list` or `row`.
    pub kind: &'static str,
    /// Name. That of a row is its number.
    pub name: String,
    /// Title of a row; null for other items, and for callers who may not open the row.
    pub title: Option<String>,
    /// Path in the farm.
    pub path: String,
    /// The site collection.
    pub site_collection: String,
    /// The item that contains it; null for a root site.
    pub parent: Option<String>,
    /// The library or list that contains it, or the item itself if it is one; null for a site.
    pub library: Option<String>,
    /// Creation time. This and the next three are null for callers who may not open the item.
    pub created_at: Option<String>,
    /// User who created it.
    pub created_by: Option<PersonJson>,
    /// Time of the last change.
    pub modified_at: Option<String>,
    /// User who changed it.
    pub modified_by: Option<PersonJson>,
    /// Size of a document in bytes; null for other items.
    pub size: Option<u64>,
    /// Media type of a document; null for other items.
    pub media_type: Option<String>,
    /// Number of the version that the caller sees; null for other items.
    pub version: Option<String>,
    /// Entity tag of a document's content or of a row, without quotes; null for other items.
    pub etag: Option<String>,
    /// True if the caller sees their own working copy.
    pub working_copy: bool,
    /// User who has it checked out, if any.
    pub check_out: Option<CheckOutJson>,
    /// Holder of the first lock that covers the item. Filled in for a single item and for the children of an item; null
    /// elsewhere, such as in search results.
    pub locked_by: Option<PersonJson>,
    /// Number of the attachments of a row that the caller may see. Filled in where `locked_by` is; null for other
    /// items.
    pub attachments: Option<u64>,
    /// Its content type.
    pub content_type: Option<String>,
    /// The caller's rights on it.
    pub rights: Vec<&'static str>,
    /// True if it has its own permissions instead of inherited ones.
    pub own_permissions: bool,
}

/// Names of principals, looked up once for a whole response.
pub struct Names(HashMap<Id, PrincipalName>);

impl Names {
    /// Looks up the names of these principals.
    pub async fn of(session: &Session, ids: impl IntoIterator<Item = Id>) -> Result<Self> {
        let mut ids: Vec<Id> = ids.into_iter().filter(|id| !id.is_none()).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(Self(session.principal_names(&ids).await?))
    }

    /// Returns one of them; none for the absent identifier, which stands for an unknown user.
    pub fn optional_person(&self, id: Id) -> Option<PersonJson> {
        (!id.is_none()).then(|| self.person(id))
    }

    /// Returns one of them.
    pub fn person(&self, id: Id) -> PersonJson {
        PersonJson { id: id.to_string(), name: self.0.get(&id).map_or_else(String::new, |name| name.name.clone()) }
    }
}

/// Returns the names of a set of rights.
pub fn rights(rights: Rights) -> Vec<&'static str> {
    rights.iter().map(|right| right.as_str()).collect()
}

fn optional(id: Id) -> Option<String> {
    (!id.is_none()).then(|| id.to_string())
}

/// Returns items in their JSON form.
pub async fn items(session: &Session, items: Vec<Item>) -> Result<Vec<ItemJson>> {
    let people = items.iter().flat_map(|item| {
        let held_by = item.check_out.map(|held| held.by);
        [Some(item.created_by), Some(item.modified_by), held_by, item.locked_by].into_iter().flatten()
    });
    let names = Names::of(session, people).await?;
    Ok(items.into_iter().map(|item| json(item, &names)).collect())
}

/// Returns one item in its JSON form.
pub async fn item(session: &Session, item: Item) -> Result<ItemJson> {
    let people = [Some(item.created_by), Some(item.modified_by), item.check_out.map(|held| held.by), item.locked_by];
    let names = Names::of(session, people.into_iter().flatten()).await?;
    Ok(json(item, &names))
}

fn json(item: Item, names: &Names) -> ItemJson {
    let document = item.kind == NodeKind::Document;
    let opens = item.rights.has(Right::View);
    // That of a row tells when it was changed.
    let etag = (document || item.kind == NodeKind::Row && opens).then(|| item.etag());
    ItemJson {
        id: item.id.to_string(),
        kind: item.kind.as_str(),
        name: item.name,
        title: item.title,
        path: item.path,
        site_collection: item.collection_id.to_string(),
        parent: optional(item.parent_id),
        library: optional(item.library_id),
        created_at: opens.then(|| time::format(item.created_at)),
        created_by: opens.then(|| names.person(item.created_by)),
        modified_at: opens.then(|| time::format(item.modified_at)),
        modified_by: opens.then(|| names.person(item.modified_by)),
        size: document.then_some(item.size),
        media_type: document.then_some(item.media_type),
        version: document.then(|| item.version.to_string()),
        etag,
        working_copy: item.working,
        locked_by: item.locked_by.map(|holder| names.person(holder)),
        check_out: item.check_out.map(|held| CheckOutJson { by: names.person(held.by), at: time::format(held.at) }),
        attachments: item.attachments,
        content_type: item.content_type_id.map(|id| id.to_string()),
        rights: rights(item.rights),
        own_permissions: item.own_permissions,
    }
}

/// A new name.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Naming {
    /// 1 to 255 characters, without slashes or control characters.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
}

/// Destination of an item.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Placing {
    /// Library or folder.
    pub to: IdText,
    /// New name at the destination.
    #[schema(value_type = Option<super::rules::ItemName>)]
    pub name: Option<String>,
}

/// Items to delete.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkDelete {
    /// Identifiers of up to 1,000 items.
    #[schema(max_items = 1000)]
    pub ids: Vec<IdText>,
}

/// Items to move or copy.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkPlacing {
    /// Identifiers of up to 1,000 items.
    #[schema(max_items = 1000)]
    pub ids: Vec<IdText>,
    /// Library or folder.
    pub to: IdText,
}

/// Outcome of a bulk operation for one item.
#[derive(Serialize, ToSchema)]
pub struct Outcome {
    /// The item.
    pub id: String,
    /// The status that the operation would have had for this item alone.
    pub status: u16,
    /// Stable error code; null on success.
    pub code: Option<&'static str>,
    /// Reason for the failure; null on success.
    pub detail: Option<String>,
}

//! Items.

use std::collections::HashMap;

use model::{Id, NodeKind, Result, Right, Rights};
use repository::{Item, PrincipalName, Session};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::IdText;
use http_core::protocol::time;

/// A user or group, by identifier and the name that people see.
#[derive(Serialize, ToSchema)]
pub struct PersonJson {
    /// Identifier.
    pub id: String,
    /// Name; empty when it is not known any more.
    pub name: String,
}

/// Who has a document checked out.
#[derive(Serialize, ToSchema)]
pub struct CheckOutJson {
    /// The holder.
    pub by: PersonJson,
    /// Since when.
    pub at: String,
}

/// A site, library, folder or document, as the caller sees it.
#[derive(Serialize, ToSchema)]
pub struct ItemJson {
    /// Identifier; stays the same when the item is renamed or moved.
    pub id: String,
    /// `site`, `library`, `folder` or `document`.
    pub kind: &'static str,
    /// Name.
    pub name: String,
    /// Path in the farm.
    pub path: String,
    /// The site collection.
    pub site_collection: String,
    /// The item that holds it; null for a root site.
    pub parent: Option<String>,
    /// The library that it is in or is; null for a site.
    pub library: Option<String>,
    /// When it was created; this and the next three are null for who may not open it.
    pub created_at: Option<String>,
    /// By whom.
    pub created_by: Option<PersonJson>,
    /// When it was last changed.
    pub modified_at: Option<String>,
    /// By whom.
    pub modified_by: Option<PersonJson>,
    /// Bytes of a document; null for other items.
    pub size: Option<u64>,
    /// Media type of a document; null for other items.
    pub media_type: Option<String>,
    /// Number of the version that the caller sees; null for other items.
    pub version: Option<String>,
    /// Entity tag of the content, without quotes; null for other items.
    pub etag: Option<String>,
    /// Whether the caller sees their own working copy.
    pub working_copy: bool,
    /// Who has it checked out.
    pub check_out: Option<CheckOutJson>,
    /// Who has it open for edit through WebDAV; null in listings.
    pub locked_by: Option<PersonJson>,
    /// Its content type.
    pub content_type: Option<String>,
    /// What the caller may do with it.
    pub rights: Vec<&'static str>,
    /// Whether it has permissions of its own instead of inherited ones.
    pub own_permissions: bool,
}

/// Names of principals, looked up once for a whole answer.
pub struct Names(HashMap<Id, PrincipalName>);

impl Names {
    /// The names of these.
    pub async fn of(session: &Session, ids: impl IntoIterator<Item = Id>) -> Result<Self> {
        let mut ids: Vec<Id> = ids.into_iter().filter(|id| !id.is_none()).collect();
        ids.sort_unstable();
        ids.dedup();
        Ok(Self(session.principal_names(&ids).await?))
    }

    /// One of them; none for somebody who is nobody known.
    pub fn somebody(&self, id: Id) -> Option<PersonJson> {
        (!id.is_none()).then(|| self.person(id))
    }

    /// One of them.
    pub fn person(&self, id: Id) -> PersonJson {
        PersonJson { id: id.to_string(), name: self.0.get(&id).map_or_else(String::new, |name| name.name.clone()) }
    }
}

/// The words of a set of rights.
pub fn rights(rights: Rights) -> Vec<&'static str> {
    rights.iter().map(|right| right.as_str()).collect()
}

fn optional(id: Id) -> Option<String> {
    (!id.is_none()).then(|| id.to_string())
}

/// Items in their JSON form.
pub async fn items(session: &Session, items: Vec<Item>) -> Result<Vec<ItemJson>> {
    let people = items.iter().flat_map(|item| {
        let held_by = item.check_out.map(|held| held.by);
        [Some(item.created_by), Some(item.modified_by), held_by, item.locked_by].into_iter().flatten()
    });
    let names = Names::of(session, people).await?;
    Ok(items.into_iter().map(|item| json(item, &names)).collect())
}

/// One item in its JSON form.
pub async fn item(session: &Session, item: Item) -> Result<ItemJson> {
    let people = [Some(item.created_by), Some(item.modified_by), item.check_out.map(|held| held.by), item.locked_by];
    let names = Names::of(session, people.into_iter().flatten()).await?;
    Ok(json(item, &names))
}

fn json(item: Item, names: &Names) -> ItemJson {
    let document = item.kind == NodeKind::Document;
    let opens = item.rights.has(Right::View);
    let etag = document.then(|| item.etag());
    ItemJson {
        id: item.id.to_string(),
        kind: item.kind.as_str(),
        name: item.name,
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
        content_type: item.content_type_id.map(|id| id.to_string()),
        rights: rights(item.rights),
        own_permissions: item.own_permissions,
    }
}

/// A new name.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Naming {
    /// 1 to 255 characters, without slashes and control characters.
    #[schema(value_type = super::rules::ItemName)]
    pub name: String,
}

/// Where to put an item.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Placing {
    /// The library or folder.
    pub to: IdText,
    /// Another name there.
    #[schema(value_type = Option<super::rules::ItemName>)]
    pub name: Option<String>,
}

/// Items to delete.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkDelete {
    /// Up to 1,000 items.
    #[schema(max_items = 1000)]
    pub ids: Vec<IdText>,
}

/// Items to move or copy.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct BulkPlacing {
    /// Up to 1,000 items.
    #[schema(max_items = 1000)]
    pub ids: Vec<IdText>,
    /// The library or folder.
    pub to: IdText,
}

/// What became of one item of a bulk operation.
#[derive(Serialize, ToSchema)]
pub struct Outcome {
    /// The item.
    pub id: String,
    /// The status that the operation on this item alone would have had.
    pub status: u16,
    /// A stable word for why it was not done; null when it was.
    pub code: Option<&'static str>,
    /// Why it was not done; null when it was.
    pub detail: Option<String>,
}

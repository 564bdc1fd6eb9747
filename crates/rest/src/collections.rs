//! Site collections, their recycle bins and audit logs, and the activity of items.

use axum::Json as Reply;
use axum::http::StatusCode;
use model::{Accent, Code, Error, Result, SitePath};
use repository::{AUDIT_ACTIONS, AuditFilter, Bin, SiteChange};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Create, Ids, Json, Query};
use super::wire::Once;
use super::wire::bin::{BinQuery, Emptied, EntryJson, WhichBin, which};
use super::wire::collection::{NewSiteCollection, SiteCollectionChange, SiteCollectionJson};
use super::wire::event::EventJson;
use super::wire::item::{self, ItemJson, Names};
use super::wire::list::{List, PageQuery, cursor_of};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(look, change))
        .routes(routes!(bin, empty))
        .routes(routes!(restore))
        .routes(routes!(purge))
        .routes(routes!(audit_log))
        .routes(routes!(activity))
}

/// List the site collections that the caller may see
#[utoipa::path(
    get,
    path = "/api/v1/site-collections",
    operation_id = "list_site_collections",
    tag = "site collections",
    responses((status = 200, description = "All site collections", body = List<SiteCollectionJson>))
)]
async fn list(caller: Authenticated) -> Answer<Reply<List<SiteCollectionJson>>> {
    let found = caller.session.site_collections().await?;
    Ok(Reply(List::whole(found.into_iter().map(Into::into).collect())))
}

/// Create a site collection
///
/// Farm administrators only.
#[utoipa::path(
    post,
    path = "/api/v1/site-collections",
    operation_id = "create_site_collection",
    tag = "site collections",
    params(Once),
    request_body = NewSiteCollection,
    responses((status = 201, description = "The site collection", body = SiteCollectionJson))
)]
async fn create(
    caller: Authenticated,
    create: Create<NewSiteCollection>,
) -> Answer<(StatusCode, Reply<SiteCollectionJson>)> {
    let (session, new) = create.with(caller.session);
    let path = SitePath::parse(&new.path)?;
    let owner = new.owner.map(|owner| owner.0);
    let id = session.create_site_collection(&path, &new.title, new.database.as_deref(), owner).await?;
    Ok((StatusCode::CREATED, Reply(session.site_collection(id).await?.into())))
}

/// Get a site collection
#[utoipa::path(
    get,
    path = "/api/v1/site-collections/{id}",
    operation_id = "get_site_collection",
    tag = "site collections",
    params(("id" = String, Path, description = "Identifier of the site collection")),
    responses((status = 200, description = "The site collection", body = SiteCollectionJson))
)]
async fn look(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<SiteCollectionJson>> {
    Ok(Reply(caller.session.site_collection(id).await?.into()))
}

/// Change a site collection
///
/// Makes all requested changes, or none.
#[utoipa::path(
    patch,
    path = "/api/v1/site-collections/{id}",
    operation_id = "change_site_collection",
    tag = "site collections",
    params(("id" = String, Path, description = "Identifier of the site collection")),
    request_body = SiteCollectionChange,
    responses((status = 200, description = "The site collection as it is now", body = SiteCollectionJson))
)]
async fn change(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(change): Json<SiteCollectionChange>,
) -> Answer<Reply<SiteCollectionJson>> {
    let accent = change.accent.as_deref().map(Accent::parse).transpose()?;
    let SiteCollectionChange { quota_bytes, audit_reads, title, .. } = change;
    let change = SiteChange { title, accent, quota_bytes, audit_reads };
    caller.session.change_site_collection(id, change).await?;
    Ok(Reply(caller.session.site_collection(id).await?.into()))
}

/// List a recycle bin
///
/// Newest first.
#[utoipa::path(
    get,
    path = "/api/v1/site-collections/{id}/recycle-bin",
    operation_id = "list_recycle_bin",
    tag = "recycle bin",
    params(("id" = String, Path, description = "Identifier of the site collection"), BinQuery),
    responses((status = 200, description = "One page", body = List<EntryJson>))
)]
async fn bin(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<BinQuery>,
) -> Answer<Reply<List<EntryJson>>> {
    let (bin, page) = query.read()?;
    let page = caller.session.recycled(id, bin, page.before()?, page.limit()?).await?;
    let names = Names::of(&caller.session, page.items.iter().map(|entry| entry.deleted_by)).await?;
    let items = page.items.into_iter().map(|entry| EntryJson::new(entry, &names)).collect();
    Ok(Reply(List { items, next: page.next.map(cursor_of) }))
}

/// Empty a recycle bin
///
/// Entries of the caller's own bin move to the site bin. Entries of the site bin are deleted permanently.
#[utoipa::path(
    delete,
    path = "/api/v1/site-collections/{id}/recycle-bin",
    operation_id = "empty_recycle_bin",
    tag = "recycle bin",
    params(("id" = String, Path, description = "Identifier of the site collection"), WhichBin),
    responses((status = 200, description = "The number of entries that were in it", body = Emptied))
)]
async fn empty(caller: Authenticated, Ids([id]): Ids<1>, Query(query): Query<WhichBin>) -> Answer<Reply<Emptied>> {
    let entries = caller.session.empty_bin(id, which(query.bin.as_deref())?).await?;
    Ok(Reply(Emptied { entries }))
}

/// Restore a deleted item to its former location
///
/// If its name is taken, the item gets a free one.
#[utoipa::path(
    post,
    path = "/api/v1/site-collections/{id}/recycle-bin/{entry}/restore",
    operation_id = "restore_item",
    tag = "recycle bin",
    params(
        ("id" = String, Path, description = "Identifier of the site collection"),
        ("entry" = String, Path, description = "Identifier of the entry"),
    ),
    responses((status = 200, description = "The item", body = ItemJson))
)]
async fn restore(caller: Authenticated, Ids([id, entry]): Ids<2>) -> Answer<Reply<ItemJson>> {
    let restored = caller.session.restore(id, entry).await?;
    Ok(Reply(item::item(&caller.session, restored).await?))
}

/// Remove an entry from its recycle bin
///
/// An entry of the caller's own bin moves to the site bin. Entries of the site bin, and those of other users, are
/// deleted permanently.
#[utoipa::path(
    delete,
    path = "/api/v1/site-collections/{id}/recycle-bin/{entry}",
    operation_id = "purge_item",
    tag = "recycle bin",
    params(
        ("id" = String, Path, description = "Identifier of the site collection"),
        ("entry" = String, Path, description = "Identifier of the entry"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn purge(caller: Authenticated, Ids([id, entry]): Ids<2>) -> Answer<StatusCode> {
    caller.session.purge(id, entry, Bin::Mine).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Filter and page of the audit log of a site collection.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct AuditLogQuery {
    /// Maximum number of entries on the page, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// `next` of the previous page.
    #[param(value_type = Option<super::wire::rules::CursorText>)]
    cursor: Option<String>,
    /// Identifier of a user: only actions of that user.
    #[param(value_type = Option<super::wire::rules::Identifier>)]
    actor: Option<String>,
    /// Only this action, such as `document.replace`.
    #[param(value_type = Option<super::wire::rules::AuditAction>)]
    action: Option<String>,
}

impl AuditLogQuery {
    fn filter(&self) -> Result<AuditFilter> {
        if let Some(action) = self.action.as_deref().filter(|action| !AUDIT_ACTIONS.contains(action)) {
            let text = format!("the audit log of a site collection has no action \"{}\"", action.escape_debug());
            return Err(Error::invalid(text).with_code(Code::InvalidQuery));
        }
        let actor = self.actor.as_ref().map(|text| text.parse()).transpose()?;
        Ok(AuditFilter { actor, action: self.action.clone() })
    }
}

/// List the audit log of a site collection
///
/// Newest first. A page may be short or empty; only a page without `next` is the last.
#[utoipa::path(
    get,
    path = "/api/v1/site-collections/{id}/audit-log",
    operation_id = "list_audit_log",
    tag = "activity",
    params(("id" = String, Path, description = "Identifier of the site collection"), AuditLogQuery),
    responses((status = 200, description = "One page", body = List<EventJson>))
)]
async fn audit_log(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<AuditLogQuery>,
) -> Answer<Reply<List<EventJson>>> {
    let part = PageQuery { limit: query.limit, cursor: query.cursor.clone() };
    let page = caller.session.audit_log(id, query.filter()?, part.before()?, part.limit()?).await?;
    let names = Names::of(&caller.session, page.items.iter().map(|event| event.actor)).await?;
    let items = page.items.into_iter().map(|event| EventJson::new(event, &names)).collect();
    Ok(Reply(List { items, next: page.next.map(cursor_of) }))
}

/// List the activity of an item
///
/// Newest first.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/activity",
    operation_id = "list_activity",
    tag = "activity",
    params(("id" = String, Path, description = "Identifier of the item"), PageQuery),
    responses((status = 200, description = "One page", body = List<EventJson>))
)]
async fn activity(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<PageQuery>,
) -> Answer<Reply<List<EventJson>>> {
    let page = caller.session.activity(&id.into(), query.before()?, query.limit()?).await?;
    let names = Names::of(&caller.session, page.items.iter().map(|event| event.actor)).await?;
    let items = page.items.into_iter().map(|event| EventJson::new(event, &names)).collect();
    Ok(Reply(List { items, next: page.next.map(cursor_of) }))
}

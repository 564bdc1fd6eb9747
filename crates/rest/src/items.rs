//! Items: reading, listing, renaming and deleting them, and creating folders, libraries and sites.

use axum::Json as Reply;
use axum::extract::OriginalUri;
use axum::http::{HeaderMap, StatusCode};
use model::{Code, LibrarySettings, Name};
use repository::{Filter, Session, Sort, Target};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;
use http_core::transfer::query::query;
use http_core::transfer::{conditions, listing_cursor};

use super::extract::{Create, Ids, Json, Query};
use super::wire::Once;
use super::wire::content::Recycled;
use super::wire::item::{self, ItemJson, Naming};
use super::wire::library::NewLibrary;
use super::wire::list::{List, limit};
use super::wire::template::NewSiteForm;

/// The path of an item.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PathQuery {
    /// Path in the farm: site path, library, folders and name. Empty for the root site.
    #[param(value_type = super::wire::rules::ItemPath)]
    path: String,
}

/// Order and page of the children of an item.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// `name` (the default), `modified`, `size`, `person`, `type`, or the identifier of a column. Items that hold
    /// others always come first, by name.
    #[param(value_type = Option<super::wire::rules::SortKeyText>)]
    sort: Option<String>,
    /// `ascending` (the default) or `descending`.
    #[param(value_type = Option<super::wire::rules::Order>)]
    order: Option<String>,
    /// Maximum number of entries on the page, 1 to 1000.
    #[param(minimum = 1, maximum = 1000, default = 100)]
    limit: Option<usize>,
    /// `next` of the previous page.
    #[param(value_type = Option<super::wire::rules::CursorText>)]
    cursor: Option<String>,
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(look_by_path))
        .routes(routes!(list_by_path))
        .routes(routes!(look, rename, remove))
        .routes(routes!(ancestors))
        .routes(routes!(list))
        .routes(routes!(create_folder))
        .routes(routes!(create_library))
        .routes(routes!(create_site))
}

/// Get the item at a path
#[utoipa::path(
    get,
    path = "/api/v1/items/by-path",
    operation_id = "get_item_by_path",
    tag = "items",
    params(PathQuery),
    responses((status = 200, description = "The item", body = ItemJson))
)]
async fn look_by_path(caller: Authenticated, Query(query): Query<PathQuery>) -> Answer<Reply<ItemJson>> {
    let item = caller.session.item(&Target::path(&query.path)?).await?;
    Ok(Reply(item::item(&caller.session, item).await?))
}

/// List the children of the item at a path
///
/// Items that the caller may not see are left out. Those of a row are its attachments.
#[utoipa::path(
    get,
    path = "/api/v1/items/by-path/children",
    operation_id = "list_children_by_path",
    tag = "items",
    params(PathQuery, ListQuery),
    responses((status = 200, description = "One page", body = List<ItemJson>))
)]
async fn list_by_path(caller: Authenticated, OriginalUri(uri): OriginalUri) -> Answer<Reply<List<ItemJson>>> {
    let query: PathListQuery = query(&uri)?;
    let page = ListQuery { sort: query.sort, order: query.order, limit: query.limit, cursor: query.cursor };
    children(&caller.session, &Target::path(&query.path)?, page).await
}

/// Get an item
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}",
    operation_id = "get_item",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "The item", body = ItemJson))
)]
async fn look(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<ItemJson>> {
    let item = caller.session.item(&id.into()).await?;
    Ok(Reply(item::item(&caller.session, item).await?))
}

/// Rename an item
#[utoipa::path(
    patch,
    path = "/api/v1/items/{id}",
    operation_id = "rename_item",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = Naming,
    responses((status = 200, description = "The item under its new name", body = ItemJson))
)]
async fn rename(caller: Authenticated, Ids([id]): Ids<1>, Json(naming): Json<Naming>) -> Answer<Reply<ItemJson>> {
    let item = caller.session.rename(&id.into(), &Name::new(naming.name)?).await?;
    Ok(Reply(item::item(&caller.session, item).await?))
}

/// Move an item to the recycle bin
///
/// Includes everything in the item. With `If-Match`, only if the entity tag of the document still matches.
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}",
    operation_id = "delete_item",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "The item is in the recycle bin now", body = Recycled))
)]
async fn remove(caller: Authenticated, Ids([id]): Ids<1>, headers: HeaderMap) -> Answer<Reply<Recycled>> {
    let item = caller.session.item(&id.into()).await?;
    let conditions = conditions::of_change(&caller.session, || id.into(), &headers).await?;
    let entry = caller.session.delete_if(&id.into(), conditions).await?;
    Ok(Reply(Recycled::new(&item, entry)))
}

/// List the ancestors of an item
///
/// From the root site of its collection down to the item itself.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/ancestors",
    operation_id = "list_ancestors",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "The ancestors, ending with the item itself", body = List<ItemJson>))
)]
async fn ancestors(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<List<ItemJson>>> {
    let items = caller.session.item_with_ancestors(&id.into()).await?;
    Ok(Reply(List::whole(item::items(&caller.session, items).await?)))
}

/// List the children of an item
///
/// Items that the caller may not see are left out. Those of a row are its attachments.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/children",
    operation_id = "list_children",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item"), ListQuery),
    responses((status = 200, description = "One page", body = List<ItemJson>))
)]
async fn list(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<ListQuery>,
) -> Answer<Reply<List<ItemJson>>> {
    children(&caller.session, &id.into(), query).await
}

/// Create a folder in a library or folder
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/folders",
    operation_id = "create_folder",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item"), Once),
    request_body = Naming,
    responses((status = 201, description = "The folder", body = ItemJson))
)]
async fn create_folder(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<Naming>,
) -> Answer<(StatusCode, Reply<ItemJson>)> {
    let (session, naming) = create.with(caller.session);
    let made = session.create_folder(&id.into(), &Name::new(naming.name)?).await?;
    Ok((StatusCode::CREATED, Reply(item::item(&session, made).await?)))
}

/// Create a library in a site
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/libraries",
    operation_id = "create_library",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item"), Once),
    request_body = NewLibrary,
    responses((status = 201, description = "The library", body = ItemJson))
)]
async fn create_library(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<NewLibrary>,
) -> Answer<(StatusCode, Reply<ItemJson>)> {
    let (session, new) = create.with(caller.session);
    let settings = new.settings.on(LibrarySettings::default())?;
    let made = session.create_library(&id.into(), &Name::new(new.name)?, settings).await?;
    Ok((StatusCode::CREATED, Reply(item::item(&session, made).await?)))
}

/// Create a subsite of a site
///
/// With a template, everything in it is made at once, or nothing. If the template asks for people and some are given,
/// the site has its own permissions; otherwise it inherits.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/sites",
    operation_id = "create_site",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item"), Once),
    request_body = NewSiteForm,
    responses((status = 201, description = "The site", body = ItemJson))
)]
async fn create_site(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<NewSiteForm>,
) -> Answer<(StatusCode, Reply<ItemJson>)> {
    let (session, form) = create.with(caller.session);
    let (name, site) = (Name::new(form.name.as_str())?, id.into());
    let made = match &form.template {
        None => session.create_site(&site, &name).await?,
        Some(template) => {
            let template = session.template(Some(&site), template).await?;
            session.create_site_from(&site, &name, &template, form.new_site()).await?
        }
    };
    Ok((StatusCode::CREATED, Reply(item::item(&session, made).await?)))
}

/// Both queries of a listing by path in one, since each alone refuses the other's fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PathListQuery {
    path: String,
    sort: Option<String>,
    order: Option<String>,
    limit: Option<usize>,
    cursor: Option<String>,
}

async fn children(session: &Session, target: &Target, query: ListQuery) -> Answer<Reply<List<ItemJson>>> {
    let bad = |text: &'static str| model::Error::invalid(text).with_code(Code::InvalidQuery);
    let sort = match query.sort.as_deref() {
        None | Some("name") => Sort::Name,
        Some("modified") => Sort::Modified,
        Some("size") => Sort::Size,
        Some("person") => Sort::Person,
        Some("type") => Sort::Type,
        Some(word) => match word.parse() {
            Ok(column) => Sort::Column(column),
            Err(_) => {
                return Err(
                    bad("sort is one of name, modified, size, person, type, or the identifier of a column").into()
                );
            }
        },
    };
    let descending = match query.order.as_deref() {
        None | Some("ascending") => false,
        Some("descending") => true,
        Some(_) => return Err(bad("order is one of ascending, descending").into()),
    };
    let filter = Filter::default();
    let listing = |item| listing_cursor::Listing { item, sort, descending, filter: &filter };
    let after = match query.cursor.as_deref() {
        Some(text) => Some(listing_cursor::open(session, &listing(session.item(target).await?.id), text).await?),
        None => None,
    };
    let (folder, page) = session.list(target, sort, descending, after, limit(query.limit)?).await?;
    let next = match &page.next {
        Some(next) => Some(listing_cursor::seal(session, &listing(folder.id), next).await?),
        None => None,
    };
    Ok(Reply(List { items: item::items(session, page.items).await?, next }))
}

//! Moving and copying, and bulk variants that return an outcome for each item.

use axum::Json as Reply;
use axum::http::StatusCode;
use model::{Id, Name};
use repository::BulkOutcome;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Create, Ids, Json};
use super::wire::item::{self, BulkDelete, BulkPlacing, ItemJson, Outcome, Placing};
use super::wire::list::List;
use super::wire::{IdText, Once};
use http_core::identity::Authenticated;
use http_core::server::error::{self, Answer};
use http_core::server::request::acquire_costly;
use http_core::server::state::AppState;

type Outcomes = (StatusCode, Reply<List<Outcome>>);

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(move_item))
        .routes(routes!(copy_item))
        .routes(routes!(delete_many))
        .routes(routes!(move_many))
        .routes(routes!(copy_many))
}

/// Move an item
///
/// The destination is in the same site collection: another library or folder for a folder or document, also a row of a
/// list for a document, another list for a row, and another site for a site, library or list. The item keeps its
/// identifier, versions and own permissions. A row takes no `name`: it gets the next number of the list, and is refused
/// with `missing_columns` unless the list has a column of the same name and kind for each of its values.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/move",
    operation_id = "move_item",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = Placing,
    responses((status = 200, description = "The item in its new location", body = ItemJson))
)]
async fn move_item(caller: Authenticated, Ids([id]): Ids<1>, Json(placing): Json<Placing>) -> Answer<Reply<ItemJson>> {
    let name = placing.name.map(Name::new).transpose()?;
    let moved = caller.session.move_to(&id.into(), &placing.to.0.into(), name.as_ref()).await?;
    Ok(Reply(item::item(&caller.session, moved).await?))
}

/// Copy an item
///
/// The destination is in the same site collection: a library or folder for a folder or document, also a row of a list
/// for a document, a list for a row, and a site for a site, library or list. Libraries and lists are copied with their
/// settings, columns and shared views, and sites with everything in them; more than 50,000 items are refused with
/// `copy_too_large`. No bytes are copied. If the name is taken, a number is appended. A row takes no `name`. The copy
/// inherits permissions, and items that the caller may not open are left out.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/copy",
    operation_id = "copy_item",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the item"), Once),
    request_body = Placing,
    responses((status = 201, description = "The copy", body = ItemJson))
)]
async fn copy_item(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<Placing>,
) -> Answer<(StatusCode, Reply<ItemJson>)> {
    let (session, placing) = create.with(caller.session);
    let holds_others = session.item(&id.into()).await?.kind.is_container();
    let _permit = if holds_others { acquire_costly()? } else { None };
    let name = placing.name.map(Name::new).transpose()?;
    let copy = session.copy_to(&id.into(), &placing.to.0.into(), name.as_ref()).await?;
    Ok((StatusCode::CREATED, Reply(item::item(&session, copy).await?)))
}

/// Move many items to the recycle bin
///
/// Each item is handled on its own: a failure does not stop the others.
#[utoipa::path(
    post,
    path = "/api/v1/bulk/delete",
    operation_id = "bulk_delete",
    tag = "items",
    request_body = BulkDelete,
    responses((status = 207, description = "The outcome for each item", body = List<Outcome>))
)]
async fn delete_many(caller: Authenticated, Json(bulk): Json<BulkDelete>) -> Answer<Outcomes> {
    Ok(outcomes(caller.session.delete_many(&ids(&bulk.ids)).await?))
}

/// Move many items to one destination
///
/// Each item is handled on its own.
#[utoipa::path(
    post,
    path = "/api/v1/bulk/move",
    operation_id = "bulk_move",
    tag = "items",
    request_body = BulkPlacing,
    responses((status = 207, description = "The outcome for each item", body = List<Outcome>))
)]
async fn move_many(caller: Authenticated, Json(bulk): Json<BulkPlacing>) -> Answer<Outcomes> {
    Ok(outcomes(caller.session.move_many(&ids(&bulk.ids), &bulk.to.0.into()).await?))
}

/// Copy many items to one destination
///
/// Each item is handled on its own. If a name is taken, a number is appended.
#[utoipa::path(
    post,
    path = "/api/v1/bulk/copy",
    operation_id = "bulk_copy",
    tag = "items",
    request_body = BulkPlacing,
    responses((status = 207, description = "The outcome for each item", body = List<Outcome>))
)]
async fn copy_many(caller: Authenticated, Json(bulk): Json<BulkPlacing>) -> Answer<Outcomes> {
    let _permit = acquire_costly()?;
    Ok(outcomes(caller.session.copy_many(&ids(&bulk.ids), &bulk.to.0.into()).await?))
}

fn ids(texts: &[IdText]) -> Vec<Id> {
    texts.iter().map(|id| id.0).collect()
}

fn outcomes(outcomes: Vec<BulkOutcome>) -> Outcomes {
    let outcome = |BulkOutcome { id, error }| match error {
        None => Outcome { id: id.to_string(), status: StatusCode::OK.as_u16(), code: None, detail: None },
        Some(error) => {
            let status = error::status(&error);
            error::log(&error, status);
            let detail = Some(error::public_message(&error).to_owned());
            Outcome { id: id.to_string(), status: status.as_u16(), code: Some(error.code().as_str()), detail }
        }
    };
    (StatusCode::MULTI_STATUS, Reply(List::whole(outcomes.into_iter().map(outcome).collect())))
}

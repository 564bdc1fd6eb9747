//! Saved views of libraries.

use axum::Json as Reply;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Ids, Json};
use super::wire::Created;
use super::wire::list::List;
use super::wire::view::{ViewForm, ViewJson};
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(views, save)).routes(routes!(delete))
}

/// List the views of a library
///
/// The identifier is that of the library or of an item in it. Shared views come first, then the caller's own.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/views",
    operation_id = "list_views",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "All views", body = List<ViewJson>))
)]
async fn views(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<List<ViewJson>>> {
    let views = caller.session.views(&id.into()).await?;
    Ok(Reply(List::whole(views.into_iter().map(Into::into).collect())))
}

/// Save a view of a library
///
/// The identifier is that of the library or of an item in it. A view with the same name is replaced and keeps its
/// identifier, so that repeating the request changes nothing.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/views",
    operation_id = "save_view",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = ViewForm,
    responses((status = 200, description = "The view", body = Created))
)]
async fn save(caller: Authenticated, Ids([id]): Ids<1>, Json(form): Json<ViewForm>) -> Answer<Reply<Created>> {
    let view = caller.session.save_view(&id.into(), form.view()?).await?;
    Ok(Reply(Created { id: view.to_string() }))
}

/// Remove a view
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/views/{view}",
    operation_id = "delete_view",
    tag = "libraries",
    params(
        ("id" = String, Path, description = "Identifier of the item"),
        ("view" = String, Path, description = "Identifier of the view"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn delete(caller: Authenticated, Ids([id, view]): Ids<2>) -> Answer<StatusCode> {
    caller.session.delete_view(&id.into(), view).await?;
    Ok(StatusCode::NO_CONTENT)
}

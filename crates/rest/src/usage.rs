//! Contents of sites, libraries, lists and folders in figures.

use axum::Json as Reply;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::Ids;
use super::wire::usage::UsageJson;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(usage, measure))
}

/// Get how much a site, library, list or folder holds
///
/// The figures are those of the last measurement. They include everything below the item on which the caller has the
/// right to manage the site, all versions of documents, and nothing from recycle bins.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/usage",
    operation_id = "get_usage",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the site, library, list or folder")),
    responses((status = 200, description = "The figures", body = UsageJson))
)]
async fn usage(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<UsageJson>> {
    let report = caller.session.usage(&id.into()).await?;
    Ok(Reply(UsageJson::new(id, &report)))
}

/// Measure a site collection anew
///
/// A server of the farm begins within seconds. Repeating the request before that changes nothing.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/usage",
    operation_id = "measure_usage",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of a site, library, list or folder in it")),
    responses((status = 202, description = "The measurement will begin"))
)]
async fn measure(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.request_measurement(&id.into()).await?;
    Ok(StatusCode::ACCEPTED)
}

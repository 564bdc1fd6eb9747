//! Following documents, and the contents of the caller's home page.

use axum::Json as Reply;
use axum::http::StatusCode;
use model::{Code, Error, Result};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Ids, Query};
use super::wire::home::{HappeningJson, HomeJson, MostQuery};
use super::wire::list::List;

/// Default and maximum number of entries of each kind.
const USUAL: usize = 24;
const MAX_ENTRIES: usize = 100;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(follow, leave)).routes(routes!(home)).routes(routes!(happenings))
}

fn limit(query: &MostQuery) -> Result<usize> {
    match query.limit.unwrap_or(USUAL) {
        limit @ 1..=MAX_ENTRIES => Ok(limit),
        _ => Err(Error::invalid(format!("limit is 1 to {MAX_ENTRIES}")).with_code(Code::InvalidQuery)),
    }
}

/// Follow a document
///
/// Repeating the request changes nothing.
#[utoipa::path(
    put,
    path = "/api/v1/items/{id}/following",
    operation_id = "follow",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the document")),
    responses((status = 204, description = "Done"))
)]
async fn follow(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.set_followed(&id.into(), true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stop following a document
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/following",
    operation_id = "unfollow",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the document")),
    responses((status = 204, description = "Done"))
)]
async fn leave(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.set_followed(&id.into(), false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the caller's documents and sites
///
/// Recent, followed, checked-out and draft documents that the caller may open, and site collections, across all sites.
#[utoipa::path(
    get,
    path = "/api/v1/me/home",
    operation_id = "get_home",
    tag = "me",
    params(MostQuery),
    responses((status = 200, description = "The documents of the caller's home page", body = HomeJson))
)]
async fn home(caller: Authenticated, Query(query): Query<MostQuery>) -> Answer<Reply<HomeJson>> {
    let home = caller.session.home(limit(&query)?).await?;
    Ok(Reply(HomeJson::new(&caller.session, home).await?))
}

/// List recent events of documents that the caller may open
///
/// Newest first. When the time limit is reached, the response has what was found until then. Events in a content
/// database that is unavailable or unreadable are missing, and this response does not show it: `complete` of
/// `/api/v1/me/home` does.
#[utoipa::path(
    get,
    path = "/api/v1/me/happenings",
    operation_id = "list_happenings",
    tag = "me",
    params(MostQuery),
    responses((status = 200, description = "The most recent events", body = List<HappeningJson>))
)]
async fn happenings(caller: Authenticated, Query(query): Query<MostQuery>) -> Answer<Reply<List<HappeningJson>>> {
    let found = caller.session.recent_events(limit(&query)?).await?;
    Ok(Reply(List::whole(HappeningJson::all(&caller.session, found).await?)))
}

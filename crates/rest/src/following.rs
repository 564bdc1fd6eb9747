//! Following documents, the contents of the caller's home page, and what changed in a site, library, list or folder.

use axum::Json as Reply;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use model::{Code, Error, Result};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Ids, Query};
use super::feed::{self, ActivityFeed};
use super::wire::home::{HappeningJson, HomeJson, MostQuery, SharedByMeJson, SharedList, SharedWithMeJson};
use super::wire::item::Names;
use super::wire::list::List;

/// Default and maximum number of entries of each kind.
const USUAL: usize = 24;
const MAX_ENTRIES: usize = 100;
/// Number of changes in a feed.
const MAX_FEED: usize = 50;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(follow, leave))
        .routes(routes!(home))
        .routes(routes!(shared_with_me))
        .routes(routes!(shared_by_me))
        .routes(routes!(happenings))
        .routes(routes!(happenings_below))
        .routes(routes!(feed_of_item))
}

fn limit(query: &MostQuery) -> Result<usize> {
    match query.limit.unwrap_or(USUAL) {
        limit @ 1..=MAX_ENTRIES => Ok(limit),
        _ => Err(Error::invalid(format!("limit is 1 to {MAX_ENTRIES}")).with_code(Code::InvalidQuery)),
    }
}

/// Follow a document, or pin a site, library, list or folder
///
/// Repeating the request changes nothing. Followed documents and pinned places are on the caller's home page.
#[utoipa::path(
    put,
    path = "/api/v1/items/{id}/following",
    operation_id = "follow",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 204, description = "Done"))
)]
async fn follow(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.set_followed(&id.into(), true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Stop following a document, or unpin a place
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/following",
    operation_id = "unfollow",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the item")),
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
    let limit = limit(&query)?;
    let (home, pinned) = tokio::try_join!(caller.session.home(limit), caller.session.pinned(limit))?;
    Ok(Reply(HomeJson::new(&caller.session, home, pinned).await?))
}

/// List items that others shared with the caller
///
/// Newest first: items with a role for the caller or one of the caller's groups that the place above does not give.
/// Items that are shared with everyone are left out.
#[utoipa::path(
    get,
    path = "/api/v1/me/shared-with-me",
    operation_id = "list_shared_with_me",
    tag = "me",
    params(MostQuery),
    responses((status = 200, description = "The items", body = SharedList<SharedWithMeJson>))
)]
async fn shared_with_me(
    caller: Authenticated,
    Query(query): Query<MostQuery>,
) -> Answer<Reply<SharedList<SharedWithMeJson>>> {
    let shared = caller.session.shared_with_me(limit(&query)?).await?;
    Ok(Reply(SharedList::new(SharedWithMeJson::all(&caller.session, shared.items).await?, &shared.missing)))
}

/// List items that the caller shared with others
///
/// Newest first: items on which the caller gave somebody a role that the place above does not give, or made a link.
#[utoipa::path(
    get,
    path = "/api/v1/me/shared-by-me",
    operation_id = "list_shared_by_me",
    tag = "me",
    params(MostQuery),
    responses((status = 200, description = "The items", body = SharedList<SharedByMeJson>))
)]
async fn shared_by_me(
    caller: Authenticated,
    Query(query): Query<MostQuery>,
) -> Answer<Reply<SharedList<SharedByMeJson>>> {
    let shared = caller.session.shared_by_me(limit(&query)?).await?;
    Ok(Reply(SharedList::new(SharedByMeJson::all(&caller.session, shared.items).await?, &shared.missing)))
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

/// List recent changes below an item
///
/// Returns the changes in a site, library, list or folder, newest first. Rows of a list that one person changed in
/// succession are one event, in which at most 250 are counted. When the time limit is reached, the response has what
/// was found until then.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/happenings",
    operation_id = "list_happenings_below",
    tag = "activity",
    params(("id" = String, Path, description = "Identifier of the item"), MostQuery),
    responses((status = 200, description = "The most recent changes", body = List<HappeningJson>))
)]
async fn happenings_below(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<MostQuery>,
) -> Answer<Reply<List<HappeningJson>>> {
    let found = caller.session.recent_events_below(&id.into(), limit(&query)?).await?;
    Ok(Reply(List::whole(HappeningJson::all(&caller.session, found).await?)))
}

/// Get the feed of an item
///
/// An Atom feed (RFC 4287) of the 50 most recent changes below a site, library, list or folder. Feed readers sign in
/// with Basic or a token. `If-None-Match` is supported.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/feed",
    operation_id = "get_item_feed",
    tag = "activity",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses(
        (status = 200, description = "The feed", content_type = "application/atom+xml", body = String),
        (status = 304, description = "The client has this state already"),
    )
)]
async fn feed_of_item(caller: Authenticated, Ids([id]): Ids<1>, request: Request) -> Answer<Response> {
    let target = id.into();
    let events = caller.session.recent_events_below(&target, MAX_FEED).await?;
    let place = caller.session.item(&target).await?;
    let names = Names::of(&caller.session, events.iter().map(|event| event.actor)).await?;
    let write = |origin: &str| ActivityFeed { origin, place: &place, events: &events, names: &names }.write();
    Ok(feed::answer(&request, write)?)
}

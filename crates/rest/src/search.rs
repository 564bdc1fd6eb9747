//! Search for items by parts of their names.

use axum::Json as Reply;
use model::{Code, Error};
use repository::MAX_FOUND;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::Query;
use super::wire::item::{self, ItemJson};

/// A search query.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchQuery {
    /// Words that a name must all contain, in any position, ignoring case. At most 255 characters.
    #[param(value_type = super::wire::rules::Sought)]
    q: String,
    /// Maximum number of items in the response, 1 to 50.
    #[param(minimum = 1, maximum = 50, default = 50)]
    limit: Option<usize>,
}

/// Result of a search.
#[derive(Serialize, ToSchema)]
pub struct FoundJson {
    /// Sites, libraries and folders, then documents. Names that begin with the search text come first; documents are
    /// ordered newest first.
    items: Vec<ItemJson>,
    /// True if there are more results than requested.
    more: bool,
    /// True if everything was searched. False when the time limit was reached before the oldest documents, or when a
    /// content database is unavailable or unreadable.
    complete: bool,
    /// Names of the content databases that are unavailable or unreadable and were not searched. Only for farm
    /// administrators.
    incomplete: Vec<String>,
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(search))
}

/// Find items by a part of their names
///
/// Searches all sites for items that the caller may open. Up to half of the results may be sites, libraries and
/// folders.
#[utoipa::path(
    get,
    path = "/api/v1/search",
    operation_id = "search",
    tag = "items",
    params(SearchQuery),
    responses((status = 200, description = "The items found", body = FoundJson))
)]
async fn search(caller: Authenticated, Query(query): Query<SearchQuery>) -> Answer<Reply<FoundJson>> {
    let limit = query.limit.unwrap_or(MAX_FOUND);
    if !(1..=MAX_FOUND).contains(&limit) {
        return Err(Error::invalid("limit is 1 to 50").with_code(Code::InvalidQuery).into());
    }
    let found = caller.session.search(&query.q, limit).await?;
    let items = item::items(&caller.session, found.items).await?;
    let complete = found.whole && found.missing.is_empty();
    Ok(Reply(FoundJson { items, more: found.more, complete, incomplete: found.missing.names() }))
}

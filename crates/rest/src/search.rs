//! Search for items by their names, and for documents by their words.

use axum::Json as Reply;
use model::{Code, Error};
use repository::{FoundItem, MAX_FOUND, Piece, TextSearch};
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
    /// Words to search for, ignoring case. Names match parts of words; texts match whole words, ignoring accents.
    /// Quotation marks enclose a phrase. At most 255 characters.
    #[param(value_type = super::wire::rules::Sought)]
    q: String,
    /// Maximum number of items in the response, 1 to 50.
    #[param(minimum = 1, maximum = 50, default = 50)]
    limit: Option<usize>,
}

/// Result of a search.
#[derive(Serialize, ToSchema)]
pub struct FoundJson {
    /// Sites, libraries and folders; then documents whose names begin with the search text; then documents with the
    /// words in name or text, the best first; then documents with the search text anywhere in their names, newest
    /// first.
    items: Vec<ItemJson>,
    /// Matching passages of the documents in `items`. Items that match only by name have none.
    passages: Vec<PassageJson>,
    /// True if there are more results than requested.
    more: bool,
    /// True if all names were compared. False when the time limit was reached before the oldest documents, or when a
    /// content database is unavailable or unreadable.
    complete: bool,
    /// State of the text search: `complete`; `incomplete` while an index is being built, or if time was up;
    /// `unavailable` if at least one index cannot be used.
    #[schema(value_type = String, example = "complete")]
    texts: &'static str,
    /// Names of the content databases that are unavailable or unreadable and were not searched. Only for farm
    /// administrators.
    incomplete: Vec<String>,
}

/// A part of the text of a document.
#[derive(Serialize, ToSchema)]
pub struct PassageJson {
    /// Identifier of the document.
    id: String,
    /// Its pieces, in order.
    pieces: Vec<PieceJson>,
    /// True if the text has more before this part.
    more_before: bool,
    /// True if the text has more after this part.
    more_after: bool,
}

/// A piece of a passage.
#[derive(Serialize, ToSchema)]
pub struct PieceJson {
    /// Text without line breaks and control characters.
    text: String,
    /// True for a word that was searched for.
    hit: bool,
}

impl PassageJson {
    fn of(found: &FoundItem) -> Option<Self> {
        let passage = found.passage.as_ref()?;
        let piece = |piece: &Piece| PieceJson { text: piece.text.clone(), hit: piece.hit };
        Some(Self {
            id: found.item.id.to_string(),
            pieces: passage.pieces.iter().map(piece).collect(),
            more_before: passage.more.0,
            more_after: passage.more.1,
        })
    }
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(search))
}

/// Find items by their names, and documents by their words
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
    let found = caller.session.find(&query.q, limit).await?;
    let passages = found.items.iter().filter_map(PassageJson::of).collect();
    let items = item::items(&caller.session, found.items.into_iter().map(|found| found.item).collect()).await?;
    let texts = match found.texts {
        TextSearch::Complete => "complete",
        TextSearch::Incomplete => "incomplete",
        TextSearch::Unavailable => "unavailable",
    };
    let complete = found.whole && found.missing.is_empty();
    Ok(Reply(FoundJson { items, passages, more: found.more, complete, texts, incomplete: found.missing.names() }))
}

//! Suggestions for a query that is being typed, and the passages of one document.

use axum::Json as Reply;
use model::{Code, Error};
use repository::MAX_SUGGESTED;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Ids, Query};
use super::search::{PieceJson, texts_word};
use super::wire::item::{self, ItemJson};
use super::wire::people::PrincipalJson;

/// Default number of suggested items.
const USUAL: usize = 8;

/// The beginning of a query.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SuggestQuery {
    /// The query as far as it is typed. At most 4,096 characters; a text of more than 255 characters is not compared
    /// with names.
    #[param(value_type = super::wire::rules::Sought)]
    q: String,
    /// Maximum number of items in the response, 1 to 20.
    #[param(minimum = 1, maximum = 20, default = 8)]
    limit: Option<usize>,
}

/// Suggestions for a query.
#[derive(Serialize, ToSchema)]
pub struct SuggestionsJson {
    /// Items whose names contain all words: sites, libraries and folders first, and names that begin with the text
    /// before others.
    items: Vec<ItemJson>,
    /// True if there are more items than requested.
    more: bool,
    /// At most five people with a login, name or word of a name that begins like the last word of the query.
    people: Vec<SuggestedPersonJson>,
    /// True if all names were compared. False when the time limit was reached before the oldest documents, or when a
    /// content database is unavailable or unreadable.
    complete: bool,
    /// Names of the content databases that are unavailable or unreadable and were not searched. Only for farm
    /// administrators.
    incomplete: Vec<String>,
}

/// A person whose documents may be meant.
#[derive(Serialize, ToSchema)]
pub struct SuggestedPersonJson {
    /// The person.
    user: PrincipalJson,
    /// The query with a filter by this person in place of its last word.
    query: String,
}

/// The words of which a document has passages.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PassagesQuery {
    /// The query, as for the search; filters make no difference. At most 4,096 characters.
    #[param(value_type = super::wire::rules::Sought)]
    q: String,
}

/// The passages of a document.
#[derive(Serialize, ToSchema)]
pub struct PassagesJson {
    /// Parts of the text with words of the query, in the order of the text, at most 20.
    passages: Vec<PartJson>,
    /// True if there are more.
    more: bool,
    /// `complete`; `incomplete` if the version that the caller sees is not indexed yet, or if time was up;
    /// `unavailable` if the index cannot be used.
    #[schema(value_type = String, example = "complete")]
    texts: &'static str,
    /// True if there are no passages because the site records who reads its documents.
    withheld: bool,
}

/// A part of the text of a document.
#[derive(Serialize, ToSchema)]
pub struct PartJson {
    /// Its pieces, in order.
    pieces: Vec<PieceJson>,
    /// True if the text has more before this part.
    more_before: bool,
    /// True if the text has more after this part.
    more_after: bool,
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(suggest)).routes(routes!(passages))
}

/// Suggest items and people for a query that is being typed
///
/// Items that the caller may not open are left out.
#[utoipa::path(
    get,
    path = "/api/v1/search/suggest",
    operation_id = "suggest",
    tag = "items",
    params(SuggestQuery),
    responses((status = 200, description = "The suggestions", body = SuggestionsJson))
)]
async fn suggest(caller: Authenticated, Query(query): Query<SuggestQuery>) -> Answer<Reply<SuggestionsJson>> {
    let limit = query.limit.unwrap_or(USUAL);
    if !(1..=MAX_SUGGESTED).contains(&limit) {
        return Err(Error::invalid("limit is 1 to 20").with_code(Code::InvalidQuery).into());
    }
    let found = caller.session.suggest(&query.q, limit).await?;
    let person =
        |found: repository::SuggestedPerson| SuggestedPersonJson { user: found.person.into(), query: found.query };
    Ok(Reply(SuggestionsJson {
        more: found.items.more,
        people: found.people.into_iter().map(person).collect(),
        complete: found.items.whole && found.items.missing.is_empty(),
        incomplete: found.items.missing.names(),
        items: item::items(&caller.session, found.items.items).await?,
    }))
}

/// Get the passages of a document with the words of a query
///
/// They are parts of the version that the caller sees, from the beginning of the text that the search index keeps
/// (256 KiB). Where no word of the query itself is in the text, similar words are marked.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/passages",
    operation_id = "get_passages",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the document"), PassagesQuery),
    responses((status = 200, description = "The passages", body = PassagesJson))
)]
async fn passages(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<PassagesQuery>,
) -> Answer<Reply<PassagesJson>> {
    let found = caller.session.passages(&id.into(), &query.q).await?;
    let part = |passage: &repository::Passage| PartJson {
        pieces: passage.pieces.iter().map(PieceJson::from).collect(),
        more_before: passage.more.0,
        more_after: passage.more.1,
    };
    Ok(Reply(PassagesJson {
        passages: found.passages.iter().map(part).collect(),
        more: found.more,
        texts: texts_word(found.texts),
        withheld: found.is_withheld,
    }))
}

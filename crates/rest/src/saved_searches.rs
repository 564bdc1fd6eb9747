//! The caller's saved searches, what is new among their results, and their feeds.

use axum::Json as Reply;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use model::Id;
use repository::NewDocuments;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Create, Ids, Json};
use super::feed::{self, Feed};
use super::search::{PassageJson, texts_word};
use super::wire::item::{self, ItemJson, Names};
use super::wire::list::List;
use super::wire::saved_search::{SavedSearchForm, SavedSearchJson, SeenForm};
use super::wire::{Created, Once};

/// New documents that fit a saved search.
#[derive(Serialize, ToSchema)]
pub struct NewDocumentsJson {
    /// The documents, the newest change first, at most 50.
    items: Vec<ItemJson>,
    /// Matching passages of the documents in `items`. Documents that match only by name have none.
    passages: Vec<PassageJson>,
    /// Number of new documents. At least this many if `more` is true or `complete` is false.
    documents: u64,
    /// True if there are more than 50.
    more: bool,
    /// Versions of the documents in `items`, to be sent when they were seen.
    versions: Vec<String>,
    /// True if everything was searched.
    complete: bool,
    /// State of the text search: `complete`, `incomplete` or `unavailable`.
    #[schema(value_type = String, example = "complete")]
    texts: &'static str,
    /// Names of the content databases that were not searched. Only for farm administrators.
    incomplete: Vec<String>,
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(look, replace, remove))
        .routes(routes!(new_documents))
        .routes(routes!(mark))
        .routes(routes!(feed_of_search))
}

/// List the caller's saved searches
///
/// Ordered by name. Not for tokens that are limited to places.
#[utoipa::path(
    get,
    path = "/api/v1/saved-searches",
    operation_id = "list_saved_searches",
    tag = "me",
    responses((status = 200, description = "All saved searches", body = List<SavedSearchJson>))
)]
async fn list(caller: Authenticated) -> Answer<Reply<List<SavedSearchJson>>> {
    let searches = caller.session.saved_searches().await?;
    Ok(Reply(List::whole(searches.into_iter().map(Into::into).collect())))
}

/// Save a search
///
/// The documents that it finds now count as seen. A user has at most 100 saved searches.
#[utoipa::path(
    post,
    path = "/api/v1/saved-searches",
    operation_id = "save_search",
    tag = "me",
    params(Once),
    request_body = SavedSearchForm,
    responses((status = 201, description = "The saved search", body = Created))
)]
async fn create(caller: Authenticated, create: Create<SavedSearchForm>) -> Answer<(StatusCode, Reply<Created>)> {
    let (session, form) = create.with(caller.session);
    let id = session.save_search(form.search()?).await?;
    Ok((StatusCode::CREATED, Reply(Created { id: id.to_string() })))
}

/// Get a saved search
///
/// Those of other users are not found.
#[utoipa::path(
    get,
    path = "/api/v1/saved-searches/{id}",
    operation_id = "get_saved_search",
    tag = "me",
    params(("id" = String, Path, description = "Identifier of the saved search")),
    responses((status = 200, description = "The saved search", body = SavedSearchJson))
)]
async fn look(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<SavedSearchJson>> {
    Ok(Reply(caller.session.saved_search(id).await?.into()))
}

/// Replace a saved search
///
/// If the query changes, the documents that it finds now count as seen.
#[utoipa::path(
    put,
    path = "/api/v1/saved-searches/{id}",
    operation_id = "replace_saved_search",
    tag = "me",
    params(("id" = String, Path, description = "Identifier of the saved search")),
    request_body = SavedSearchForm,
    responses((status = 200, description = "The saved search as it is now", body = SavedSearchJson))
)]
async fn replace(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(form): Json<SavedSearchForm>,
) -> Answer<Reply<SavedSearchJson>> {
    Ok(Reply(caller.session.replace_saved_search(id, form.search()?).await?.into()))
}

/// Delete a saved search
#[utoipa::path(
    delete,
    path = "/api/v1/saved-searches/{id}",
    operation_id = "delete_saved_search",
    tag = "me",
    params(("id" = String, Path, description = "Identifier of the saved search")),
    responses((status = 204, description = "Done"))
)]
async fn remove(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.delete_saved_search(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the new documents of a saved search
///
/// A document is new if it fits the search and the caller has not seen its present version, also if the caller may open
/// it only since then. If more than 1,000 were seen, documents that were changed before the newest 1,000 results count
/// as seen. Words and filters decide; similar words and parts of names are not looked for.
#[utoipa::path(
    get,
    path = "/api/v1/saved-searches/{id}/new",
    operation_id = "get_new_documents",
    tag = "me",
    params(("id" = String, Path, description = "Identifier of the saved search")),
    responses((status = 200, description = "The new documents", body = NewDocumentsJson))
)]
async fn new_documents(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<NewDocumentsJson>> {
    let NewDocuments { found, versions, .. } = caller.session.new_of_saved_search(id).await?;
    let passages = found.items.iter().filter_map(PassageJson::of).collect();
    Ok(Reply(NewDocumentsJson {
        passages,
        documents: found.documents,
        more: found.more,
        versions: versions.iter().map(Id::to_string).collect(),
        complete: found.whole,
        texts: texts_word(found.texts),
        incomplete: found.missing.names(),
        items: item::items(&caller.session, found.items.into_iter().map(|found| found.item).collect()).await?,
    }))
}

/// Mark documents of a saved search as seen
///
/// Those of other versions than the given ones stay new. Versions that the search does not find are ignored.
#[utoipa::path(
    put,
    path = "/api/v1/saved-searches/{id}/seen",
    operation_id = "mark_saved_search_seen",
    tag = "me",
    params(("id" = String, Path, description = "Identifier of the saved search")),
    request_body = SeenForm,
    responses((status = 204, description = "Done"))
)]
async fn mark(caller: Authenticated, Ids([id]): Ids<1>, Json(form): Json<SeenForm>) -> Answer<StatusCode> {
    caller.session.mark_saved_search_seen(id, form.versions()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the feed of a saved search
///
/// An Atom feed (RFC 4287) of the 50 documents that fit the search and were changed last, whether they were seen or
/// not, as the caller may open them now. With a daily alert, it has an entry for each day before today, in the
/// time zone of the account. Feed
/// readers sign in with Basic or a token. `If-None-Match` is supported.
#[utoipa::path(
    get,
    path = "/api/v1/saved-searches/{id}/feed",
    operation_id = "get_feed",
    tag = "me",
    params(("id" = String, Path, description = "Identifier of the saved search")),
    responses(
        (status = 200, description = "The feed", content_type = "application/atom+xml", body = String),
        (status = 304, description = "The client has this state already"),
    )
)]
async fn feed_of_search(caller: Authenticated, Ids([id]): Ids<1>, request: Request) -> Answer<Response> {
    let documents = caller.session.latest_of_saved_search(id).await?;
    let changed_by: Vec<Id> = documents.found.items.iter().map(|found| found.item.modified_by).collect();
    let names = Names::of(&caller.session, changed_by).await?;
    let zone = caller.session.zone();
    Ok(feed::answer(&request, |origin| Feed { origin, documents: &documents, names: &names, zone }.write())?)
}

//! Assembles the routes of the interface, and holds what is known about all of them: the OpenAPI document, and the
//! check of preconditions.

use std::collections::HashSet;
use std::sync::LazyLock;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{MatchedPath, Request};
use axum::http::{Method, header};
use axum::response::IntoResponse;
use axum::routing::get;
use model::{Code, Error, Result};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;

use http_core::server::state::AppState;

use super::preconditions::evaluates_preconditions;
use super::{
    archive, collections, content, documents, figures, following, groups, images, items, jobs, libraries, locks, look,
    me, moving, openapi, permissions, rows, saved_searches, search, search_indexes, sharing, storage, suggestions,
    templates, uploads, usage, users, views,
};

/// All routes of the interface, and the OpenAPI document at `/api/openapi.json`.
pub fn routes() -> Router<AppState> {
    let (router, _) = described().split_for_parts();
    router.route("/api/openapi.json", get(description))
}

/// Handlers with their descriptions.
fn described() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::frame())
        .merge(content::routes())
        .merge(items::routes())
        .merge(search::routes())
        .merge(suggestions::routes())
        .merge(saved_searches::routes())
        .merge(archive::routes())
        .merge(moving::routes())
        .merge(usage::routes())
        .merge(documents::routes())
        .merge(libraries::routes())
        .merge(rows::routes())
        .merge(views::routes())
        .merge(templates::routes())
        .merge(look::routes())
        .merge(images::routes())
        .merge(following::routes())
        .merge(sharing::routes())
        .merge(locks::routes())
        .merge(permissions::routes())
        .merge(collections::routes())
        .merge(users::routes())
        .merge(groups::routes())
        .merge(me::routes())
        .merge(figures::routes())
        .merge(storage::routes())
        .merge(jobs::routes())
        .merge(search_indexes::routes())
        .merge(uploads::routes())
}

/// The finished OpenAPI document.
pub fn document() -> Value {
    openapi::complete(described().into_openapi())
}

/// Responds with the OpenAPI document, which is public. It is serialised once.
async fn description() -> impl IntoResponse {
    static TEXT: LazyLock<Bytes> = LazyLock::new(|| document().to_string().into());
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "public, max-age=300")], TEXT.clone())
}

/// Refuses a precondition where the operation does not evaluate it: a change that was meant to be conditional must not
/// be made regardless.
///
/// # Errors
/// Invalid with code `condition_not_heeded`.
pub fn require_supported_preconditions(request: &Request) -> Result<()> {
    let fields = [header::IF_MATCH, header::IF_UNMODIFIED_SINCE, header::IF_NONE_MATCH];
    let asked = fields.iter().find(|field| request.headers().contains_key(*field));
    let path = request.extensions().get::<MatchedPath>().map_or("", MatchedPath::as_str);
    match asked {
        Some(field)
            if !request.method().is_safe()
                && !evaluates_preconditions(request.method(), path)
                && serves(request.method(), path) =>
        {
            Err(Error::invalid(format!(
                "this operation does not support {field}, so nothing was changed: leave the field out, or use it with \
                 an operation that replaces or deletes a document"
            ))
            .with_code(Code::ConditionNotHeeded))
        }
        _ => Ok(()),
    }
}

/// Returns whether the interface has an operation with this method at this path, as the router writes it.
fn serves(method: &Method, path: &str) -> bool {
    static SERVED: LazyLock<HashSet<(Method, String)>> = LazyLock::new(|| {
        let mut served = HashSet::new();
        for (path, mut item) in described().into_openapi().paths.paths {
            served.extend(openapi::operations(&mut item).map(|(method, _)| (method, path.clone())));
        }
        served
    });
    SERVED.contains(&(method.clone(), path.to_owned()))
}

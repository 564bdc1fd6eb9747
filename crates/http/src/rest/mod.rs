//! The REST interface under `/api/v1/`.
//!
//! Every route is registered together with its description, so that the OpenAPI document cannot lack one. Handlers turn
//! requests into calls of a `Session` and its answers into JSON; they decide nothing about permissions.

mod archive;
mod collections;
pub(crate) mod conditions;
pub(crate) mod content;
mod documents;
pub(crate) mod extract;
mod figures;
mod following;
mod groups;
mod items;
mod jobs;
mod libraries;
mod locks;
mod me;
mod moving;
mod openapi;
mod permissions;
pub(crate) mod receive;
mod search;
pub(crate) mod send;
mod sharing;
mod storage;
mod uploads;
mod users;
mod views;
pub(crate) mod wire;

use axum::Router;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

pub use conditions::require_heeded;
pub use uploads::keep_tidy;

/// All routes of the interface, and its description at `/api/openapi.json`.
pub fn routes() -> Router<AppState> {
    let (router, _) = described().split_for_parts();
    router.route("/api/openapi.json", get(openapi::serve))
}

/// Handlers with their descriptions.
fn described() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::frame())
        .merge(content::routes())
        .merge(items::routes())
        .merge(search::routes())
        .merge(archive::routes())
        .merge(moving::routes())
        .merge(documents::routes())
        .merge(libraries::routes())
        .merge(views::routes())
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
        .merge(uploads::routes())
}

#[cfg(test)]
pub(crate) mod tests;

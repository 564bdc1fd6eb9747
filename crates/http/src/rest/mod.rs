//! The REST interface under `/api/v1/`.
//!
//! Every route is registered together with its description, so that the OpenAPI document cannot lack one. Handlers turn
//! requests into calls of a `Session` and its answers into JSON; they decide nothing about permissions.

mod conditions;
mod content;
mod extract;
mod openapi;
mod receive;
pub(crate) mod send;
mod wire;

use axum::Router;
use axum::routing::get;
use utoipa_axum::router::OpenApiRouter;

use crate::state::AppState;

/// All routes of the interface, and its description at `/api/openapi.json`.
pub fn routes() -> Router<AppState> {
    let (router, _) = described().split_for_parts();
    router.route("/api/openapi.json", get(openapi::serve))
}

/// Handlers with their descriptions.
fn described() -> OpenApiRouter<AppState> {
    OpenApiRouter::with_openapi(openapi::frame()).merge(content::routes())
}

#[cfg(test)]
mod tests;

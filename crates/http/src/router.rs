//! Puts the routes of all protocols together under the layers that they share.

use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::middleware;
use axum::routing::get;
use tower_http::timeout::RequestBodyTimeoutLayer;

use crate::state::AppState;
use crate::{csrf, edge, health, rest, ui, webdav};

/// Longest silence inside a request body.
const BODY_TIMEOUT: Duration = Duration::from_secs(60);
/// Most bytes of a body that a handler reads into memory: forms and JSON. Documents are streamed and not bound by this.
const MEMORY_BODY: usize = 2 * 1024 * 1024;

/// All routes of the server.
pub fn router(state: AppState) -> Router {
    // Before the first sample, which would otherwise be lost.
    health::record_metrics();
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::figures))
        .merge(rest::routes())
        .merge(ui::routes())
        .merge(webdav::routes())
        .fallback(ui::fallback)
        .method_not_allowed_fallback(ui::no_such_method)
        .layer(DefaultBodyLimit::max(MEMORY_BODY))
        .layer(RequestBodyTimeoutLayer::new(BODY_TIMEOUT))
        .layer(middleware::from_fn(ui::in_language))
        .layer(middleware::from_fn(csrf::same_origin))
        .layer(middleware::from_fn(edge::around))
        .with_state(state)
}

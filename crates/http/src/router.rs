//! Puts the routes of all protocols together under the layers that they share.

use axum::Router;
use axum::middleware;
use axum::routing::get;

use crate::state::AppState;
use crate::{crowd, csrf, edge, health, intake, rest, secure, ui, webdav};

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
        .layer(middleware::from_fn_with_state(state.least_body_rate(), intake::bound))
        .layer(middleware::from_fn(ui::in_language))
        .layer(middleware::from_fn(csrf::same_origin))
        .layer(middleware::from_fn_with_state(state.crowds().clone(), crowd::admit))
        .layer(middleware::from_fn_with_state(state.clone(), edge::around))
        .layer(middleware::from_fn_with_state(state.is_secure(), secure::insist))
        .with_state(state)
}

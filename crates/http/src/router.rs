//! Combines the routes of all protocols under their shared layers.

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use model::Result;

use http_core::figures;
use http_core::identity::csrf;
use http_core::server::error::Problem;
use http_core::server::origin::RequestOrigin;
use http_core::server::state::AppState;
use http_core::server::{admission, edge, request_body, secure};

use crate::health;

/// All routes of the server.
pub fn router(state: AppState) -> Router {
    // Must precede the first sample, which would otherwise be lost.
    figures::record_metrics();
    Router::new()
        .route("/healthz", get(health::alive))
        .route("/readyz", get(health::ready))
        .route("/metrics", get(health::metrics))
        .merge(rest::routes())
        .merge(ui::routes())
        .merge(webdav::routes())
        .merge(wopi::routes())
        .fallback(ui::fallback)
        .method_not_allowed_fallback(ui::no_such_method)
        .layer(from_fn_with_state(state.clone(), around))
        .with_state(state)
}

/// Wraps the handlers of all routes: checks each request before its handler, and completes each response. It is one
/// layer, since each layer allocates for every request and copies it.
async fn around(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    RequestOrigin::determine(&mut request, state.trust(), state.public_url(), state.is_secure());
    let mut response = edge::guarded(request, async |request| {
        let reader = ui::reader(request.headers());
        let mut response = match admit(&state, &request) {
            Ok(()) => next.run(request_body::bound(request, state.least_body_rate())).await,
            Err(error) => Problem::from(error).into_response(),
        };
        ui::in_language(reader, &mut response);
        response
    })
    .await;
    if state.is_secure() {
        secure::add_hsts(response.headers_mut());
    }
    response
}

/// Refuses a request that no handler may process.
///
/// # Errors
/// Those of the three checks.
fn admit(state: &AppState, request: &Request) -> Result<()> {
    admission::admit(state.limits(), request)?;
    csrf::require_same_origin(request)?;
    rest::require_supported_preconditions(request)
}

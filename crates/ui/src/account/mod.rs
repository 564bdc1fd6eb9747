//! Sign-in, sign-out and personal settings.

mod agent;
mod confirm;
mod settings;
mod sign_in;

use axum::Router;
use axum::routing::{get, post};

use http_core::server::state::AppState;

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/sign-in", get(sign_in::form).post(sign_in::sign_in))
        .route("/sign-out", post(sign_in::sign_out))
        .route("/account", get(settings::show))
        .route("/account/password", get(settings::password).post(settings::do_password))
        .route("/account/confirm", post(confirm::confirm))
        .route("/account/preferences", post(settings::preferences))
        .route("/account/tokens", get(settings::token).post(settings::do_token))
        .route("/account/tokens/{token}/revoke", post(settings::revoke_token))
        .route("/account/sessions/end", post(settings::end_all_sessions))
        .route("/account/sessions/{session}/end", post(settings::end_session))
}

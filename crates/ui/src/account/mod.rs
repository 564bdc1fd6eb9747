//! Sign-in, sign-out, personal settings and profiles.

mod agent;
mod confirm;
mod new_password;
pub mod profile;
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
        .route("/new-password/{secret}", get(new_password::ask).post(new_password::set))
        .route("/account", get(settings::show))
        .route("/people", get(profile::directory))
        .route("/people/me", get(profile::me))
        .route("/people/{id}", get(profile::person))
        .route("/people/{id}/picture", get(profile::picture))
        .route("/account/profile", get(profile::edit).post(profile::save))
        .route("/account/picture", post(profile::upload_picture))
        .route("/account/picture/delete", post(profile::remove_picture))
        .route("/account/password", get(settings::password).post(settings::do_password))
        .route("/account/confirm", post(confirm::confirm))
        .route("/account/preferences", post(settings::preferences))
        .route("/account/tokens", get(settings::token).post(settings::do_token))
        .route("/account/tokens/{token}/revoke", post(settings::revoke_token))
        .route("/account/sessions/end", post(settings::end_all_sessions))
        .route("/account/sessions/{session}/end", post(settings::end_session))
}

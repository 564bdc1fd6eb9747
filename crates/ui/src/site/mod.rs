//! Administration of sites and libraries: settings, columns, permissions and audit log.

mod audit;
pub mod library_settings;
mod permissions;
mod settings;

use axum::Router;
use axum::routing::{get, post};

use http_core::server::state::AppState;

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/items/{id}/settings", get(library_settings::show).post(library_settings::save))
        .route("/items/{id}/columns/{column}", get(library_settings::column).post(library_settings::save_column))
        .route("/items/{id}/columns/{column}/delete", post(library_settings::delete_column))
        .route("/items/{id}/site-settings", get(settings::show).post(settings::save))
        .route("/items/{id}/types", post(library_settings::make_type))
        .route("/items/{id}/types/{type}/delete", post(library_settings::delete_type))
        .route("/items/{id}/permissions", get(permissions::show))
        .route("/items/{id}/permissions/grant", get(permissions::ask_grant).post(permissions::grant))
        .route("/items/{id}/permissions/revoke", post(permissions::revoke))
        .route("/items/{id}/permissions/own", post(permissions::stop_inheriting))
        .route("/items/{id}/permissions/inherit", post(permissions::inherit))
        .route("/audit/{collection}", get(audit::show))
        .route("/audit/{collection}/export", get(audit::export))
        .route("/audit/{collection}/reads", post(audit::set_reads))
}

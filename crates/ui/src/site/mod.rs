//! Administration of sites and libraries: settings, contents, look, columns, permissions, templates and audit log.

mod audit;
pub mod library_settings;
mod look;
mod manage;
mod new_site;
pub mod permissions;
mod settings;
pub mod templates;

use axum::Router;
use axum::routing::{get, post};

use http_core::server::state::AppState;

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/items/{id}/settings", get(library_settings::show).post(library_settings::save))
        .route("/items/{id}/columns/{column}", get(library_settings::column).post(library_settings::save_column))
        .route("/items/{id}/columns/{column}/delete", post(library_settings::delete_column))
        .route("/items/{id}/new-site", get(new_site::ask).post(new_site::make))
        .route("/items/{id}/site-settings", get(settings::show).post(settings::save))
        .route("/items/{id}/manage", get(manage::show).post(manage::measure))
        .route("/items/{id}/navigation", post(look::save_navigation))
        .route("/items/{id}/home-page", post(look::save_home))
        .route("/items/{id}/accent", post(look::save_accent))
        .route("/items/{id}/logo", get(look::logo).post(look::upload_logo))
        .route("/items/{id}/logo/delete", post(look::remove_logo))
        .route("/items/{id}/save-template", get(templates::ask_save).post(templates::save))
        .route("/items/{id}/templates", get(templates::list))
        .route("/items/{id}/templates/upload", get(templates::ask_upload).post(templates::upload))
        .route("/items/{id}/templates/{name}", get(templates::download))
        .route("/items/{id}/templates/{name}/rename", get(templates::ask_rename).post(templates::rename))
        .route("/items/{id}/templates/{name}/delete", post(templates::delete))
        .route("/farm/templates", get(templates::list_of_farm))
        .route("/farm/templates/upload", get(templates::ask_upload_to_farm).post(templates::upload_to_farm))
        .route("/farm/templates/{name}", get(templates::download_of_farm))
        .route("/farm/templates/{name}/rename", get(templates::ask_rename_in_farm).post(templates::rename_in_farm))
        .route("/farm/templates/{name}/delete", post(templates::delete_of_farm))
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

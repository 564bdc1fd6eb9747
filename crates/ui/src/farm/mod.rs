//! Farm administration.

mod audit;
mod backups;
mod figures;
mod groups;
mod overview;
mod roles;
pub mod storage;
mod users;

use axum::Router;
use axum::routing::{get, post};

use http_core::server::state::AppState;

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/farm", get(overview::show))
        .route("/farm/audit", get(audit::show))
        .route("/farm/audit/export", get(audit::export))
        .route("/farm/figures", get(figures::show))
        .route("/farm/sites/new", get(overview::ask_site).post(overview::make_site))
        .route("/farm/sites/{site}/quota", get(overview::ask_quota).post(overview::set_quota))
        .route("/farm/backups", get(backups::show))
        .route("/farm/users", get(users::list))
        .route("/farm/users/new", get(users::ask_new).post(users::make))
        .route("/farm/users/{user}", get(users::show).post(users::change))
        .route("/farm/users/{user}/password", get(users::ask_password).post(users::set_password))
        .route("/farm/users/{user}/password-link", post(users::make_password_link))
        .route("/farm/users/{user}/switch", post(users::switch))
        .route("/farm/roles", get(roles::list))
        .route("/farm/roles/new", get(roles::ask_new).post(roles::make))
        .route("/farm/roles/{role}", get(roles::ask_change).post(roles::change))
        .route("/farm/roles/{role}/delete", get(roles::ask_delete).post(roles::delete))
        .route("/farm/groups", get(groups::list))
        .route("/farm/groups/new", get(groups::ask_new).post(groups::make))
        .route("/farm/groups/{group}", get(groups::show))
        .route("/farm/groups/{group}/change", get(groups::ask_change).post(groups::change))
        .route("/farm/groups/{group}/delete", post(groups::delete))
        .route("/farm/groups/{group}/add", post(groups::add))
        .route("/farm/groups/{group}/remove", post(groups::remove))
        .merge(storage::routes())
}

//! One document: its page, versions, values, previews and sharing.

pub mod approval;
pub mod checkout;
mod compare;
mod details;
mod download;
pub mod edit_in;
pub mod edit_online;
mod link_page;
pub mod links;
pub mod overview;
pub mod preview;
mod share;
pub mod values;
mod versions;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::{get, post};

use http_core::server::state::AppState;

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/s/{link}/{secret}", get(link_page::open))
        .route("/items/{id}", get(details::show))
        .route("/items/{id}/pages", get(preview::pages::show))
        .route("/items/{id}/picture", get(preview::picture::show))
        .route("/items/{id}/edit-in", post(edit_in::open))
        .route("/items/{id}/edit-online", post(edit_online::open))
        .route("/items/{id}/state", get(edit_in::state))
        .route("/items/{id}/check-out", post(overview::check_out))
        .route("/items/{id}/unlock", post(overview::unlock))
        .route("/items/{id}/check-in", get(checkout::check_in).post(checkout::do_check_in))
        .route("/items/{id}/discard", get(checkout::discard).post(checkout::do_discard))
        .route("/items/{id}/publish", post(overview::publish))
        .route("/items/{id}/submit", get(approval::ask_submit).post(approval::submit))
        .route("/items/{id}/withdraw", post(approval::withdraw))
        .route("/items/{id}/approve", post(approval::approve))
        .route("/items/{id}/reject", get(approval::ask_reject).post(approval::reject))
        .route("/items/{id}/versions", get(versions::show))
        .route("/items/{id}/versions/{version}/restore", post(overview::restore_version))
        .route("/items/{id}/versions/{version}/delete", post(overview::delete_version))
        .route("/items/{id}/values", get(values::show).post(values::save))
        .route("/items/{id}/values/{column}", get(values::show_one).post(values::save_one))
        .route("/items/{id}/compare", get(compare::show))
        .route("/items/{id}/share", get(share::show).post(share::grant))
        .route("/items/{id}/share/role", post(share::change))
        .route("/items/{id}/share/revoke", post(share::revoke))
        .route("/items/{id}/links", get(links::ask).post(links::make))
        .route("/items/{id}/links/{link}/revoke", post(links::revoke))
        .route("/items/{id}/link-rule", get(links::ask_rule).post(links::set_rule))
}

/// Routes that send documents.
pub fn content() -> Router<AppState> {
    Router::new()
        .route("/download/{id}/{name}", get(download::download))
        .route("/items/{id}/members/{at}", get(preview::member::download))
        .route("/s/{link}/{secret}", post(link_page::download))
        .route("/s/{link}/{secret}/view", get(link_page::view))
        .route("/s/{link}/{secret}/files", post(link_page::receive).layer(DefaultBodyLimit::disable()))
}

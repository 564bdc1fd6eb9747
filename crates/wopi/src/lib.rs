//! WOPI at `/wopi/files/<item>`: the requests with which an office server reads, locks and saves the document that
//! somebody edits in the browser. The access token in them is an edit token: one user, one document.
//!
//! Source: Microsoft, *Web Application Open Platform Interface*, in the documentation of the Microsoft 365 Cloud
//! Storage Partner Program. Collabora's additions are those of its *SDK documentation*. The signatures of requests
//! (proof keys) are not checked: the token alone decides.

mod contents;
mod info;
mod locks;
mod request;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::routing::get;

use http_core::server::state::AppState;

/// Routes of WOPI.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/wopi/files/{id}", get(info::show).post(locks::change))
        .route("/wopi/files/{id}/contents", get(contents::read).post(contents::store))
        .layer(DefaultBodyLimit::disable())
}

//! Pages: Markdown documents, shown as web pages with parts of the server in them, and the editor for them.

mod edit;
pub mod link;
pub mod markdown;
pub mod page_document;
mod parts;
pub mod show;
pub mod text;

use axum::Router;
use axum::routing::{get, post};

use http_core::server::state::AppState;

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/items/{id}/new-page", get(edit::ask_new).post(edit::make))
        .route("/items/{id}/edit", get(edit::ask).post(edit::save))
        .route("/items/{id}/page-preview", post(edit::preview))
}

//! The web pages. They are rendered on the server, and every basic function works without JavaScript.
//!
//! This module owns templates, texts, assets and the cookies of pages. It contains no SQL and decides no permissions.

mod account;
mod browse;
mod document;
mod farm;
mod frame;
#[cfg(fuzzing)]
pub mod fuzzing;
#[cfg(debug_assertions)]
mod kit;
mod lists;
mod pages;
mod site;
mod wording;

pub use frame::refuse::{in_language, reader};

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use axum::routing::get;
use model::{Code, Error};
// Templates refer to rights by this name.
use model::Right;
use tower_http::compression::CompressionLayer;

use frame::{assets, dialog, error_page};
use http_core::server::edge;
use http_core::server::state::AppState;

/// Routes of the pages and their assets.
pub fn routes() -> Router<AppState> {
    let pages = Router::new()
        .merge(account::routes())
        .merge(browse::routes())
        .merge(document::routes())
        .merge(lists::routes())
        .merge(pages::routes())
        .merge(site::routes())
        .merge(farm::routes());
    // Only tests need the page of components.
    #[cfg(debug_assertions)]
    let pages = pages.merge(kit::routes());
    pages
        .route("/assets/{hash}/{*name}", get(assets::serve))
        // Browsers request it for documents shown inline, because those name no icon.
        .route("/favicon.ico", get(assets::favicon))
        .layer(axum::middleware::from_fn(error_page::show))
        .layer(axum::middleware::from_fn(dialog::answer))
        .layer(CompressionLayer::new())
        // Stored documents are not compressed, because clients may resume them at any offset.
        .merge(content())
}

fn content() -> Router<AppState> {
    Router::new().merge(browse::content()).merge(document::content()).layer(axum::middleware::from_fn(error_page::show))
}

/// Answers requests without a route: an error page for browsers, a problem document for programs.
pub async fn fallback(State(state): State<AppState>, request: Request) -> Response {
    if !is_for_browser(request.headers()) {
        return edge::no_such_route().await;
    }
    error_page::page_of(&state, request, &Error::not_found("there is nothing at this address")).await
}

/// Answers a method that the route does not have, such as a GET of a form's target.
pub async fn no_such_method(State(state): State<AppState>, request: Request) -> Response {
    if !is_for_browser(request.headers()) {
        return edge::no_such_method().await;
    }
    let error = Error::invalid("this address cannot be opened directly: go back and use the form or the button there");
    error_page::page_of(&state, request, &error.with_code(Code::MethodNotAllowed)).await
}

fn is_for_browser(headers: &HeaderMap) -> bool {
    let accepted = headers.get(header::ACCEPT).and_then(|field| field.to_str().ok());
    accepted.is_some_and(|kinds| kinds.contains("text/html"))
}

/// Returns all templates and page sources, for tests that search them.
#[cfg(test)]
fn sources() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.join("templates"), root.join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.extend((!path.ends_with("tests") && !path.ends_with("texts")).then_some(path));
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap().to_owned();
            found.push((path.display().to_string(), text));
        }
    }
    found
}

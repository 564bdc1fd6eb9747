//! The pages: what people see in a browser. Server-rendered; every basic function works without JavaScript.
//!
//! Owns templates, texts, assets and the cookies of pages. Knows no SQL and decides no permission.

mod assets;
mod caller;
mod fault;
mod flash;
mod form;
mod format;
mod kit;
mod page;
mod refuse;
mod sign;
mod texts;

use askama::Template;
use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use model::Error;
use tower_http::compression::CompressionLayer;

use crate::error::Problem;
use crate::state::AppState;

/// Routes of the pages and their assets.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/ui-kit", get(kit::kit))
        .route("/ui-kit/form", get(kit::form))
        .route("/sign-in", get(sign::form).post(sign::sign_in))
        .route("/sign-out", post(sign::sign_out))
        .route("/assets/{hash}/{name}", get(assets::serve))
        .layer(axum::middleware::from_fn(fault::show))
        .layer(CompressionLayer::new())
}

/// A rendered template as an answer.
fn html(template: &impl Template) -> Response {
    match template.render() {
        Ok(text) => {
            let kind = HeaderValue::from_static("text/html; charset=utf-8");
            ([(header::CONTENT_TYPE, kind)], text).into_response()
        }
        Err(error) => {
            Problem::from(Error::corrupt("the page cannot be drawn").with_code("internal").with_source(error))
                .into_response()
        }
    }
}

/// All templates and page sources, for tests that read them.
#[cfg(test)]
fn sources() -> Vec<(String, String)> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for folder in ["templates", "src/ui"] {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            let text = text.split("#[cfg(test)]").next().unwrap().to_owned();
            found.push((path.display().to_string(), text));
        }
    }
    found
}

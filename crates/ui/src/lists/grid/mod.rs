//! The data of a grid: the rows of a list as JSON for the script that shows them, and the changes that it sends.
//!
//! REST has the same rows and changes, but with typed values and English messages. A grid has what its user sees and
//! types: texts in the user's language, and the order, filter and columns of the list's page.

mod rows;
mod save;

use axum::extract::{Path, RawQuery};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use model::Result;
use serde::Serialize;

use axum::routing::{get, post};
use http_core::server::state::AppState;

use crate::document::values::problem;
use crate::frame::page::Page;
use crate::frame::visit::{SubmittedForm, Visit};

/// Routes of the grid.
pub fn routes() -> Router<AppState> {
    Router::new()
        .route("/items/{id}/grid", get(block).post(change))
        .route("/items/{id}/grid/rows", get(refresh))
        .route("/items/{id}/grid/restore", post(restore))
}

fn answer(page: &Page, outcome: Result<impl Serialize>) -> Response {
    match outcome {
        Ok(found) => Json(found).into_response(),
        Err(error) => problem(page, &error),
    }
}

/// Sends the next rows of the view in the query.
async fn block(visit: Visit, Path(id): Path<String>, RawQuery(query): RawQuery) -> Response {
    answer(&visit.page, rows::block(&visit, &id, &query.unwrap_or_default()).await)
}

/// Sends rows by their identifiers, and those that were changed since a point in time.
async fn refresh(visit: Visit, Path(id): Path<String>, RawQuery(query): RawQuery) -> Response {
    answer(&visit.page, rows::refresh(&visit, &id, &query.unwrap_or_default()).await)
}

/// Makes changes, and sends their outcomes with the rows after them.
async fn change(
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    sent: SubmittedForm,
) -> Response {
    let changes = sent.fields.text("changes");
    answer(&sent.visit.page, save::change(&sent.visit, &id, &query.unwrap_or_default(), &headers, changes).await)
}

/// Restores rows that the caller deleted, and sends them.
async fn restore(Path(id): Path<String>, RawQuery(query): RawQuery, sent: SubmittedForm) -> Response {
    let ids = sent.fields.ids("ids");
    let restored = async { save::restore(&sent.visit, &id, &query.unwrap_or_default(), ids?).await };
    answer(&sent.visit.page, restored.await)
}

//! Lists: creating them, the form for a new row, the page of a row, grids, and rows to and from spreadsheets.

mod chosen_file;
mod grid;
mod new_list;
mod new_row;
pub mod row;
mod spreadsheet;

use axum::Router;
use axum::routing::{get, post};

use http_core::server::state::AppState;

/// Routes of these pages.
pub fn routes() -> Router<AppState> {
    Router::new()
        .merge(grid::routes())
        .route("/items/{id}/new-list", get(new_list::ask).post(new_list::make))
        .route("/items/{id}/new-row", get(new_row::ask).post(new_row::make))
        .route("/items/{id}/paste", get(spreadsheet::ask).post(spreadsheet::receive))
        .route("/items/{id}/rows.csv", get(spreadsheet::export))
        .route("/items/{id}/rows.xlsx", get(spreadsheet::export_workbook))
        .route("/items/{id}/revisions/{revision}/restore", post(row::restore))
}

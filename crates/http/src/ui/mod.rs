//! The pages: what people see in a browser. Server-rendered; every basic function works without JavaScript.

use axum::Router;

use crate::state::AppState;

/// Routes of the pages and their assets.
pub fn routes() -> Router<AppState> {
    Router::new()
}

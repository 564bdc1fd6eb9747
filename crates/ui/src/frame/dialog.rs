//! Forms that stand in a dialog: the script that sends them stays on the page until it knows whether they were taken.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;

/// The field by which the script says so.
const FIELD: &str = "x-strongroom-dialog";

/// A script cannot see where a redirect leads before the browser has gone there: it is told the address in an answer without a body.
pub async fn answer(request: Request, next: Next) -> Response {
    let asked = request.headers().contains_key(FIELD);
    let mut response = next.run(request).await;
    if asked && response.status() == StatusCode::SEE_OTHER {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

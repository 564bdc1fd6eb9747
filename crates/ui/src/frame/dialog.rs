//! Forms in a dialog. The script stays on the page until it knows whether the form was accepted.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::Next;
use axum::response::Response;

/// Request header field by which the script identifies a dialog.
const FIELD: &str = "x-strongroom-dialog";

/// Turns a redirect into an empty response with the same `Location`, because a script cannot see the target of a
/// redirect before the browser follows it.
pub async fn answer(request: Request, next: Next) -> Response {
    let asked = request.headers().contains_key(FIELD);
    let mut response = next.run(request).await;
    if asked && response.status() == StatusCode::SEE_OTHER {
        *response.status_mut() = StatusCode::NO_CONTENT;
    }
    response
}

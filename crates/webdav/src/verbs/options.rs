//! OPTIONS: what this server can do. Anybody may ask, for some clients do before they sign in.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// What every resource takes.
const METHODS: &str =
    "OPTIONS, GET, HEAD, PUT, DELETE, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK, REPORT, SEARCH";

/// The answer.
pub fn answer() -> Response {
    let mut response = allowed(StatusCode::OK.into_response());
    let fields = response.headers_mut();
    fields.insert("dav", HeaderValue::from_static("1, 2, 3"));
    fields.insert("dasl", HeaderValue::from_static("<DAV:basicsearch>"));
    // Without it, Windows speaks another protocol first.
    fields.insert("ms-author-via", HeaderValue::from_static("DAV"));
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    response
}

/// Names the methods that there are.
pub fn allowed(mut response: Response) -> Response {
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(METHODS));
    response
}

//! OPTIONS: the capabilities of this server. It needs no credentials, because some clients send it before they
//! authenticate.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Methods that every resource supports.
const METHODS: &str =
    "OPTIONS, GET, HEAD, PUT, DELETE, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK, REPORT, SEARCH";

/// Returns the response.
pub fn answer() -> Response {
    let mut response = allowed(StatusCode::OK.into_response());
    let fields = response.headers_mut();
    fields.insert("dav", HeaderValue::from_static("1, 2, 3"));
    fields.insert("dasl", HeaderValue::from_static("<DAV:basicsearch>"));
    // Without this field, Windows tries another protocol first.
    fields.insert("ms-author-via", HeaderValue::from_static("DAV"));
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    response
}

/// Adds the `Allow` field.
pub fn allowed(mut response: Response) -> Response {
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(METHODS));
    response
}

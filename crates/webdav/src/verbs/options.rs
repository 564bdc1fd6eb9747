//! OPTIONS: the capabilities of this server. It needs no credentials, because some clients send it before they
//! authenticate.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

/// Methods that resources support.
const METHODS: &str =
    "OPTIONS, GET, HEAD, PUT, DELETE, MKCOL, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK, REPORT, SEARCH";
/// Methods of an existing resource, which MKCOL cannot create.
const EXISTING: &str = "OPTIONS, GET, HEAD, PUT, DELETE, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK, REPORT, SEARCH";
/// Methods of an existing collection, which also has no content to replace.
const COLLECTION: &str = "OPTIONS, GET, HEAD, DELETE, COPY, MOVE, PROPFIND, PROPPATCH, LOCK, UNLOCK, REPORT, SEARCH";

/// Returns the response.
pub fn answer() -> Response {
    let mut response = StatusCode::OK.into_response();
    let fields = response.headers_mut();
    fields.insert(header::ALLOW, HeaderValue::from_static(METHODS));
    fields.insert("dav", HeaderValue::from_static("1, 2, 3"));
    fields.insert("dasl", HeaderValue::from_static("<DAV:basicsearch>"));
    // Without this field, Windows tries another protocol first.
    fields.insert("ms-author-via", HeaderValue::from_static("DAV"));
    fields.insert(header::CONTENT_LENGTH, HeaderValue::from_static("0"));
    response
}

/// Adds the `Allow` field to a response with 405: the methods that the resource supports, given the method that it
/// refused. The root site is a collection.
pub fn with_allowed(mut response: Response, refused: &str, is_root: bool) -> Response {
    let methods = match refused {
        "PUT" => COLLECTION,
        "MKCOL" if is_root => COLLECTION,
        "MKCOL" => EXISTING,
        _ => METHODS,
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(methods));
    }
    response
}

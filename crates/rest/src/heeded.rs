//! Which operations heed the conditions of a change.

use axum::http::Method;

/// Changes that heed conditions, as the router writes their paths.
const HEEDING: &[(Method, &str)] = &[
    (Method::PUT, "/api/v1/content/{*path}"),
    (Method::DELETE, "/api/v1/content/{*path}"),
    (Method::PUT, "/api/v1/items/{id}/content"),
    (Method::DELETE, "/api/v1/items/{id}"),
];

/// Whether an operation heeds the conditions of a change.
pub fn heeds(method: &Method, path: &str) -> bool {
    HEEDING.iter().any(|(other, heeding)| other == method && *heeding == path)
}

//! The operations that evaluate the preconditions of a change.

use axum::http::Method;

/// Operations that evaluate preconditions, with their paths as the router writes them.
const CONDITIONAL: &[(Method, &str)] = &[
    (Method::PUT, "/api/v1/content/{*path}"),
    (Method::DELETE, "/api/v1/content/{*path}"),
    (Method::PUT, "/api/v1/items/{id}/content"),
    (Method::DELETE, "/api/v1/items/{id}"),
    (Method::PATCH, "/api/v1/items/{id}/values"),
];

/// Returns whether an operation evaluates the preconditions of a change.
pub fn evaluates_preconditions(method: &Method, path: &str) -> bool {
    CONDITIONAL.iter().any(|(other, heeding)| other == method && *heeding == path)
}

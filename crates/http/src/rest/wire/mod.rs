//! The JSON forms of the interface. They stop here: nothing behind this module knows them.
//!
//! Identifiers are strings, since numbers of JavaScript cannot hold them; times are RFC 3339 in UTC; sizes are bytes.

pub mod content;
pub mod time;

use serde::Serialize;
use utoipa::ToSchema;

/// Why a request was refused (RFC 9457).
#[derive(Serialize, ToSchema)]
#[schema(description = "Why a request was refused (RFC 9457, application/problem+json)")]
pub struct Problem {
    /// Always `about:blank`.
    pub r#type: String,
    /// Words for the status.
    pub title: String,
    /// The status.
    pub status: u16,
    /// What happened, to what, and what to do.
    pub detail: String,
    /// A stable word for scripts, such as `not_found`, `name_taken`, `precondition_failed`.
    pub code: String,
    /// Identifier of the request, also in the log.
    pub instance: String,
}

//! Maps the kinds of error to HTTP, once for all protocols, and logs what is the server's own fault.

use std::sync::Arc;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Error, ErrorKind};

use super::request;

/// Seconds after which a client may try again when something is unavailable.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("5");
/// The same when it came too often and nothing is known about how long it has to wait.
const THROTTLED_RETRY_AFTER: HeaderValue = HeaderValue::from_static("30");

/// An error as `application/problem+json` (RFC 9457).
///
/// Fields: `type` (always `about:blank`), `title` (of the status), `status`, `detail` (what happened and what to do, in the
/// language that the request asks for), `code` (stable, for scripts), `instance` (the request identifier).
pub struct Problem(Error);

/// The error behind an answer, for the layer that says it in another language.
#[derive(Clone)]
pub struct ToldError(pub Arc<Error>);

/// What handlers of programs' protocols return.
pub type Answer<T = Response> = Result<T, Problem>;

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = status(&self.0);
        log(&self.0, status);
        let kind = HeaderValue::from_static("application/problem+json");
        let body = problem(&self.0, public_message(&self.0));
        let mut response = (status, [(header::CONTENT_TYPE, kind)], body).into_response();
        if status == StatusCode::UNAUTHORIZED {
            let challenge = HeaderValue::from_static("Basic realm=\"Strongroom\", charset=\"UTF-8\"");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, challenge);
            response.headers_mut().append(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        add_retry_after(&self.0, &mut response);
        response.extensions_mut().insert(ToldError(Arc::new(self.0)));
        response
    }
}

/// The body of a problem whose `detail` says this.
pub fn problem(error: &Error, detail: &str) -> String {
    let status = status(error);
    let body = serde_json::json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Checksum Mismatch"),
        "status": status.as_u16(),
        "detail": detail,
        "code": error.code(),
        "instance": request::current_id(),
    });
    body.to_string()
}

/// The status of an error: by its kind, refined by its code.
pub fn status(error: &Error) -> StatusCode {
    match (error.kind(), error.code()) {
        (_, "precondition_failed") => StatusCode::PRECONDITION_FAILED,
        (_, "unauthenticated" | "bad_credentials" | "sign_in_failed") => StatusCode::UNAUTHORIZED,
        // Not "gone": it comes back with the next repair, and what synchronizes must not take its own copy for needless.
        (ErrorKind::Corrupt, "content_missing" | "content_damaged") => StatusCode::SERVICE_UNAVAILABLE,
        (_, "too_large" | "document_too_large") => StatusCode::PAYLOAD_TOO_LARGE,
        (_, "too_many_attempts" | "sign_in_busy" | "too_many_requests") => StatusCode::TOO_MANY_REQUESTS,
        (ErrorKind::Invalid, "unsupported_media_type") => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        (ErrorKind::Invalid, "not_readable") => StatusCode::UNPROCESSABLE_ENTITY,
        (ErrorKind::Invalid, "unsupported_version") => StatusCode::PRECONDITION_FAILED,
        (ErrorKind::Invalid, "range_not_satisfiable") => StatusCode::RANGE_NOT_SATISFIABLE,
        (ErrorKind::Invalid, "headers_too_large") => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
        (ErrorKind::Forbidden, "metrics_token") => StatusCode::UNAUTHORIZED,
        (ErrorKind::Invalid, "method_not_allowed") => StatusCode::METHOD_NOT_ALLOWED,
        // Defined by tus 1.0, extension "checksum".
        (ErrorKind::Invalid, "checksum_mismatch") => StatusCode::from_u16(460).unwrap_or(StatusCode::BAD_REQUEST),
        (ErrorKind::Invalid, "length_required") => StatusCode::LENGTH_REQUIRED,
        (ErrorKind::Invalid, "body_timeout") => StatusCode::REQUEST_TIMEOUT,
        (ErrorKind::Invalid, "unprocessable") => StatusCode::UNPROCESSABLE_ENTITY,
        (ErrorKind::Exhausted, "too_many" | "too_many_tokens") => StatusCode::CONFLICT,
        (ErrorKind::NotFound, _) => StatusCode::NOT_FOUND,
        (ErrorKind::Conflict, _) => StatusCode::CONFLICT,
        (ErrorKind::Locked, _) => StatusCode::LOCKED,
        (ErrorKind::Invalid, _) => StatusCode::BAD_REQUEST,
        (ErrorKind::Forbidden, _) => StatusCode::FORBIDDEN,
        (ErrorKind::Exhausted, _) => StatusCode::INSUFFICIENT_STORAGE,
        (ErrorKind::Unavailable, _) => StatusCode::SERVICE_UNAVAILABLE,
        (ErrorKind::Corrupt, _) => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// What the caller may read: the message, except where it would tell of the server's insides.
pub fn public_message(error: &Error) -> &str {
    match error.kind() {
        ErrorKind::Corrupt if !["internal", "content_missing", "content_damaged"].contains(&error.code()) => {
            "stored data is damaged; an administrator finds the details in the log under the request id"
        }
        _ => error.message(),
    }
}

/// Logs an error that is the server's to mend, or a caller's at a level that is off by default.
pub fn log(error: &Error, status: StatusCode) {
    let (report, request_id) = (error.report(), request::current_id());
    let code = error.code();
    // None is the server's own fault: a site that is full, what one person takes, and a destination on another server.
    let is_quota = matches!(code, "quota_exceeded" | "too_much_unfinished" | "too_many_uploads");
    if status == StatusCode::BAD_GATEWAY || is_quota {
        tracing::info!(target: "http", code, status = status.as_u16(), request_id, "{report}");
    } else if status.is_server_error() {
        tracing::error!(target: "http", code, status = status.as_u16(), request_id, "{report}");
    } else {
        tracing::debug!(target: "http", code, status = status.as_u16(), request_id, "{report}");
    }
}

/// Says when to try again, where trying again makes sense: after the time that the error knows, else after a usual one.
pub fn add_retry_after(error: &Error, response: &mut Response) {
    let usual = match response.status() {
        StatusCode::SERVICE_UNAVAILABLE => RETRY_AFTER,
        StatusCode::TOO_MANY_REQUESTS => THROTTLED_RETRY_AFTER,
        _ => return,
    };
    let after = error.retry_after().map_or(usual, |time| HeaderValue::from(time.as_secs().max(1)));
    response.headers_mut().insert(header::RETRY_AFTER, after);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_and_codes_have_their_status() {
        let cases = [
            (Error::not_found("x"), 404),
            (Error::conflict("x"), 409),
            (Error::conflict("x").with_code("precondition_failed"), 412),
            (Error::locked("x"), 423),
            (Error::invalid("x"), 400),
            (Error::invalid("x").with_code("unsupported_media_type"), 415),
            (Error::invalid("x").with_code("not_readable"), 422),
            (Error::exhausted("x").with_code("too_large"), 413),
            (Error::forbidden("x"), 403),
            (Error::forbidden("x").with_code("unauthenticated"), 401),
            (Error::exhausted("x"), 507),
            (Error::exhausted("x").with_code("too_many_attempts"), 429),
            (Error::unavailable("x"), 503),
            (Error::corrupt("x"), 500),
        ];
        for (error, expected) in cases {
            assert_eq!(status(&error).as_u16(), expected, "{error:?}");
        }
    }

    #[test]
    fn a_problem_shows_the_message_and_never_the_source() {
        let error = Error::corrupt("row 7 of nodes is torn").with_source("/data/main.db");
        assert!(!public_message(&error).contains("nodes"));
        let response = Problem(Error::unavailable("the store \"files\" does not answer")).into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "5");
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
        let throttled = Error::exhausted("too often").with_code("too_many_attempts");
        let throttled = Problem(throttled.with_retry_after(std::time::Duration::from_secs(241))).into_response();
        assert_eq!(throttled.headers()[header::RETRY_AFTER], "241");
        let refused = Problem(Error::forbidden("sign in").with_code("unauthenticated")).into_response();
        assert_eq!(refused.headers().get_all(header::WWW_AUTHENTICATE).iter().count(), 2);
    }
}

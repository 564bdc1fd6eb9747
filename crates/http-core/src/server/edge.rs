//! Processing common to all requests, whatever their route: request identifier, limits, the log line, the histogram,
//! and a response even when a handler panics.

use std::panic::AssertUnwindSafe;
use std::time::Instant;

use async_recursion::async_recursion as boxed;
use axum::body::Body;
use axum::extract::{MatchedPath, Request};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use model::{Code, Error};

use crate::figures::names::REQUESTS;

use super::error::Problem;
use super::request::{REQUEST_ID, RequestContext};
use super::{secure, sending, unread_body};

/// Limit on the header-field bytes of one request.
pub const MAX_HEAD: usize = 64 * 1024;

/// Responds to a request with the result of `answer`. The origin of the request must have been determined.
pub async fn guarded(request: Request, answer: impl AsyncFnOnce(Request) -> Response) -> Response {
    let start = Instant::now();
    let context = RequestContext::of(request.headers());
    let method = request.method().clone();
    let route = request.extensions().get::<MatchedPath>().cloned();
    let too_big = head_size(request.headers()) > MAX_HEAD;
    let (request, ending) = unread_body::watch(request);
    let answered = context.clone().scope(async {
        if too_big {
            return Problem::from(
                Error::invalid("the header fields of the request are larger than 64 KiB")
                    .with_code(Code::HeadersTooLarge),
            )
            .into_response();
        }
        match AssertUnwindSafe(answer(request)).catch_unwind().await {
            Ok(response) => response,
            Err(panic) => Problem::from(panicked(panic.as_ref())).into_response(),
        }
    });
    let mut response = answered.await;
    secure::add_headers(response.headers_mut());
    if let Some(mut ending) = ending {
        ending.announce_close(&mut response).await;
    }
    if let Ok(id) = HeaderValue::from_str(context.id()) {
        response.headers_mut().insert(REQUEST_ID, id);
    }
    let route = route.as_ref().map_or("none", MatchedPath::as_str);
    note(&method, route, response.status(), start, &context);
    // Holds the permits of the request until the client has taken the response.
    response.extensions_mut().insert(context.clone());
    sending::watch(response, route, &context)
}

/// Duration from which a request is logged at level `info`.
const SLOW: std::time::Duration = std::time::Duration::from_secs(1);

/// Writes one log line and one sample. The line of a successful, fast request is logged at level `debug` only. The path
/// itself stays out of both: it can contain confidential names.
fn note(method: &axum::http::Method, route: &str, status: StatusCode, start: Instant, context: &RequestContext) {
    let elapsed = start.elapsed();
    let class = match status.as_u16() / 100 {
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => "1xx",
    };
    metrics::histogram!(REQUESTS, "route" => route.to_owned(), "status" => class).record(elapsed.as_secs_f64());
    macro_rules! line {
        ($level:ident) => {
            tracing::$level!(
                target: "http",
                %method,
                route,
                status = status.as_u16(),
                micros = elapsed.as_micros() as u64,
                principal = context.principal().unwrap_or("-"),
                request_id = context.id(),
                "request"
            )
        };
    }
    // File managers check whether a name exists before they create it. A negative result is not an error.
    let asked_in_vain = status == StatusCode::NOT_FOUND && method.as_str() == "PROPFIND";
    // Thousands of lines a second about successful requests cost more than the requests themselves.
    if elapsed >= SLOW || status.as_u16() >= 400 && !asked_in_vain { line!(info) } else { line!(debug) }
}

/// The error for a request on which the server panicked.
pub fn panicked(panic: &(dyn std::any::Any + Send)) -> Error {
    let what = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Error::corrupt("the server failed on this request; the log has the details under its request id")
        .with_code(Code::Internal)
        .with_source(format!("panic: {what}"))
}

fn head_size(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// The response for a path that no route serves, to clients other than browsers.
#[boxed]
pub async fn no_such_route() -> Response<Body> {
    Problem::from(Error::not_found("there is nothing at this address")).into_response()
}

/// The response for a method that a route does not have.
#[boxed]
pub async fn no_such_method() -> Response<Body> {
    Problem::from(Error::invalid("this address does not support that method").with_code(Code::MethodNotAllowed))
        .into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::middleware::{Next, from_fn};
    use axum::routing::get;
    use tower::ServiceExt;

    async fn burst() -> &'static str {
        panic!("seven is not a prime")
    }

    fn app() -> Router {
        Router::new()
            .route("/burst", get(burst))
            .route("/calm", get(|| async { "calm" }))
            .layer(from_fn(|request, next: Next| guarded(request, |request| next.run(request))))
    }

    async fn text(response: Response) -> String {
        let bytes = axum::body::to_bytes(response.into_body(), 100_000).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn a_panic_is_a_500_with_the_request_id_and_without_its_message() {
        let app = app();
        let request = Request::get("/burst").header(REQUEST_ID, "abc-12345").body(Body::empty()).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(response.headers()[REQUEST_ID], "abc-12345");
        let body = text(response).await;
        assert!(body.contains("\"instance\":\"abc-12345\""), "{body}");
        assert!(!body.contains("prime"), "{body}");
        let next = app.oneshot(Request::get("/calm").body(Body::empty()).unwrap()).await.unwrap();
        assert_eq!(next.status(), StatusCode::OK);
        assert_eq!(next.headers()["x-content-type-options"], "nosniff");
    }

    #[tokio::test]
    async fn a_head_beyond_the_limit_is_refused() {
        let request = Request::get("/calm").header("x-long", "a".repeat(MAX_HEAD)).body(Body::empty()).unwrap();
        let response = app().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
    }
}

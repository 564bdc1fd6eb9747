//! Error pages. A layer around all pages renders each [`Fault`] of a handler in the user's language.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use askama::Template;
use axum::extract::{FromRequestParts, Request};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use model::{Code, Error};

use http_core::server::state::AppState;
use http_core::server::{edge, error, request};

use super::fault::Fault;
use super::flash::Flash;
use super::page::{HTML, Page, html};
use super::reader::{KeptForm, PageUser};
use super::visit::Visit;
use super::{confirm_form, fields, navigation, refuse};

/// Media type of rejections by the framework.
const PLAIN: &str = "text/plain; charset=utf-8";

#[derive(Template)]
#[template(path = "fault.html")]
struct FaultPage<'a> {
    page: &'a Page,
    title: &'static str,
    message: String,
    status: u16,
    request_id: String,
}

/// Returns the error page for a request without a route, with the frame of the signed-in user.
pub async fn page_of(state: &AppState, request: Request, error: &Error) -> Response {
    let (mut parts, _) = request.into_parts();
    // The error page is also shown without a session, or when the session cannot be determined.
    let page = match Visit::from_request_parts(&mut parts, state).await {
        Ok(visit) => visit.page,
        Err(_) => Page::of_request(&parts),
    };
    draw(&page, error)
}

/// Middleware that renders errors.
pub async fn show(request: Request, next: Next) -> Response {
    let here = request.uri().path_and_query().map_or("/", |here| here.as_str()).to_owned();
    let mut page = Page::of(request.headers(), here);
    let reader = PageUser::default();
    let mut request = request;
    request.extensions_mut().insert(reader.clone());
    let noted = page.flash.is_some();
    let mut response = match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => Fault::from(edge::panicked(panic.as_ref())).into_response(),
    };
    let is_page = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == HTML);
    if noted && is_page {
        Flash::clear(&mut response);
    }
    let error = response.extensions_mut().remove::<Fault>().map(|fault| fault.into_error());
    match error.or_else(|| unreadable(&response).map(Arc::new)) {
        Some(error) => {
            if let Some(known) = reader.known() {
                known.apply(&mut page);
            }
            if error.code() == Code::FreshSignInNeeded {
                return ask(page, reader.kept(), &error);
            }
            draw(&page, &error)
        }
        None => response,
    }
}

/// Returns the error behind a response of the framework, which rejects a query, path or body with a message for
/// programmers.
fn unreadable(response: &Response) -> Option<Error> {
    let plain = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == PLAIN);
    if !response.status().is_client_error() || !plain {
        return None;
    }
    Some(if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        fields::too_large()
    } else {
        Error::invalid("part of the address or of the form is missing or cannot be read: go back and try again")
            .with_code(Code::Unreadable)
    })
}

/// Asks for the password instead of an action that needs re-authentication.
fn ask(mut page: Page, kept: Option<&KeptForm>, error: &Error) -> Response {
    let (next, kept) = (page.here.clone(), kept.cloned().unwrap_or_default());
    navigation::furnish_account(&mut page);
    let mut response = html(&confirm_form::form(&page, &next, &kept, String::new()));
    *response.status_mut() = error::status(error);
    response
}

fn draw(page: &Page, error: &Error) -> Response {
    let status = error::status(error);
    error::log(error, status);
    let title = match status {
        StatusCode::NOT_FOUND => page.s("error.not-found"),
        StatusCode::FORBIDDEN => page.s("error.forbidden"),
        StatusCode::LOCKED => page.s("error.locked"),
        StatusCode::CONFLICT | StatusCode::PRECONDITION_FAILED => page.s("error.conflict"),
        StatusCode::SERVICE_UNAVAILABLE => page.s("error.unavailable"),
        status if status.is_server_error() => page.s("error.internal"),
        _ => page.s("error.invalid"),
    };
    let request_id = request::current_id();
    let message = refuse::message_for(page, error);
    let mut response = html(&FaultPage { page, title, message, status: status.as_u16(), request_id });
    *response.status_mut() = status;
    error::add_retry_after(error, &mut response);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::fault::PageResult;
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::{Next, from_fn};
    use axum::routing::get;
    use tower::ServiceExt;

    async fn burst() -> &'static str {
        panic!("seven is not a prime")
    }

    async fn rotten() -> PageResult {
        Err(Error::corrupt("row 17 of table secrets has no end").into())
    }

    async fn waits() -> PageResult {
        Err(Error::exhausted("too many attempts: wait a minute").with_code(Code::TooManyAttempts).into())
    }

    #[tokio::test]
    async fn failures_are_pages_that_say_what_to_do_and_give_nothing_away() {
        let app = Router::new()
            .route("/burst", get(burst))
            .route("/rotten", get(rotten))
            .route("/waits", get(waits))
            .layer(from_fn(show))
            .layer(from_fn(|request, next: Next| edge::guarded(request, |request| next.run(request))));
        for (path, status, said) in [
            ("/burst", 500, "The server failed on this request; the log has the details under its request id."),
            ("/rotten", 500, "an administrator finds the details in the log under the request id"),
            ("/waits", 429, "Too many attempts: wait a minute."),
        ] {
            let asked = Request::get(path).header("x-request-id", "abc-12345").body(Body::empty()).unwrap();
            let response = app.clone().oneshot(asked).await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{path}");
            assert_eq!(response.headers()[header::CONTENT_TYPE], crate::frame::page::HTML);
            let body = axum::body::to_bytes(response.into_body(), 100_000).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            assert!(text.contains(said), "{text}");
            assert!(text.contains(&format!("Status {status}\u{a0}· Reference abc-12345")), "{text}");
            assert!(!text.contains("prime"), "{text}");
            assert!(!text.contains("secrets"), "{text}");
        }
    }
}

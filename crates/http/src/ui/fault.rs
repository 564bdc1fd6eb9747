//! Errors of pages: a handler returns a [`Fault`], and the layer of all pages draws it in the reader's language.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, OnceLock};

use askama::Template;
use axum::extract::{FromRequestParts, Request};
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use futures_util::FutureExt;
use model::{Error, Theme};

use super::caller::{self, Visit};
use super::confirm::{self, Kept};
use super::flash::Flash;
use super::page::{Page, Who};
use super::texts::Language;
use super::{account, html, refuse};
use crate::server::state::AppState;
use crate::server::{edge, error, request};

/// Media type of the framework's own refusals.
const PLAIN: &str = "text/plain; charset=utf-8";

/// An error of a page.
#[derive(Clone)]
pub struct Fault(Arc<Error>);

/// What handlers of pages return.
pub type Shown<T = Response> = Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self(Arc::new(error))
    }
}

impl IntoResponse for Fault {
    fn into_response(self) -> Response {
        let mut response = error::status(&self.0).into_response();
        response.extensions_mut().insert(self);
        response
    }
}

#[derive(Template)]
#[template(path = "fault.html")]
struct FaultPage<'a> {
    page: &'a Page,
    title: &'static str,
    message: String,
    status: u16,
    request_id: String,
}

/// Who reads the page, once a handler has found out; so that an error looks like all other pages.
#[derive(Clone, Default)]
pub struct Reader {
    known: Arc<OnceLock<Known>>,
    kept: Arc<OnceLock<Kept>>,
}

/// What is known of a reader.
pub struct Known {
    /// Name and login.
    pub who: Who,
    /// Token for the forms of the page.
    pub form_token: String,
    /// Language of the account or browser.
    pub language: Language,
    /// Theme of the account.
    pub theme: Theme,
}

impl Reader {
    /// Notes the reader; the first note counts.
    pub fn note(&self, known: Known) {
        let _ = self.known.set(known);
    }

    /// Keeps what a form brought, to be sent again after a fresh proof.
    pub fn keep(&self, kept: Kept) {
        let _ = self.kept.set(kept);
    }
}

impl Known {
    fn apply(&self, page: &mut Page) {
        page.who = Some(self.who.clone());
        page.form_token.clone_from(&self.form_token);
        page.language = self.language;
        page.theme = self.theme;
    }
}

/// The page of an error outside of all routes, in the frame of whoever is signed in.
pub async fn page_of(state: &AppState, request: Request, error: &Error) -> Response {
    let (mut parts, _) = request.into_parts();
    // When nobody is signed in, or it cannot be told who, the error is still the answer.
    let page = match Visit::from_request_parts(&mut parts, state).await {
        Ok(visit) => visit.page,
        Err(_) => Page::of_request(&parts),
    };
    draw(&page, error)
}

/// The layer that draws errors.
pub async fn show(request: Request, next: Next) -> Response {
    let here = request.uri().path_and_query().map_or("/", |here| here.as_str()).to_owned();
    let mut page = Page::of(request.headers(), here);
    let reader = Reader::default();
    let mut request = request;
    request.extensions_mut().insert(reader.clone());
    let noted = page.flash.is_some();
    let mut response = match AssertUnwindSafe(next.run(request)).catch_unwind().await {
        Ok(response) => response,
        Err(panic) => Fault::from(edge::panicked(panic.as_ref())).into_response(),
    };
    let is_page = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == super::HTML);
    if noted && is_page {
        Flash::clear(&mut response);
    }
    let error = response.extensions_mut().remove::<Fault>().map(|fault| fault.0);
    match error.or_else(|| unreadable(&response).map(Arc::new)) {
        Some(error) => {
            if let Some(known) = reader.known.get() {
                known.apply(&mut page);
            }
            if error.code() == "fresh_sign_in_needed" {
                return ask(page, reader.kept.get(), &error);
            }
            draw(&page, &error)
        }
        None => response,
    }
}

/// The error behind an answer of the framework, which has refused a query, a path or a body in words for programmers.
fn unreadable(response: &Response) -> Option<Error> {
    let plain = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == PLAIN);
    if !response.status().is_client_error() || !plain {
        return None;
    }
    Some(if response.status() == StatusCode::PAYLOAD_TOO_LARGE {
        caller::too_large()
    } else {
        Error::invalid("a part of the address or of the form is missing or cannot be read: go back and try it again")
            .with_code("unreadable")
    })
}

/// Asks for the password in place of what needs a fresh proof.
fn ask(mut page: Page, kept: Option<&Kept>, error: &Error) -> Response {
    let (next, kept) = (page.here.clone(), kept.cloned().unwrap_or_default());
    account::furnish(&mut page);
    let mut response = html(&confirm::form(&page, &next, &kept, String::new()));
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
    let message = refuse::explain(page, error);
    let mut response = html(&FaultPage { page, title, message, status: status.as_u16(), request_id });
    *response.status_mut() = status;
    error::add_retry_after(error, &mut response);
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::Router;
    use axum::body::Body;
    use axum::middleware::{Next, from_fn};
    use axum::routing::get;
    use tower::ServiceExt;

    async fn burst() -> &'static str {
        panic!("seven is not a prime")
    }

    async fn rotten() -> Shown {
        Err(Error::corrupt("row 17 of table secrets has no end").into())
    }

    async fn waits() -> Shown {
        Err(Error::exhausted("too many attempts: wait a minute").with_code("too_many_attempts").into())
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
            assert_eq!(response.headers()[header::CONTENT_TYPE], crate::ui::HTML);
            let body = axum::body::to_bytes(response.into_body(), 100_000).await.unwrap();
            let text = String::from_utf8(body.to_vec()).unwrap();
            assert!(text.contains(said) && text.contains(&format!("Status {status} · Reference abc-12345")), "{text}");
            assert!(!text.contains("prime") && !text.contains("secrets"), "{text}");
        }
    }
}

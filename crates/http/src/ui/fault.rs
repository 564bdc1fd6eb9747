//! Errors of pages: a handler returns a [`Fault`], and the layer of all pages draws it in the reader's language.

use askama::Template;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use model::Error;

use super::flash::Flash;
use super::html;
use super::page::Page;
use crate::error;
use crate::request;

/// An error of a page.
#[derive(Clone)]
pub struct Fault(std::sync::Arc<Error>);

/// What handlers of pages return.
pub type Shown<T = Response> = Result<T, Fault>;

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self(std::sync::Arc::new(error))
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
    message: &'a str,
    status: u16,
    request_id: String,
}

/// The layer that draws errors.
pub async fn show(request: Request, next: Next) -> Response {
    let here = request.uri().path_and_query().map_or("/", |here| here.as_str()).to_owned();
    let page = Page::of(request.headers(), here);
    let noted = page.flash.is_some();
    let mut response = next.run(request).await;
    let is_page = response.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == super::HTML);
    if noted && is_page {
        Flash::clear(&mut response);
    }
    match response.extensions_mut().remove::<Fault>() {
        Some(Fault(error)) => draw(&page, &error),
        None => response,
    }
}

fn draw(page: &Page, error: &Error) -> Response {
    let status = error::status(error);
    error::log(error, status);
    let title = match status {
        StatusCode::NOT_FOUND => page.s("error.not-found"),
        StatusCode::FORBIDDEN => page.s("error.forbidden"),
        StatusCode::CONFLICT | StatusCode::LOCKED | StatusCode::PRECONDITION_FAILED => page.s("error.conflict"),
        StatusCode::SERVICE_UNAVAILABLE => page.s("error.unavailable"),
        status if status.is_server_error() => page.s("error.internal"),
        _ => page.s("error.invalid"),
    };
    let request_id = request::current_id();
    let message = error::public_message(error);
    let mut response = html(&FaultPage { page, title, message, status: status.as_u16(), request_id });
    *response.status_mut() = status;
    error::add_retry_after(&mut response);
    response
}

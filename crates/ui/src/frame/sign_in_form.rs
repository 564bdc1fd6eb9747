//! The sign-in form, also shown when a form arrives after its session has ended.

use askama::Template;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Error, Result};
use serde_json::json;

use super::fault::Fault;
use super::fields;
use super::page::{Page, html, safe_next};
use http_core::identity::cookies::{self, Cookie};
use http_core::identity::csrf;
use http_core::server::request_body;
use http_core::server::state::AppState;

/// Limit on bytes of earlier input that the sign-in form carries along. The input is form-encoded a second time, and
/// the other fields need room, too.
const MAX_KEPT_BYTES: usize = request_body::MAX_ANONYMOUS_BODY - (16 << 10);
/// Cookie with the random value behind the token of the sign-in form.
pub const VISITOR: &str = "strongroom_visitor";

/// The form.
#[derive(Template)]
#[template(path = "sign.html")]
pub struct SignIn<'a> {
    /// The page.
    pub page: &'a Page,
    /// Page to show next.
    pub next: String,
    /// Login as typed.
    pub login: String,
    /// Error of the last attempt, or empty.
    pub fault: String,
    /// True if the password has leaked and must be changed first.
    pub leaked: bool,
    /// Form fields submitted after the session had ended, to be sent again; may be empty.
    pub resend: String,
    /// Path to which those fields were submitted.
    pub resend_to: String,
}

/// Answers a form that arrived after its session had ended. The sign-in form keeps the input. Scripts receive a problem
/// document.
pub async fn ended(state: &AppState, parts: Parts, body: Body) -> Response {
    let mut page = Page::of_request(&parts);
    let status = StatusCode::UNAUTHORIZED;
    if parts.headers.get(header::ACCEPT).is_some_and(|kind| kind == "application/problem+json") {
        let text = json!({"detail": page.s("sign.expired-row")}).to_string();
        return (status, [(header::CONTENT_TYPE, "application/problem+json")], text).into_response();
    }
    let (visitor, fresh) = match visitor(&parts.headers) {
        Ok(visitor) => visitor,
        Err(error) => return Fault::from(error).into_response(),
    };
    let resend_to = safe_next(Some(parts.uri.path()), "/");
    let fields = match fields::read(body, request_body::MAX_ANONYMOUS_BODY).await {
        Ok(fields) => fields,
        Err(error) => return Fault::from(error).into_response(),
    };
    page.form_token = csrf::token(&csrf::visitor_key(&visitor));
    let resend = fields.encoded();
    if form_urlencoded::byte_serialize(resend.as_bytes()).map(str::len).sum::<usize>() > MAX_KEPT_BYTES {
        return Fault::from(fields::too_large()).into_response();
    }
    let next = fields.next("/");
    let mut response = html(&SignIn {
        page: &page,
        next,
        login: String::new(),
        fault: String::new(),
        leaked: false,
        resend,
        resend_to,
    });
    *response.status_mut() = status;
    if fresh {
        Cookie { name: VISITOR, value: &visitor, seconds: None, secure: state.is_secure() }.set(&mut response);
    }
    response
}

/// Returns the visitor's random value, and whether it is new.
pub fn visitor(headers: &HeaderMap) -> Result<(String, bool)> {
    if let Some(known) = cookies::get(headers, VISITOR).filter(|value| (16..=64).contains(&value.len())) {
        return Ok((known, false));
    }
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::unavailable("the operating system gives no random numbers").with_source(e.to_string()))?;
    Ok((bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")), true))
}

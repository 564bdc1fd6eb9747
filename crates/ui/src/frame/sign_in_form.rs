//! The form that signs in, also in the place of what came when a session had ended.

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
use http_core::server::intake;
use http_core::server::state::AppState;

/// Most bytes of what was typed before, as the form that signs in brings it along: written for a form a second time,
/// with room for the other fields.
const MOST_KEPT: usize = intake::UNKNOWN - (16 << 10);
/// Cookie with the random value behind the token of the sign-in form.
pub const VISITOR: &str = "strongroom_visitor";

/// The form.
#[derive(Template)]
#[template(path = "sign.html")]
pub struct SignIn<'a> {
    /// The page.
    pub page: &'a Page,
    /// Where to go afterwards.
    pub next: String,
    /// What was typed.
    pub login: String,
    /// Why it was refused; empty at first.
    pub fault: String,
    /// Whether the password must be changed first.
    pub leaked: bool,
    /// What was sent when the session had ended, to be sent again; empty for nothing.
    pub resend: String,
    /// The path that it was sent to.
    pub resend_to: String,
}

/// The answer to a form that came when its session had ended: signing in keeps what was typed. Scripts get a problem.
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
    let fields = match fields::read(body, intake::UNKNOWN).await {
        Ok(fields) => fields,
        Err(error) => return Fault::from(error).into_response(),
    };
    page.form_token = csrf::token(&csrf::visitor_key(&visitor));
    let resend = fields.encoded();
    if form_urlencoded::byte_serialize(resend.as_bytes()).map(str::len).sum::<usize>() > MOST_KEPT {
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

/// The visitor's random value, and whether it is new.
pub fn visitor(headers: &HeaderMap) -> Result<(String, bool)> {
    if let Some(known) = cookies::get(headers, VISITOR).filter(|value| (16..=64).contains(&value.len())) {
        return Ok((known, false));
    }
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::unavailable("the operating system gives no random numbers").with_source(e.to_string()))?;
    Ok((bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")), true))
}

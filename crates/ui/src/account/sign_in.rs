//! Sign-in and sign-out.

use askama::Template;
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use model::{Code, Error, ErrorKind, Result, Timestamp};
use repository::{Client, Credential, DEVICE_LIFE, SignedIn};
use serde::Deserialize;

use crate::frame::fault::{Fault, PageResult};
use crate::frame::fields::{self, Fields};
use crate::frame::flash::{Flash, done};
use crate::frame::page::{Page, html, safe_next};
use crate::frame::refuse;
use crate::frame::sign_in_form::{SignIn, VISITOR, visitor};
use crate::frame::visit::{NoVisit, SubmittedForm};
use http_core::identity::cookies::Cookie;
use http_core::identity::{self, csrf};
use http_core::server::state::AppState;
use http_core::server::{error, request_body};

/// Page that offers to send a form again after its user's session had ended.
#[derive(Template)]
#[template(path = "resend.html")]
pub struct Resend<'a> {
    page: &'a Page,
    /// Text key of the title.
    title: &'static str,
    action: String,
    fields: Vec<(String, String)>,
}

impl<'a> Resend<'a> {
    /// Creates a page whose button posts these form-encoded fields to `action`.
    pub fn new(page: &'a Page, title: &'static str, action: String, fields: &str) -> Self {
        Self { page, title, action, fields: form_urlencoded::parse(fields.as_bytes()).into_owned().collect() }
    }
}

/// Continues after a successful sign-in: to the next page, or to the form to send again.
async fn go_on(state: &AppState, mut page: Page, secret: &str, next: &str, fields: &Fields) -> Result<Response, Error> {
    let resend = fields.text("resend");
    if resend.is_empty() {
        return Ok(Redirect::to(next).into_response());
    }
    if let Some(caller) = state.repository().caller_from_session(secret).await?
        && let Credential::Session { csrf_key, .. } = caller.credential
    {
        page.form_token = csrf::token(&csrf_key);
    }
    let action = safe_next(Some(fields.text("resend_to").as_str()), "/");
    Ok(html(&Resend::new(&page, "sign.again", action, &resend)))
}

/// Target after sign-in.
#[derive(Deserialize)]
pub struct Next {
    next: Option<String>,
}

/// Shows the sign-in form, or redirects a user who is already signed in.
pub async fn form(State(state): State<AppState>, Query(next): Query<Next>, request: Request) -> PageResult {
    let (parts, _) = request.into_parts();
    let next = safe_next(next.next.as_deref(), "/");
    if identity::from_cookie(&state, &parts.headers).await?.is_some() {
        return Ok(Redirect::to(&next).into_response());
    }
    let mut page = Page::of_request(&parts);
    let (visitor, fresh) = visitor(&parts.headers)?;
    page.form_token = csrf::token(&csrf::visitor_key(&visitor));
    let mut response = html(&SignIn {
        page: &page,
        next,
        login: String::new(),
        fault: String::new(),
        leaked: false,
        resend: String::new(),
        resend_to: String::new(),
    });
    if fresh {
        let secure = state.is_secure();
        Cookie { name: VISITOR, value: &visitor, seconds: None, secure }.set(&mut response);
    }
    Ok(response)
}

/// Begins a session. The cookie always gets a new secret, which prevents session fixation.
pub async fn sign_in(State(state): State<AppState>, request: Request) -> PageResult {
    let (parts, body) = request.into_parts();
    let client = identity::client_of(&state, &parts);
    let mut page = Page::of_request(&parts);
    let (visitor, _) = visitor(&parts.headers)?;
    let before = identity::session_secret(&state, &parts.headers);
    let fields = fields::read(body, request_body::MAX_ANONYMOUS_BODY).await?;
    let key = csrf::visitor_key(&visitor);
    csrf::check(&key, &fields.text("form_token"))?;
    let (login, next) = (fields.trimmed("login"), fields.next("/"));
    match enter(&state, &login, &fields, &client).await {
        Ok(signed_in) => {
            // The browser's previous session ends with its cookie; otherwise it could not be ended from this browser
            // any more.
            if let Some(before) = before {
                state.repository().sign_out(&before).await?;
            }
            let seconds = (signed_in.expires_at.seconds() - Timestamp::now().seconds()).max(0).unsigned_abs();
            let mut response = match signed_in.outdated_password && fields.text("resend").is_empty() {
                // The outdated password still works, but its owner is warned at every sign-in.
                true => done("/account/password", &Flash::new("toast.easy-password", "")),
                false => go_on(&state, page, &signed_in.secret, &next, &fields).await?,
            };
            let (name, secure) = (identity::session_cookie(state.is_secure()), state.is_secure());
            Cookie { name, value: &signed_in.secret, seconds: Some(seconds), secure }.set(&mut response);
            Cookie { name: VISITOR, value: "", seconds: Some(0), secure }.set(&mut response);
            if let Some(device) = &signed_in.device {
                let (name, seconds) = (identity::device_cookie(secure), Some(DEVICE_LIFE.as_secs()));
                Cookie { name, value: device, seconds, secure }.set(&mut response);
            }
            Ok(response)
        }
        Err(error) if matches!(error.kind(), ErrorKind::Forbidden | ErrorKind::Exhausted | ErrorKind::Invalid) => {
            page.form_token = csrf::token(&key);
            let fault = match error.code() {
                // The field for a new password is on this form.
                Code::LeakedPassword => page.s("sign.leaked").to_owned(),
                _ => refuse::message_for(&page, &error),
            };
            let (resend, resend_to) = (fields.text("resend"), fields.text("resend_to"));
            let leaked = error.code() == Code::LeakedPassword || !fields.text("new_password").is_empty();
            let mut response = html(&SignIn { page: &page, next, login, fault, leaked, resend, resend_to });
            *response.status_mut() = error::status(&error);
            error::add_retry_after(&error, &mut response);
            Ok(response)
        }
        Err(error) => Err(error.into()),
    }
}

/// Signs in. When the form contains a new password, it first replaces the leaked one.
async fn enter(state: &AppState, login: &str, fields: &Fields, client: &Client) -> Result<SignedIn> {
    let (password, new) = (fields.text("password"), fields.text("new_password"));
    if new.is_empty() {
        return state.repository().sign_in(login, &password, client).await;
    }
    state.repository().replace_leaked_password(login, &password, &new, client).await?;
    state.repository().sign_in(login, &new, client).await
}

/// Ends the session and removes its cookie.
pub async fn sign_out(State(state): State<AppState>, request: Request) -> Response {
    let secret = identity::session_secret(&state, request.headers());
    // A caller without a session gets the same response. For all others the form token is checked.
    match (SubmittedForm::from_request(request, &state).await, secret) {
        (Ok(_), Some(secret)) => {
            if let Err(error) = state.repository().sign_out(&secret).await {
                return Fault::from(error).into_response();
            }
        }
        (Err(NoVisit::Ended(_)), _) => {}
        (Err(away), _) => return away.into_response(),
        (Ok(_), None) => {}
    }
    let mut response = Redirect::to("/sign-in").into_response();
    let (name, secure) = (identity::session_cookie(state.is_secure()), state.is_secure());
    Cookie { name, value: "", seconds: Some(0), secure }.set(&mut response);
    // The browser's cache of private pages is cleared, too.
    if secure {
        response.headers_mut().insert("clear-site-data", header::HeaderValue::from_static("\"cache\""));
    }
    response
}

//! Signing in and out.

use askama::Template;
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use model::{Code, Error, ErrorKind, Result, Timestamp};
use repository::{Client, Credential, DEVICE_LIFE, SignedIn};
use serde::Deserialize;

use crate::frame::fault::{Fault, Shown};
use crate::frame::fields::{self, Fields};
use crate::frame::flash::{Flash, done};
use crate::frame::page::{Page, html, safe_next};
use crate::frame::refuse;
use crate::frame::sign_in_form::{SignIn, VISITOR, visitor};
use crate::frame::visit::{Away, Sent};
use http_core::identity::cookies::Cookie;
use http_core::identity::{self, csrf};
use http_core::server::state::AppState;
use http_core::server::{error, intake};

/// What somebody sent when their session had ended, once they are back.
#[derive(Template)]
#[template(path = "resend.html")]
pub struct Resend<'a> {
    page: &'a Page,
    /// Key of the title.
    title: &'static str,
    action: String,
    fields: Vec<(String, String)>,
}

impl<'a> Resend<'a> {
    /// Sends these fields, as a form sends them, to `action` when the button is pressed.
    pub fn new(page: &'a Page, title: &'static str, action: String, fields: &str) -> Self {
        Self { page, title, action, fields: form_urlencoded::parse(fields.as_bytes()).into_owned().collect() }
    }
}

/// Where somebody goes on who has signed in.
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

/// Where to go after signing in.
#[derive(Deserialize)]
pub struct Next {
    next: Option<String>,
}

/// The form that signs in; somebody who is signed in already goes on at once.
pub async fn form(State(state): State<AppState>, Query(next): Query<Next>, request: Request) -> Shown {
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

/// Begins a session. The secret of the cookie is always a new one, so nobody can have planted it.
pub async fn sign_in(State(state): State<AppState>, request: Request) -> Shown {
    let (parts, body) = request.into_parts();
    let client = identity::client_of(&state, &parts);
    let mut page = Page::of_request(&parts);
    let (visitor, _) = visitor(&parts.headers)?;
    let before = identity::session_secret(&state, &parts.headers);
    let fields = fields::read(body, intake::UNKNOWN).await?;
    let key = csrf::visitor_key(&visitor);
    csrf::check(&key, &fields.text("form_token"))?;
    let (login, next) = (fields.trimmed("login"), fields.next("/"));
    match enter(&state, &login, &fields, &client).await {
        Ok(signed_in) => {
            // The session that the browser had goes with its cookie; nobody could end it afterwards.
            if let Some(before) = before {
                state.repository().sign_out(&before).await?;
            }
            let seconds = (signed_in.expires_at.seconds() - Timestamp::now().seconds()).max(0).unsigned_abs();
            let mut response = match signed_in.outdated_password && fields.text("resend").is_empty() {
                // The password still works; its owner is told each time.
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
                // The field for another one is right here.
                Code::LeakedPassword => page.s("sign.leaked").to_owned(),
                _ => refuse::explain(&page, &error),
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

/// Signs in, after giving a password that nobody may have any more a successor when the form brings one.
async fn enter(state: &AppState, login: &str, fields: &Fields, client: &Client) -> Result<SignedIn> {
    let (password, new) = (fields.text("password"), fields.text("new_password"));
    if new.is_empty() {
        return state.repository().sign_in(login, &password, client).await;
    }
    state.repository().replace_leaked_password(login, &password, &new, client).await?;
    state.repository().sign_in(login, &new, client).await
}

/// Ends the session.
pub async fn sign_out(State(state): State<AppState>, request: Request) -> Response {
    let secret = identity::session_secret(&state, request.headers());
    // Whoever is signed out already gets the same answer; the form token is checked for all others.
    match (Sent::from_request(request, &state).await, secret) {
        (Ok(_), Some(secret)) => {
            if let Err(error) = state.repository().sign_out(&secret).await {
                return Fault::from(error).into_response();
            }
        }
        (Err(Away::Ended(_)), _) => {}
        (Err(away), _) => return away.into_response(),
        (Ok(_), None) => {}
    }
    let mut response = Redirect::to("/sign-in").into_response();
    let (name, secure) = (identity::session_cookie(state.is_secure()), state.is_secure());
    Cookie { name, value: "", seconds: Some(0), secure }.set(&mut response);
    // What the browser kept of private pages goes too.
    if secure {
        response.headers_mut().insert("clear-site-data", header::HeaderValue::from_static("\"cache\""));
    }
    response
}

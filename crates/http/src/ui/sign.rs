//! Signing in and out.

use askama::Template;
use axum::extract::{FromRequest, Query, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Redirect, Response};
use model::{Error, ErrorKind, Timestamp};
use serde::Deserialize;

use super::caller::{self, Sent};
use super::fault::{Fault, Shown};
use super::page::{Page, safe_next};
use super::{html, refuse};
use crate::cookies::{self, Cookie};
use crate::state::AppState;
use crate::{csrf, error, identity};

/// Cookie with the random value behind the token of the sign-in form.
const VISITOR: &str = "strongroom_visitor";

#[derive(Template)]
#[template(path = "sign.html")]
struct SignIn<'a> {
    page: &'a Page,
    next: String,
    login: String,
    fault: String,
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
    let mut response = html(&SignIn { page: &page, next, login: String::new(), fault: String::new() });
    if fresh {
        let secure = state.is_secure();
        Cookie { name: VISITOR, value: &visitor, seconds: None, secure }.set(&mut response);
    }
    Ok(response)
}

/// Begins a session. The secret of the cookie is always a new one, so nobody can have planted it.
pub async fn sign_in(State(state): State<AppState>, request: Request) -> Shown {
    let (parts, body) = request.into_parts();
    let client = identity::client(&parts);
    let mut page = Page::of_request(&parts);
    let (visitor, _) = visitor(&parts.headers)?;
    let before = identity::session_secret(&state, &parts.headers);
    let fields = caller::read(Request::from_parts(parts, body), &state).await?;
    let key = csrf::visitor_key(&visitor);
    csrf::check(&key, &fields.text("form_token"))?;
    let (login, next) = (fields.trimmed("login"), fields.next("/"));
    match state.repository().sign_in(&login, &fields.text("password"), &client).await {
        Ok(signed_in) => {
            // The session that the browser had goes with its cookie; nobody could end it afterwards.
            if let Some(before) = before {
                state.repository().sign_out(&before).await?;
            }
            let seconds = (signed_in.expires_at.seconds() - Timestamp::now().seconds()).max(0).unsigned_abs();
            let mut response = Redirect::to(&next).into_response();
            let (name, secure) = (identity::session_cookie(state.is_secure()), state.is_secure());
            Cookie { name, value: &signed_in.secret, seconds: Some(seconds), secure }.set(&mut response);
            Cookie { name: VISITOR, value: "", seconds: Some(0), secure }.set(&mut response);
            Ok(response)
        }
        Err(error) if matches!(error.kind(), ErrorKind::Forbidden | ErrorKind::Exhausted) => {
            page.form_token = csrf::token(&key);
            let fault = refuse::explain(&page, &error);
            let mut response = html(&SignIn { page: &page, next, login, fault });
            *response.status_mut() = error::status(&error);
            error::add_retry_after(&error, &mut response);
            Ok(response)
        }
        Err(error) => Err(error.into()),
    }
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

/// The visitor's random value, and whether it is new.
fn visitor(headers: &axum::http::HeaderMap) -> Result<(String, bool), Error> {
    if let Some(known) = cookies::get(headers, VISITOR).filter(|value| (16..=64).contains(&value.len())) {
        return Ok((known, false));
    }
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|e| Error::unavailable("the operating system gives no random numbers").with_source(e.to_string()))?;
    Ok((bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}")), true))
}

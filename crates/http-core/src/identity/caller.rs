//! Authentication of a request: a session cookie, a bearer token, or Basic credentials over a private connection.
//!
//! This module only extracts the credential. The repository decides to which account it belongs.

use std::net::{IpAddr, Ipv4Addr};

use async_recursion::async_recursion as boxed;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use model::{Code, Error, Result};
use repository::{Caller, Client, Credential, Session};

use crate::protocol::credentials::{self, Credentials};
use crate::server::error::Problem;
use crate::server::origin::RequestOrigin;
use crate::server::request;
use crate::server::state::AppState;

use super::{cookies, csrf};

/// Returns the name of the session cookie. The `__Host-` prefix binds the cookie to this host and to TLS.
pub fn session_cookie(secure: bool) -> &'static str {
    if secure { "__Host-strongroom_session" } else { "strongroom_session" }
}

/// Header field with the lock tokens that a client submits with a change, separated by commas.
const LOCK_TOKEN: &str = "lock-token";
/// Limit on lock tokens per request.
const MAX_TOKENS: usize = 100;

fn lock_tokens(headers: &HeaderMap) -> Result<Vec<String>> {
    let bad = || {
        Error::invalid(format!("Lock-Token may hold at most {MAX_TOKENS} lock tokens, separated by commas"))
            .with_code(Code::InvalidLockToken)
    };
    let mut tokens = Vec::new();
    for field in headers.get_all(LOCK_TOKEN) {
        let text = field.to_str().map_err(|_| bad())?;
        // WebDAV writes tokens in angle brackets.
        let each = text.split(',').map(|token| token.trim().trim_start_matches('<').trim_end_matches('>'));
        tokens.extend(each.filter(|token| !token.is_empty()).map(str::to_owned));
    }
    if tokens.len() > MAX_TOKENS { Err(bad()) } else { Ok(tokens) }
}

/// Returns the name of the device cookie, which identifies a browser that has signed in to an account before.
pub fn device_cookie(secure: bool) -> &'static str {
    if secure { "__Host-strongroom_device" } else { "strongroom_device" }
}

/// Returns [`client`] with the device cookie of the browser.
pub fn client_of(state: &AppState, parts: &Parts) -> Client {
    Client { device: cookies::get(&parts.headers, device_cookie(state.is_secure())), ..client(parts) }
}

/// Returns the client's address, as far as it can be trusted, and its user agent.
pub fn client(parts: &Parts) -> Client {
    let agent = parts.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    Client {
        address: RequestOrigin::of(&parts.extensions)
            .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |request_origin| request_origin.address),
        agent: agent.chars().take(300).collect(),
        device: None,
    }
}

/// Returns the secret in the session cookie.
pub fn session_secret(state: &AppState, headers: &HeaderMap) -> Option<String> {
    cookies::get(headers, session_cookie(state.is_secure())).filter(|secret| !secret.is_empty())
}

/// Returns the caller of the cookie's session. `None` without a cookie, or when the session has ended.
#[boxed]
pub async fn from_cookie(state: &AppState, headers: &HeaderMap) -> Result<Option<Caller>> {
    let Some(secret) = session_secret(state, headers) else { return Ok(None) };
    let caller = state.repository().caller_from_session(&secret).await?;
    if let Some(caller) = &caller {
        request::note_principal(&caller.principal.login)?;
    }
    Ok(caller)
}

/// Authenticates a request of a programmatic protocol (REST, WebDAV). Returns `None` when the request carries no
/// credential at all.
///
/// # Errors
/// Forbidden with code `bad_credentials` for an invalid credential, with `basic_needs_tls` for Basic credentials over a
/// connection that others can read; Exhausted after too many failures; Unavailable.
#[boxed]
pub async fn from_request(state: &AppState, parts: &Parts) -> Result<Option<Caller>> {
    let Some(field) = parts.headers.get(header::AUTHORIZATION) else {
        return from_cookie(state, &parts.headers).await;
    };
    let client = client(parts);
    let caller = match credentials::parse(field.as_bytes())? {
        Credentials::Bearer(token) => state.repository().caller_from_token(&token, client.address).await?,
        Credentials::Basic { login, secret } => {
            require_private_line(state, parts)?;
            from_basic(state, &login, &secret, &client).await?
        }
    };
    let caller = caller.ok_or_else(|| {
        Error::forbidden("the login, password or token is wrong, or no longer valid").with_code(Code::BadCredentials)
    })?;
    request::note_principal(&caller.principal.login)?;
    Ok(Some(caller))
}

/// Checks Basic credentials. The password may be replaced by a token of the same user.
async fn from_basic(state: &AppState, login: &str, secret: &str, client: &Client) -> Result<Option<Caller>> {
    if secret.starts_with("srt_") {
        let caller = state.repository().caller_from_token(secret, client.address).await?;
        return Ok(caller.filter(|caller| caller.principal.login == login.to_lowercase()));
    }
    state.repository().caller_from_password(login, secret, client).await
}

/// Requires a private connection, because Basic credentials are readable in transit: TLS, a trusted proxy that
/// terminates TLS, or this machine itself. A proxy that was reached over plain HTTP reports that in
/// `X-Forwarded-Proto`, and the request is refused.
fn require_private_line(state: &AppState, parts: &Parts) -> Result<()> {
    if state.ends_tls() {
        return Ok(());
    }
    let mut protocols = parts.headers.get_all("x-forwarded-proto").iter();
    let plain = protocols.any(|proto| !proto.as_bytes().trim_ascii().eq_ignore_ascii_case(b"https"));
    let request_origin = RequestOrigin::of(&parts.extensions);
    let by_proxy = request_origin.is_some_and(|request_origin| request_origin.through_proxy);
    let local = request_origin.is_some_and(|request_origin| request_origin.is_local);
    if !plain && (local || by_proxy && state.behind_tls_proxy()) {
        return Ok(());
    }
    let text = if state.behind_tls_proxy() && !by_proxy {
        "Basic credentials are accepted only over TLS, through a proxy that the setting trusted_proxies names: use \
         https, or a bearer token"
    } else {
        "Basic credentials are accepted only over TLS: use https, or a bearer token"
    };
    Err(Error::forbidden(text).with_code(Code::BasicNeedsTls))
}

/// Returns the session of a caller whom the address of the request identifies.
///
/// # Errors
/// Those of the limits on the caller's requests.
pub fn session_of(state: &AppState, caller: Caller) -> Result<Session> {
    request::note_principal(&caller.principal.login)?;
    Ok(state.repository().as_caller(caller.principal))
}

/// Refuses a change with a read-only token. The repository enforces the other scopes. This check also covers changes
/// that belong to the account rather than to an item, such as preferences.
fn require_scope(caller: &Caller, method: &Method) -> Result<()> {
    if caller.principal.limits.scopes.allows_changes() || csrf::is_reading(method) {
        return Ok(());
    }
    let mut text = "this token only allows reading: create one with the scope write, for documents and folders, or \
                    manage, for sites, libraries and permissions"
        .to_owned();
    if caller.principal.everywhere {
        text.push_str("; administering the farm needs the scope farm");
    }
    Err(Error::forbidden(text).with_code(Code::TokenScope))
}

/// The authenticated caller of a programmatic protocol. Handlers that take this extractor answer 401 to a request
/// without credentials.
pub struct Authenticated {
    /// Session with the caller's rights.
    pub session: Session,
    /// Credential with which the caller authenticated.
    pub credential: Credential,
}

impl FromRequestParts<AppState> for Authenticated {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self, Problem> {
        let caller = from_request(state, parts).await?.ok_or_else(|| {
            Error::forbidden("sign in first: send a bearer token, Basic credentials or a session cookie")
                .with_code(Code::Unauthenticated)
        })?;
        require_scope(&caller, &parts.method)?;
        let zone = caller.preferences.zone().unwrap_or_default();
        let mut session = state.repository().as_caller(caller.principal).in_zone(zone);
        if parts.headers.contains_key(LOCK_TOKEN) {
            session = session.with_lock_tokens(lock_tokens(&parts.headers)?);
        }
        Ok(Self { session, credential: caller.credential })
    }
}

//! A request of an office server, with its caller and document.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, ErrorKind, Id, NodeKind, Result};
use repository::{Item, Session, Target};
use serde::Deserialize;

use http_core::identity;
use http_core::server::error::Problem;
use http_core::server::state::AppState;
use http_core::transfer::query::query;

/// Header fields.
pub const LOCK: &str = "x-wopi-lock";
pub const OLD_LOCK: &str = "x-wopi-oldlock";
pub const OVERRIDE: &str = "x-wopi-override";
pub const ITEM_VERSION: &str = "x-wopi-itemversion";
const LOCK_FAILURE: &str = "x-wopi-lockfailurereason";

/// Query parameters. Office servers add others.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Parameters {
    access_token: String,
}

/// The lock on a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PresentLock {
    /// None.
    None,
    /// One of an office server, with its identifier.
    Office(String),
    /// One of another program, also on a folder above the document.
    Other,
}

/// The caller and the document of a request.
pub struct WopiRequest {
    /// Session of the user who edits, limited to the document.
    pub session: Session,
    /// The document.
    pub document: Id,
    /// Header fields.
    pub headers: HeaderMap,
}

/// An error on its way to an office server.
pub struct Failure(Problem);

impl<E: Into<Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(Problem::from(error.into()))
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        self.0.into_response()
    }
}

/// Result of the operations.
pub type WopiResult<T = Response> = std::result::Result<T, Failure>;

impl FromRequestParts<AppState> for WopiRequest {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> WopiResult<Self> {
        if state.office_server().is_none() {
            return Err(no_document().into());
        }
        let Path(asked): Path<String> = Path::from_request_parts(parts, state).await.map_err(|_| no_document())?;
        let parameters: Parameters = query(&parts.uri)?;
        let bearer = parts.headers.get(header::AUTHORIZATION).and_then(|field| field.to_str().ok());
        let bearer = bearer.and_then(|field| field.strip_prefix("Bearer "));
        let token = bearer.unwrap_or(&parameters.access_token);
        let access = state.repository().edit_access(token).await?.ok_or_else(token_expired)?;
        let caller = access.caller.ok_or_else(token_expired)?;
        if asked.parse::<Id>().ok() != Some(access.document) {
            return Err(no_document().into());
        }
        let session = identity::session_of(state, caller)?;
        Ok(Self { session, document: access.document, headers: std::mem::take(&mut parts.headers) })
    }
}

impl WopiRequest {
    /// Returns the document.
    ///
    /// # Errors
    /// `NotFound` if it is gone, or the user may not see it any more.
    pub async fn item(&self) -> Result<Item> {
        let item = self.session.item(&self.target()).await?;
        if item.kind == NodeKind::Document { Ok(item) } else { Err(no_document()) }
    }

    /// Returns the document as a target.
    pub fn target(&self) -> Target {
        Target::Id(self.document)
    }

    /// Returns the text of a header field, or an empty one.
    pub fn field(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }

    /// Returns the lock on the document.
    pub async fn present_lock(&self) -> Result<PresentLock> {
        let locks = self.session.locks(&self.target()).await?;
        Ok(match locks.first() {
            None => PresentLock::None,
            Some(lock) => lock.office_lock_id().map_or(PresentLock::Other, PresentLock::Office),
        })
    }

    /// Returns the answer to a request with the wrong lock, or with none.
    pub async fn lock_mismatch(&self, why: &str) -> WopiResult {
        let present = match self.present_lock().await? {
            PresentLock::Office(id) => id,
            PresentLock::None | PresentLock::Other => String::new(),
        };
        let mut response = Problem::from(Error::conflict(why.to_owned()).with_code(Code::LockNotFound)).into_response();
        *response.status_mut() = StatusCode::CONFLICT;
        set(&mut response, LOCK, &present);
        set(&mut response, LOCK_FAILURE, why);
        Ok(response)
    }

    /// Turns an error about locks into the answer that WOPI expects, which names the present lock.
    pub async fn or_lock_mismatch(&self, outcome: Result<Response>) -> WopiResult {
        match outcome {
            Ok(response) => Ok(response),
            Err(error) if error.kind() == ErrorKind::Locked || error.code() == Code::LockNotFound => {
                self.lock_mismatch(error.message()).await
            }
            Err(error) => Err(error.into()),
        }
    }
}

/// Sets a header field, unless the text cannot be in one.
pub fn set(response: &mut Response, name: &'static str, text: &str) {
    if let Ok(value) = HeaderValue::from_str(text) {
        response.headers_mut().insert(name, value);
    }
}

fn no_document() -> Error {
    Error::not_found("there is no document at this address")
}

fn token_expired() -> Error {
    let text = "the access token has ended: open the document from its page again";
    Error::forbidden(text).with_code(Code::Unauthenticated)
}

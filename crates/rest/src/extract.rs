//! Extracts the contents of requests, and refuses them with a message that names the fault.

use axum::extract::{FromRequest, FromRequestParts, RawPathParams, Request};
use axum::http::request::Parts;
use axum::http::{Uri, header};
use model::{Code, Digest, Error, Id, NodePath, Result};
use repository::Session;
use serde::de::DeserializeOwned;

use http_core::protocol::{content_type, idempotency, segments};
use http_core::server::error::Problem;
use http_core::server::request_body;
use http_core::server::state::AppState;
use http_core::transfer::query::query;

use super::wire::StrictObject;

/// The fields of a query string. Unknown fields are refused by name.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> std::result::Result<Self, Problem> {
        Ok(Self(query(&parts.uri)?))
    }
}

/// A JSON object in the body. Unknown fields are refused by name.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned + Send + 'static> FromRequest<AppState> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &AppState) -> std::result::Result<Self, Problem> {
        Ok(Self(request_body::parse_off_thread(json_bytes(request).await?, json).await?))
    }
}

/// A JSON object that creates something, at most once per idempotency key.
pub struct Create<T> {
    /// The description of what to create.
    pub value: T,
    once: Option<(String, Digest)>,
}

impl<T> Create<T> {
    /// Returns the session, bound to the idempotency key if there is one, and the description of what to create.
    pub fn with(self, session: Session) -> (Session, T) {
        let session = match self.once {
            Some((key, request)) => session.idempotent(&key, request),
            None => session,
        };
        (session, self.value)
    }
}

impl<T: DeserializeOwned + Send + 'static> FromRequest<AppState> for Create<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, _: &AppState) -> std::result::Result<Self, Problem> {
        let key = idempotency::key(request.headers())?;
        let mut hasher = blake3::Hasher::new();
        hasher.update(request.method().as_str().as_bytes()).update(b" ");
        hasher.update(request.uri().path().as_bytes()).update(b"\n");
        let read = move |bytes: &[u8]| {
            hasher.update(bytes);
            Ok((json(bytes)?, Digest::new(*hasher.finalize().as_bytes())))
        };
        let (value, digest) = request_body::parse_off_thread(json_bytes(request).await?, read).await?;
        Ok(Self { value, once: key.map(|key| (key, digest)) })
    }
}

async fn json_bytes(request: Request) -> Result<request_body::BufferedBody> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_none_or(|kind| content_type::essence(kind) != "application/json") {
        return Err(Error::invalid("the body must be JSON: send Content-Type: application/json")
            .with_code(Code::UnsupportedMediaType));
    }
    request_body::read_to_end(request.into_body(), request_body::FIELDS).await
}

/// The path parameters of an address, in order.
pub struct PathParams<const N: usize>(pub [String; N]);

impl<const N: usize> FromRequestParts<AppState> for PathParams<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> std::result::Result<Self, Problem> {
        let bad = || Error::invalid("the address cannot be read").with_code(Code::InvalidPath);
        let words = RawPathParams::from_request_parts(parts, state).await.map_err(|_| bad())?;
        let words: Vec<String> = words.iter().map(|(_, value)| value.to_owned()).collect();
        Ok(Self(words.try_into().map_err(|_| bad())?))
    }
}

/// The path parameters of an address as identifiers, in order.
pub struct Ids<const N: usize>(pub [Id; N]);

impl<const N: usize> FromRequestParts<AppState> for Ids<N> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> std::result::Result<Self, Problem> {
        let PathParams(words) = PathParams::<N>::from_request_parts(parts, state).await?;
        let mut ids = [Id::NONE; N];
        for (id, word) in ids.iter_mut().zip(words) {
            *id = self::id(&word)?;
        }
        Ok(Self(ids))
    }
}

/// Parses an identifier in an address.
pub fn id(word: &str) -> Result<Id> {
    word.parse().map_err(|_| {
        let text = "an identifier in the address is not a number: copy it from the field `id` of the object";
        Error::invalid(text).with_code(Code::InvalidId)
    })
}

/// Parses a JSON object. The nesting depth is bounded.
pub fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map(|StrictObject(value)| value).map_err(|error| {
        let why = without_types(&error.to_string());
        Error::invalid(format!("the body cannot be read: {why}")).with_code(Code::InvalidJson)
    })
}

/// Removes the names of Rust types from a message of the JSON parser.
fn without_types(message: &str) -> String {
    let Some((before, after)) = message.split_once(", expected ") else { return message.to_owned() };
    let kind = ["internally tagged enum ", "unit struct ", "tuple struct ", "struct ", "enum "]
        .iter()
        .find_map(|kind| after.strip_prefix(kind));
    match kind {
        Some(named) => format!("{before}, expected an object{}", named.find(' ').map_or("", |end| &named[end..])),
        None => message.to_owned(),
    }
}

/// Returns the item path after `prefix` in an address, decoded once.
pub fn path_behind(uri: &Uri, prefix: &str) -> Result<NodePath> {
    let rest = uri.path().strip_prefix(prefix).unwrap_or_default();
    let names = segments::decode(rest)?;
    if names.len() > model::MAX_DEPTH + 4 {
        return Err(
            Error::invalid(format!("the path is deeper than {} levels", model::MAX_DEPTH)).with_code(Code::PathTooDeep)
        );
    }
    let names = names.into_iter().map(model::Name::new).collect::<Result<Vec<_>>>()?;
    Ok(names.into())
}

//! Reads what requests carry, and refuses it with words that name the fault.

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use axum::http::{StatusCode, Uri, header};
use model::{Error, NodePath, Result};
use percent_encoding::percent_decode_str;
use serde::de::DeserializeOwned;

use crate::error::Problem;
use crate::protocol::{content_type, segments};
use crate::state::AppState;

/// The fields of a query string; unknown ones are refused by name.
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<AppState> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &AppState) -> std::result::Result<Self, Problem> {
        Ok(Self(query(&parts.uri)?))
    }
}

/// Reads the query string of an address.
pub fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T> {
    let bad = |why: &str| Error::invalid(format!("the query cannot be read: {why}")).with_code("invalid_query");
    if uri.query().is_some_and(|text| percent_decode_str(text).decode_utf8().is_err()) {
        return Err(bad("it is not UTF-8"));
    }
    match axum::extract::Query::<T>::try_from_uri(uri) {
        Ok(axum::extract::Query(fields)) => Ok(fields),
        Err(error) => {
            let text = error.body_text();
            Err(bad(text.rsplit_once("query string: ").map_or(text.as_str(), |(_, why)| why)))
        }
    }
}

/// A JSON object in the body; unknown fields are refused by name.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromRequest<AppState> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> std::result::Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        if kind.is_none_or(|kind| content_type::essence(kind) != "application/json") {
            return Err(Error::invalid("the body must be JSON: send Content-Type: application/json")
                .with_code("unsupported_media_type")
                .into());
        }
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| unreadable(&rejection))?;
        Ok(Self(json(&bytes)?))
    }
}

/// Reads a JSON text; the depth of nesting is bounded.
pub fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| Error::invalid(format!("the body cannot be read: {error}")).with_code("invalid_json"))
}

fn unreadable(rejection: &BytesRejection) -> Error {
    if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
        return Error::exhausted("the body is larger than 2 MiB, the most that this address takes")
            .with_code("too_large");
    }
    Error::invalid("the connection ended before the whole body came").with_code("incomplete_body")
}

/// The item's path behind `prefix` in an address, decoded once.
pub fn path_behind(uri: &Uri, prefix: &str) -> Result<NodePath> {
    let rest = uri.path().strip_prefix(prefix).unwrap_or_default();
    let names = segments::decode(rest)?;
    if names.len() > model::MAX_DEPTH + 4 {
        return Err(
            Error::invalid(format!("the path is deeper than {} levels", model::MAX_DEPTH)).with_code("path_too_deep")
        );
    }
    let names = names.into_iter().map(model::Name::new).collect::<Result<Vec<_>>>()?;
    Ok(names.into())
}

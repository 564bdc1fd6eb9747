//! Sends a document's bytes: small documents in memory at once, others chunk by chunk.

use async_recursion::async_recursion as boxed;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream;
use model::{Error, Result, VersionNumber};
use repository::{Content, ReadRange, VersionChoice};

use super::content::{self, Plan};
use crate::server::{fair_sending, secure};

/// Header field with the version number that a response is about.
pub const X_VERSION: &str = "x-version";
/// Header field with the identifier of the item that a response is about.
pub const X_ITEM_ID: &str = "x-item-id";

/// Responds to GET or HEAD with an opened document.
///
/// The first bytes are read and the record of damage is checked before the status is sent, so that known damage is an
/// error. Damage found later breaks the connection: a client never takes a part for the whole.
#[boxed]
pub async fn content(method: &Method, headers: &HeaderMap, mut opened: Content, inline: bool) -> Result<Response> {
    secure::require_harmless_use(headers)?;
    let etag = format!("\"{}\"", opened.etag());
    let about = content::Content {
        name: &opened.item.name,
        media_type: &opened.version.media_type,
        length: opened.size(),
        etag: &etag,
        modified: opened.version.created_at,
        inline,
    };
    let Plan { mut response, bytes } = content::plan(method, headers, &about)?;
    // A request for a range may get the intact part. A download of the whole would abort at the damage.
    if response.status() == StatusCode::OK {
        opened.refuse_known_fault().await?;
    }
    let fields = response.headers_mut();
    identify(fields, opened.item.id, opened.version.number);
    if let Some((start, count)) = bytes {
        if count < opened.size() {
            opened.set_range(ReadRange { start, end: start + count });
        }
        *response.body_mut() = match opened.try_whole() {
            Some(whole) => Body::from(whole?),
            None => stream_from(opened, count).await?,
        };
    }
    Ok(response)
}

/// Returns the version that a number selects; without one, the version that the caller sees.
pub fn version_choice(number: Option<&str>) -> Result<VersionChoice> {
    match number {
        None => Ok(VersionChoice::Visible),
        Some(text) => text.parse::<VersionNumber>().map(VersionChoice::Number),
    }
}

/// Sets the header fields that identify item and version.
pub fn identify(fields: &mut HeaderMap, id: model::Id, version: VersionNumber) {
    for (name, text) in [(X_ITEM_ID, id.to_string()), (X_VERSION, version.to_string())] {
        if let Ok(value) = HeaderValue::from_str(&text) {
            fields.insert(name, value);
        }
    }
}

async fn stream_from(mut opened: Content, count: u64) -> Result<Body> {
    let first = opened.next_chunk().await?;
    let state = Streaming { opened, read: first, left: count };
    Ok(Body::from_stream(stream::unfold(Some(state), |state| async { next(state?).await })))
}

struct Streaming {
    opened: Content,
    /// Bytes that were read but not sent yet.
    read: Option<Bytes>,
    left: u64,
}

async fn next(mut state: Streaming) -> Option<(Result<Bytes>, Option<Streaming>)> {
    let chunk = match state.read.take() {
        Some(chunk) => Ok(Some(chunk)),
        None => state.opened.next_chunk().await,
    };
    match chunk {
        Ok(Some(bytes)) => {
            let bytes = fair_sending::in_turns(bytes, &mut state.read).await;
            state.left = state.left.saturating_sub(bytes.len() as u64);
            Some((Ok(bytes), Some(state)))
        }
        Ok(None) if state.left == 0 => None,
        Ok(None) => Some((Err(Error::corrupt("the content of a document ended too early")), None)),
        Err(error) => Some((Err(error), None)),
    }
}

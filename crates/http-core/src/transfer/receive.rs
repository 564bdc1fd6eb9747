//! Receives a document's bytes from a request into an upload.

use async_recursion::async_recursion as boxed;
use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::BodyExt;
use model::{Code, Error, Result, Timestamp};
use repository::{Destination, Saved, Session, UploadOptions};

use crate::protocol::content_digest::Expected;
use crate::protocol::idempotency;
use crate::server::request_body;

/// Header field with the time of the content's last change, as RFC 3339.
pub const MODIFIED_AT: &str = "x-modified-at";

/// Stores the body of a request. When this returns, the document is durable.
///
/// # Errors
/// Those of [`Session::begin_upload`], [`Upload::write`](repository::Upload::write) and
/// [`Upload::finish`](repository::Upload::finish); `Invalid` for a partial or encoded body, for header fields that
/// cannot be parsed, for a broken body, and for one that does not match its announced digest.
#[boxed]
pub async fn store(
    session: &Session,
    destination: &Destination,
    mut options: UploadOptions,
    headers: &HeaderMap,
    mut body: Body,
) -> Result<Saved> {
    refuse_parts(headers)?;
    options.idempotency_key = idempotency::key(headers)?;
    options.media_type = text(headers, header::CONTENT_TYPE.as_str());
    options.modified_at = modified_at(headers)?;
    let mut expected = Expected::of(headers)?;
    let mut upload = session.begin_upload(destination, options, announced(headers)?).await?;
    while let Some(frame) = body.frame().await {
        if let Ok(bytes) = frame.map_err(request_body::broken)?.into_data() {
            expected.update(&bytes);
            upload.write(bytes).await?;
        }
    }
    expected.verify()?;
    upload.finish().await
}

/// Returns the length that the client announced; `None` for a chunked body.
pub fn announced(headers: &HeaderMap) -> Result<Option<u64>> {
    let Some(field) = headers.get(header::CONTENT_LENGTH) else { return Ok(None) };
    let length = field.to_str().ok().and_then(|text| text.parse().ok());
    length
        .map(Some)
        .ok_or_else(|| Error::invalid("Content-Length is not a number of bytes").with_code(Code::InvalidLength))
}

/// Refuses a partial or encoded body. Storing it would not store what the client means.
fn refuse_parts(headers: &HeaderMap) -> Result<()> {
    if headers.contains_key(header::CONTENT_RANGE) {
        return Err(Error::invalid("part of a document cannot be replaced: send all of it, or use /api/v1/uploads")
            .with_code(Code::UnexpectedRange));
    }
    if headers.get(header::CONTENT_ENCODING).is_some_and(|coding| coding != "identity") {
        return Err(Error::invalid("the body must not be encoded: send it without Content-Encoding")
            .with_code(Code::UnsupportedMediaType));
    }
    Ok(())
}

fn modified_at(headers: &HeaderMap) -> Result<Option<Timestamp>> {
    match headers.get(MODIFIED_AT) {
        None => Ok(None),
        Some(value) => crate::protocol::time::parse(value.to_str().unwrap_or_default()).map(Some),
    }
}

fn text(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name)?.to_str().ok().map(ToOwned::to_owned)
}

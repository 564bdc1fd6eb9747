//! Single files of archives, and attachments of mail messages.

use axum::body::{Body, Bytes};
use axum::extract::Path;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use model::{Error, Timestamp};
use repository::{Target, VersionChoice, read_member};

use super::container_format;
use crate::frame::fault::PageResult;
use crate::frame::visit::Visit;
use http_core::protocol::content_type;
use http_core::server::concurrency::KeyedPermit;
use http_core::server::{request, secure};
use http_core::transfer::content::{self, Plan};

/// Number of files that a list has at most.
const MAX_LISTED: usize = 1_000;

/// A file with the permit of the request. Each part of it that is still to be sent holds both.
struct Held {
    bytes: Vec<u8>,
    _permit: Option<KeyedPermit<String>>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Sends the file at a position of the list of an archive or a message.
pub async fn download(
    visit: Visit,
    Path((id, at)): Path<(String, String)>,
    method: Method,
    headers: HeaderMap,
) -> PageResult {
    secure::require_harmless_use(&headers)?;
    let at: Option<usize> = at.parse().ok().filter(|at| *at < MAX_LISTED);
    let opened = visit.session.open(&Target::Id(id.parse()?), VersionChoice::Visible).await?;
    let format = container_format(&opened.item)?;
    let at = at.ok_or_else(|| Error::not_found("there is no such file in it"))?;
    let (etag, modified) = (format!("\"{}-{at}\"", opened.etag()), opened.version.created_at);
    if let Some(response) = unchanged(&method, &headers, &etag, modified)? {
        return Ok(response);
    }
    // The file is in memory until it is sent.
    let permit = request::acquire_costly()?;
    let found = read_member(&visit.session, opened, format, at).await?;
    let path = found.name.trim_end_matches('/');
    let name = path.rsplit(['/', '\\']).next().filter(|name| !name.is_empty()).unwrap_or("file");
    let length = found.bytes.len() as u64;
    let media_type = content_type::guess(name);
    let about = content::Content { name, media_type, length, etag: &etag, modified, inline: false };
    let Plan { mut response, bytes } = content::plan(&method, &headers, &about)?;
    if let Some((start, count)) = bytes {
        let held = Bytes::from_owner(Held { bytes: found.bytes, _permit: permit });
        // Both values are bounded by the length of bytes in memory.
        *response.body_mut() = Body::from(held.slice(start as usize..(start + count) as usize));
    }
    Ok(response.into_response())
}

/// Returns the answer to a client that has the file already.
pub fn unchanged(
    method: &Method,
    headers: &HeaderMap,
    etag: &str,
    modified: Timestamp,
) -> model::Result<Option<Response>> {
    let about = content::Content { name: "", media_type: "", length: 0, etag, modified, inline: false };
    let Plan { response, .. } = content::plan(method, headers, &about)?;
    Ok((response.status() == StatusCode::NOT_MODIFIED).then_some(response))
}

//! Small pictures of documents that are pictures.

use axum::body::Body;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, Method};
use axum::response::IntoResponse;
use model::{Code, Error};
use repository::{Target, VersionChoice};
use serde::Deserialize;

use super::member::unchanged;
use crate::frame::fault::PageResult;
use crate::frame::visit::Visit;
use http_core::pictures::PictureSize;
use http_core::server::secure;
use http_core::server::state::AppState;
use http_core::transfer::content::{self, Plan};

/// Query parameters: `small` or `large`. Pages add the version, so that a browser does not show an older one.
#[derive(Deserialize)]
pub struct Size {
    size: String,
}

/// Sends the document with this identifier as a small picture.
pub async fn show(
    State(state): State<AppState>,
    visit: Visit,
    Path(id): Path<String>,
    Query(asked): Query<Size>,
    method: Method,
    headers: HeaderMap,
) -> PageResult {
    let size = match asked.size.as_str() {
        "small" => PictureSize::Small,
        "large" => PictureSize::Large,
        _ => return Err(Error::invalid("the size of a picture is small or large").with_code(Code::Unreadable).into()),
    };
    secure::require_harmless_use(&headers)?;
    let opened = visit.session.open(&Target::Id(id.parse()?), VersionChoice::Visible).await?;
    let (etag, modified) = (format!("\"{}-{}\"", opened.etag(), asked.size), opened.version.created_at);
    if let Some(response) = unchanged(&method, &headers, &etag, modified)? {
        return Ok(response);
    }
    let name = opened.item.name.clone();
    let picture = state.pictures().of(&visit.session, opened, size).await?;
    let media_type = if picture.starts_with(b"\x89PNG") { "image/png" } else { "image/jpeg" };
    let length = picture.len() as u64;
    let about = content::Content { name: &name, media_type, length, etag: &etag, modified, inline: true };
    let Plan { mut response, bytes } = content::plan(&method, &headers, &about)?;
    if let Some((start, count)) = bytes {
        // Both values are bounded by the length of bytes in memory.
        let part = picture.slice(start as usize..(start + count) as usize);
        *response.body_mut() = Body::from(part);
    }
    Ok(response.into_response())
}

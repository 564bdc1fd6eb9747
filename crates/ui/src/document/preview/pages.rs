//! Office documents converted to PDF, shown like any other PDF.

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method};
use axum::response::IntoResponse;
use model::Error;
use repository::{Target, VersionChoice};

use crate::frame::fault::PageResult;
use crate::frame::visit::Visit;
use http_core::server::state::AppState;
use http_core::transfer::content::{self, Plan};

/// Sends the first pages of the document with this identifier, where a converter is installed.
pub async fn show(
    State(state): State<AppState>,
    visit: Visit,
    Path(id): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> PageResult {
    let opened = visit.session.open(&Target::Id(id.parse()?), VersionChoice::Visible).await?;
    let none = || Error::not_found("no converter for office documents is installed on this server");
    let converter = state.converter().ok_or_else(none)?;
    let (etag, modified) = (format!("\"{}-pages\"", opened.etag()), opened.version.created_at);
    let name = format!("{}.pdf", opened.item.name);
    let pdf = converter.pdf(&visit.session, opened).await?;
    let length = pdf.len() as u64;
    let about =
        content::Content { name: &name, media_type: "application/pdf", length, etag: &etag, modified, inline: true };
    let Plan { mut response, bytes } = content::plan(&method, &headers, &about)?;
    if let Some((start, count)) = bytes {
        // Both values are bounded by the length of bytes in memory.
        let part = pdf.slice(start as usize..(start + count) as usize);
        *response.body_mut() = Body::from(part);
    }
    Ok(response.into_response())
}

//! Downloads of documents by browsers.

use axum::extract::{Path, Query};
use axum::http::{HeaderMap, Method};
use repository::{Target, VersionChoice};
use serde::Deserialize;

use crate::frame::fault::PageResult;
use crate::frame::visit::Visit;
use http_core::transfer::send;

/// Query parameters: the version, and whether to show it inline.
#[derive(Deserialize)]
pub struct Wish {
    version: Option<String>,
    show: Option<String>,
}

/// Sends the document with this identifier. The name in the URL only serves people and programs that read the URL.
pub async fn download(
    visit: Visit,
    Path((id, _)): Path<(String, String)>,
    Query(wish): Query<Wish>,
    method: Method,
    headers: HeaderMap,
) -> PageResult {
    let choice = match &wish.version {
        Some(number) => VersionChoice::Number(number.parse()?),
        None => VersionChoice::Visible,
    };
    let opened = visit.session.open(&Target::Id(id.parse()?), choice).await?;
    Ok(send::content(&method, &headers, opened, wish.show.is_some()).await?)
}

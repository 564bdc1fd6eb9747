//! The operation CheckFileInfo.

use axum::Json;
use axum::http::request::Parts;
use axum::response::IntoResponse;
use model::{Right, Timestamp};
use repository::Item;
use serde::Serialize;

use http_core::protocol::time;
use http_core::server::origin::RequestOrigin;

use super::request::{WopiRequest, WopiResult};

/// Properties of a document and its user. The names are those of WOPI.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct FileInfo {
    base_file_name: String,
    owner_id: String,
    size: u64,
    user_id: String,
    user_friendly_name: String,
    version: String,
    last_modified_time: String,
    user_can_write: bool,
    read_only: bool,
    /// Documents are copied and renamed on their pages.
    user_can_not_write_relative: bool,
    supports_update: bool,
    supports_locks: bool,
    supports_get_lock: bool,
    supports_extended_lock_length: bool,
    supports_rename: bool,
    user_can_rename: bool,
    /// The page around the editor, which alone may exchange messages with it.
    post_message_origin: String,
    close_post_message: bool,
    host_view_url: String,
    close_url: String,
}

/// Sends the properties of the document.
pub async fn show(origin: Origin, request: WopiRequest) -> WopiResult {
    let item = request.item().await?;
    let me = request.session.principal();
    let is_free = item.check_out.is_none_or(|held| held.by == me.id);
    let user_can_write = item.rights.has(Right::Edit) && is_free;
    let page = format!("{}/items/{}/open", origin.0, item.id);
    let info = FileInfo {
        owner_id: item.created_by.to_string(),
        size: item.size,
        user_id: me.id.to_string(),
        user_friendly_name: me.display_name.clone(),
        version: version_of(&item),
        last_modified_time: modified(item.modified_at),
        user_can_write,
        read_only: !user_can_write,
        user_can_not_write_relative: true,
        supports_update: true,
        supports_locks: true,
        supports_get_lock: true,
        supports_extended_lock_length: true,
        supports_rename: false,
        user_can_rename: false,
        post_message_origin: origin.0,
        close_post_message: true,
        host_view_url: page.clone(),
        close_url: page,
        base_file_name: item.name,
    };
    Ok(Json(info).into_response())
}

/// Returns the version of a document as it stands in answers.
pub fn version_of(item: &Item) -> String {
    item.version_id.unwrap_or(item.id).to_string()
}

/// Returns a time as it stands in answers: RFC 3339, UTC.
pub fn modified(at: Timestamp) -> String {
    time::format(at)
}

/// Scheme and host under which browsers know this server.
pub struct Origin(String);

impl<S: Sync> axum::extract::FromRequestParts<S> for Origin {
    type Rejection = std::convert::Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Self::Rejection> {
        let origin = RequestOrigin::of(&parts.extensions).map(|origin| origin.origin.clone());
        Ok(Self(origin.unwrap_or_default()))
    }
}

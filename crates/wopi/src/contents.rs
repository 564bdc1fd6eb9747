//! The operations GetFile and PutFile.

use axum::Json;
use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, Result};
use repository::{Destination, Item, Preconditions, UploadOptions, VersionChoice};
use serde::Serialize;

use http_core::server::state::AppState;
use http_core::transfer::{receive, send};

use super::info::{modified, version_of};
use super::locks::not_supported;
use super::request::{ITEM_VERSION, LOCK, OVERRIDE, PresentLock, WopiRequest, WopiResult, set};

/// Header field of Collabora: the time of the last change that its user has seen.
const COLLABORA_TIMESTAMP: &str = "x-cool-wopi-timestamp";
/// Header field of the largest document that the office server takes.
const MAX_EXPECTED: &str = "x-wopi-maxexpectedsize";
/// Status with which Collabora asks its user what to do with a document that was changed elsewhere.
const CHANGED_ELSEWHERE: u32 = 1_010;

/// Answer to a save. The names are those of Collabora.
#[derive(Serialize)]
#[serde(rename_all = "PascalCase")]
struct Stored {
    last_modified_time: String,
}

#[derive(Serialize)]
struct ChangedElsewhere {
    #[serde(rename = "COOLStatusCode")]
    collabora: u32,
}

/// Sends the content of the document.
pub async fn read(request: WopiRequest) -> WopiResult {
    let opened = request.session.open(&request.target(), VersionChoice::Visible).await?;
    let most = request.field(MAX_EXPECTED).parse().unwrap_or(u64::MAX);
    if opened.size() > most {
        let error = Error::invalid("the document is longer than the office server takes");
        return Err(error.with_code(Code::PreconditionFailed).into());
    }
    let present = version_of(&opened.item);
    let mut response = send::content(&Method::GET, &request.headers, opened, false).await?;
    set(&mut response, ITEM_VERSION, &present);
    Ok(response)
}

/// Stores new content of the document, for the holder of its lock.
pub async fn store(State(state): State<AppState>, request: Request) -> WopiResult {
    let (mut parts, body) = request.into_parts();
    let request = WopiRequest::from_request_parts(&mut parts, &state).await?;
    if request.field(OVERRIDE) != "PUT" {
        return Ok(not_supported());
    }
    let item = request.item().await?;
    let (wanted, present) = (request.field(LOCK), request.present_lock().await?);
    let begins = item.size == 0 && present == PresentLock::None && wanted.is_empty();
    let is_holder = !wanted.is_empty() && present == PresentLock::Office(wanted.to_owned());
    if !begins && !is_holder {
        return request.lock_mismatch("the document is not locked by this editor").await;
    }
    let seen = request.field(COLLABORA_TIMESTAMP);
    if !seen.is_empty() && seen != modified(item.modified_at) {
        return Ok(changed_elsewhere());
    }
    match save(&request, &item, body).await {
        Err(error) if error.code() == Code::PreconditionFailed => Ok(changed_elsewhere()),
        outcome => request.or_lock_mismatch(outcome).await,
    }
}

fn changed_elsewhere() -> Response {
    (StatusCode::CONFLICT, Json(ChangedElsewhere { collabora: CHANGED_ELSEWHERE })).into_response()
}

/// Stores the body as the next version after the one that was seen. The transaction decides again whether that is the
/// latest, and whether the lock is still there.
async fn save(request: &WopiRequest, seen: &Item, body: Body) -> Result<Response> {
    let session = match request.field(LOCK) {
        "" => request.session.clone(),
        id => request.session.clone().with_office_lock(request.document, id),
    };
    let preconditions = Preconditions { if_match: Some(vec![seen.etag()]), ..Preconditions::default() };
    let options = UploadOptions { one_save: true, preconditions, ..UploadOptions::default() };
    let destination = Destination::Document(request.document);
    receive::store(&session, &destination, options, &request.headers, body).await?;
    // Stored, whatever happens to the answer.
    let Ok(item) = request.item().await else { return Ok(StatusCode::OK.into_response()) };
    let mut response = Json(Stored { last_modified_time: modified(item.modified_at) }).into_response();
    set(&mut response, ITEM_VERSION, &version_of(&item));
    Ok(response)
}

//! The operations Lock, UnlockAndRelock, RefreshLock, GetLock and Unlock, which share an address. Those that save under
//! another name, rename or delete are not supported: that is done on the pages.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use model::{Code, Error, Result};
use repository::OfficeLockChange;

use http_core::server::error::Problem;
use http_core::server::state::AppState;

use super::info::version_of;
use super::request::{ITEM_VERSION, LOCK, OLD_LOCK, OVERRIDE, PresentLock, WopiRequest, WopiResult, set};

/// Carries out the operation that the header field `X-WOPI-Override` names.
pub async fn change(State(state): State<AppState>, request: WopiRequest) -> WopiResult {
    let change = match request.field(OVERRIDE) {
        "LOCK" if request.headers.contains_key(OLD_LOCK) => {
            OfficeLockChange::Replace(request.field(OLD_LOCK).to_owned())
        }
        "LOCK" => OfficeLockChange::Take,
        "REFRESH_LOCK" => OfficeLockChange::Refresh,
        "UNLOCK" => OfficeLockChange::Release,
        "GET_LOCK" => return present(&request).await,
        _ => return Ok(not_supported()),
    };
    let changed = hold(&state, &request, change).await;
    request.or_lock_mismatch(changed).await
}

async fn hold(state: &AppState, request: &WopiRequest, change: OfficeLockChange) -> Result<Response> {
    request.session.change_office_lock(request.document, request.field(LOCK), change).await?;
    state.repository().keep_edit_tokens(request.document).await?;
    // Read while the lock is there: nobody else stores a version from now on.
    let item = request.item().await?;
    let mut response = StatusCode::OK.into_response();
    set(&mut response, ITEM_VERSION, &version_of(&item));
    Ok(response)
}

async fn present(request: &WopiRequest) -> WopiResult {
    request.item().await?;
    let id = match request.present_lock().await? {
        PresentLock::None => String::new(),
        PresentLock::Office(id) => id,
        PresentLock::Other => return request.lock_mismatch("the document is open in another program").await,
    };
    let mut response = StatusCode::OK.into_response();
    set(&mut response, LOCK, &id);
    Ok(response)
}

/// Returns the answer to an operation that is not supported.
pub fn not_supported() -> Response {
    let error = Error::invalid("this operation of WOPI is not supported").with_code(Code::MethodNotAllowed);
    let mut response = Problem::from(error).into_response();
    *response.status_mut() = StatusCode::NOT_IMPLEMENTED;
    response
}

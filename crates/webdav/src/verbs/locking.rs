//! LOCK and UNLOCK.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use model::{Code, Error, ErrorKind, Right};
use repository::{Destination, Lock, NewLock, OnConflict, Target, UploadOptions};

use crate::error::{DavResult, Failure, xml_response};
use crate::live_properties;
use crate::request::DavRequest;
use crate::wire::bodies::{self, LockInfo};
use crate::wire::headers::{self, Depth};
use crate::wire::multistatus::HEAD;

/// Maximum duration in seconds of a lock at an edit address.
const MAX_LOCK_AT_EDIT_ADDRESS: u64 = 20 * 60;

/// Creates a lock, or refreshes the one named in the `If` field.
pub async fn lock(ask: DavRequest, body: Body) -> DavResult {
    ask.require_preconditions().await?;
    let mut seconds = headers::timeout(&ask.parts.headers)?;
    if ask.edit_href().is_some() {
        // The program refreshes the lock in time, and so keeps its address, which ends an hour after its last use.
        seconds = seconds.min(MAX_LOCK_AT_EDIT_ADDRESS);
    }
    let Some(LockInfo { exclusive, owner }) = ask.xml(body, bodies::lock).await? else {
        return refresh(&ask, seconds).await;
    };
    let deep = match headers::depth(&ask.parts.headers)? {
        None | Some(Depth::Infinity) => true,
        Some(Depth::Zero) => false,
        Some(Depth::One) => return Err(Error::invalid("the Depth of a lock must be 0 or infinity").into()),
    };
    let wish = NewLock { exclusive, deep, owner, seconds };
    let (target, created) = present_or_new(&ask).await?;
    let given = ask.session.lock(&target, wish).await.map_err(|error| Failure::from(error).conflicting_lock())?;
    let status = if created { StatusCode::CREATED } else { StatusCode::OK };
    let mut response = discovered(status, &given, ask.edit_href());
    if let Some(token) = given.token()
        && let Ok(token) = HeaderValue::from_str(&format!("<{token}>"))
    {
        response.headers_mut().insert("lock-token", token);
    }
    Ok(response)
}

/// Returns the item at the URL. If there is none, creates an empty document to be locked.
async fn present_or_new(ask: &DavRequest) -> DavResult<(Target, bool)> {
    match ask.session.item(&ask.target()).await {
        Ok(item) => return Ok((item.id.into(), false)),
        // An address for an office program is that of one document, and no name for a new one.
        Err(error) if error.kind() == ErrorKind::NotFound && ask.edit_href().is_none() => {}
        Err(error) => return Err(error.into()),
    }
    require_use(ask).await?;
    let options = UploadOptions { on_conflict: OnConflict::Fail, ..UploadOptions::default() };
    let made = ask.session.upload_bytes(&Destination::Path(ask.path.clone()), options, Bytes::new()).await;
    let made = made.map_err(|error| Failure::from(error).not_found_as_conflict())?;
    Ok((made.id.into(), true))
}

/// Refuses before the document is created when its creator could not lock it. A new document inherits the permissions
/// of its parent.
async fn require_use(ask: &DavRequest) -> DavResult<()> {
    let Some((parent, _)) = ask.path.split_last() else { return Ok(()) };
    match ask.session.item(&parent.into()).await {
        Ok(place) if place.rights.has(Right::Add) && !place.rights.has(Right::Edit) => {
            Err(Error::lacking(Right::Edit, &place.name).into())
        }
        // Any other obstacle is reported when the document is created.
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error.into()),
    }
}

async fn refresh(ask: &DavRequest, seconds: u64) -> DavResult {
    let condition = headers::condition(&ask.parts.headers)?;
    let tokens = condition.map(|condition| condition.tokens()).unwrap_or_default();
    let mut last = Error::invalid("a lock is refreshed with its token in the field If; a new lock needs a body");
    for token in tokens {
        match ask.session.refresh_lock(&ask.target(), &token, seconds).await {
            Ok(lock) => return Ok(discovered(StatusCode::OK, &lock, ask.edit_href())),
            Err(error) => last = error,
        }
    }
    let failure = Failure::from(last);
    let unknown = failure.error().code() == Code::LockNotFound;
    Err(if unknown { failure.with_status(StatusCode::PRECONDITION_FAILED) } else { failure })
}

fn discovered(status: StatusCode, lock: &Lock, edit_href: Option<&str>) -> Response {
    let inner = live_properties::discovery(std::slice::from_ref(lock), edit_href);
    let body = format!("{HEAD}<D:prop xmlns:D=\"DAV:\"><D:lockdiscovery>{inner}</D:lockdiscovery></D:prop>\n");
    xml_response(status, body)
}

/// Removes a lock.
pub async fn unlock(ask: DavRequest) -> DavResult {
    ask.require_preconditions().await?;
    let token = headers::lock_token(&ask.parts.headers)?;
    ask.session.unlock(&ask.target(), token).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

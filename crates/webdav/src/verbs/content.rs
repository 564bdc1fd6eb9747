//! GET, HEAD, PUT, DELETE and MKCOL.

use axum::body::Body;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use model::{Code, Error, NodeKind};
use repository::{Item, UploadOptions};
use serde::Deserialize;

use crate::error::{DavResult, Failure};
use crate::request::DavRequest;
use crate::wire::headers::{self, Depth};
use http_core::protocol::segments;
use http_core::server::request_body;
use http_core::transfer::query::query;
use http_core::transfer::{receive, send};

/// Query parameters of a download.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct ReadQuery {
    /// Version number. Without it, the version visible to the caller is sent.
    version: Option<String>,
    /// True if types that are safe to display are sent inline instead of as an attachment.
    inline: bool,
}

/// Sends a document. A browser that requests a collection is redirected to its page.
pub async fn read(ask: DavRequest) -> DavResult {
    let query = query::<ReadQuery>(&ask.parts.uri)?;
    let target = ask.target();
    match ask.session.open(&target, send::version_choice(query.version.as_deref())?).await {
        Ok(opened) => Ok(send::content(&ask.parts.method, &ask.parts.headers, opened, query.inline).await?),
        Err(error) if error.code() == Code::WrongKind => {
            let item = ask.session.item(&target).await?;
            Ok(page_of(&ask, &item))
        }
        Err(error) => Err(error.into()),
    }
}

fn page_of(ask: &DavRequest, item: &Item) -> Response {
    let accepts = ask.parts.headers.get(header::ACCEPT).and_then(|field| field.to_str().ok());
    if !accepts.is_some_and(|kinds| kinds.contains("text/html")) {
        return StatusCode::OK.into_response();
    }
    let place =
        segments::encode_path(["browse"].into_iter().chain(item.path.split('/').filter(|name| !name.is_empty())));
    let place = HeaderValue::from_str(&place).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response()
}

/// Stores a new document or the next version of an existing one.
pub async fn store(ask: DavRequest, body: Body) -> DavResult {
    let options =
        UploadOptions { one_save: true, preconditions: ask.preconditions().await?, ..UploadOptions::default() };
    if ask.path.is_empty() {
        return Err(not_here().into());
    }
    let destination = ask.destination();
    let saved = receive::store(&ask.session, &destination, options, &ask.parts.headers, body).await;
    let saved = saved.map_err(|error| Failure::from(error).not_found_as_conflict().name_taken_as_not_allowed())?;
    let status = if saved.created { StatusCode::CREATED } else { StatusCode::NO_CONTENT };
    let mut response = status.into_response();
    send::identify(response.headers_mut(), saved.id, saved.number);
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", saved.etag())) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    Ok(response)
}

/// Moves a document or folder to the recycle bin.
pub async fn remove(ask: DavRequest) -> DavResult {
    let item = ask.session.item(&ask.target()).await?;
    refuse_place(&item)?;
    if item.kind == NodeKind::Folder && !matches!(headers::depth(&ask.parts.headers)?, None | Some(Depth::Infinity)) {
        return Err(
            Error::invalid("a folder is deleted with everything in it: send Depth: infinity, or no Depth").into()
        );
    }
    let preconditions = ask.preconditions().await?;
    ask.session.delete_file(&item.id.into(), preconditions).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Creates a folder.
pub async fn make_collection(ask: DavRequest, mut body: Body) -> DavResult {
    if let Some(frame) = body.frame().await
        && frame.map_err(request_body::broken)?.data_ref().is_some_and(|data| !data.is_empty())
    {
        return Err(Error::invalid("MKCOL takes no body").with_code(Code::UnsupportedMediaType).into());
    }
    ask.require_preconditions().await?;
    let Some((parent, name)) = ask.path.split_last() else { return Err(not_here().into()) };
    let made = ask.session.create_folder(&parent.into(), name).await;
    made.map_err(|error| Failure::from(error).not_found_as_conflict().name_taken_as_not_allowed())?;
    Ok(StatusCode::CREATED.into_response())
}

/// Refuses changes to sites and libraries, which are managed in their settings and not by file managers.
pub fn refuse_place(item: &Item) -> Result<(), Error> {
    if matches!(item.kind, NodeKind::Document | NodeKind::Folder) {
        return Ok(());
    }
    Err(Error::forbidden(format!(
        "\"{}\" is a {}: change it on its pages, not in a file manager",
        item.name,
        item.kind.as_str()
    ))
    .with_code(Code::WrongKind))
}

fn not_here() -> Error {
    Error::invalid("there is a site at this address").with_code(Code::MethodNotAllowed)
}

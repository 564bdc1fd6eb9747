//! Content by path: `/api/v1/content/<site path>/<library>/<path>`.

use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, NodeKind, NodePath, Result};
use repository::{Destination, Saved, Target, UploadOptions};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::protocol::segments;
use http_core::server::error::Answer;
use http_core::server::state::AppState;
use http_core::transfer::query::query;
use http_core::transfer::{conditions, receive, send};

use super::extract;
use super::wire::Once;
use super::wire::content::{Recycled, Stored};
use super::wire::upload::on_conflict;

const PREFIX: &str = "/api/v1/content/";

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(read, replace, remove))
}

/// Query parameters of a download.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReadQuery {
    /// Number of the version, such as `2.0`. When absent, the version that the caller sees.
    #[param(value_type = Option<super::wire::rules::VersionText>)]
    pub version: Option<String>,
    /// Display inline instead of downloading as an attachment. Applies only to types that are safe to display (images,
    /// plain text, PDF).
    pub inline: bool,
}

/// Options for storing a document.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct StoreQuery {
    /// The author's comment on this version.
    #[param(value_type = super::wire::rules::CommentText)]
    pub comment: String,
    /// In a library with drafts: publish immediately.
    pub publish: bool,
    /// Behaviour when a document with that name exists: `replace` (makes a new version; the default), `fail` or
    /// `keep-both`.
    #[param(value_type = Option<super::wire::rules::Conflict>)]
    pub on_conflict: Option<String>,
}

impl StoreQuery {
    /// Converts the query to upload options of the repository.
    pub fn options(self) -> Result<UploadOptions> {
        let on_conflict = on_conflict(self.on_conflict.as_deref(), Code::InvalidQuery)?;
        Ok(UploadOptions { comment: self.comment, publish: self.publish, on_conflict, ..UploadOptions::default() })
    }
}

/// Download the content of a document
///
/// Supports `Range`, `If-None-Match`, `If-Modified-Since`, `If-Match` and `If-Range`. HEAD responds the same without a
/// body. The bytes are verified while they are sent: a download is aborted when damage is found.
#[utoipa::path(
    method(get, head),
    path = "/api/v1/content/{*path}",
    operation_id = "get_content",
    tag = "content",
    params(("path" = String, Path, description = "Site path, library, folders and name"), ReadQuery),
    responses(
        (status = 200, description = "The document", content_type = "*/*"),
        (status = 206, description = "The requested range", content_type = "*/*"),
    )
)]
async fn read(caller: Authenticated, request: Request) -> Answer {
    let query = query::<ReadQuery>(request.uri())?;
    let target = Target::Path(extract::path_behind(request.uri(), PREFIX)?);
    let opened = caller.session.open(&target, send::version_choice(query.version.as_deref())?).await?;
    Ok(send::content(request.method(), request.headers(), opened, query.inline).await?)
}

/// Store a document
///
/// The request body is the document. Missing folders of the path are created. Below a row of a list, the document is an
/// attachment of the row. The response is sent when content and
/// metadata are on stable storage. A body that is truncated, or whose length differs from the announced one, stores
/// nothing. `X-Modified-At` (RFC 3339) preserves the time of the last change. `If-Match` and `If-None-Match: *` protect
/// against overwriting. A body that does not have the SHA-256 or SHA-512 of its `Content-Digest` (RFC 9530) is refused
/// with `digest_mismatch` and stores nothing.
#[utoipa::path(
    put,
    path = "/api/v1/content/{*path}",
    operation_id = "put_content",
    tag = "content",
    params(("path" = String, Path, description = "Site path, library, folders and name"), StoreQuery,
        ("X-Modified-At" = Option<super::wire::rules::Time>, Header, description = "When the content was last \
            changed, RFC 3339"), Once),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "Stored as the next version of the document", body = Stored),
        (status = 201, description = "Stored as a new document", body = Stored),
    )
)]
async fn replace(caller: Authenticated, request: Request) -> Answer {
    let (parts, body) = request.into_parts();
    let path = extract::path_behind(&parts.uri, PREFIX)?;
    let mut options = query::<StoreQuery>(&parts.uri)?.options()?;
    options.create_parents = true;
    options.preconditions = conditions::of_change(&caller.session, || path.clone().into(), &parts.headers).await?;
    let saved = receive::store(&caller.session, &Destination::Path(path), options, &parts.headers, body).await?;
    stored(&saved)
}

/// Move a document or folder to the recycle bin
///
/// With `If-Match`, only if the entity tag of the document still matches.
#[utoipa::path(
    delete,
    path = "/api/v1/content/{*path}",
    operation_id = "delete_content",
    tag = "content",
    params(("path" = String, Path, description = "Site path, library, folders and name")),
    responses((status = 200, description = "The document is in the recycle bin now", body = Recycled))
)]
async fn remove(caller: Authenticated, request: Request) -> Answer<axum::Json<Recycled>> {
    let path: NodePath = extract::path_behind(request.uri(), PREFIX)?;
    let item = caller.session.item(&path.clone().into()).await?;
    if !matches!(item.kind, NodeKind::Document | NodeKind::Folder) {
        return Err(Error::conflict(format!(
            "\"{}\" is a {}: delete it by its identifier under /api/v1/items",
            item.name,
            item.kind.as_str()
        ))
        .with_code(Code::WrongKind)
        .into());
    }
    let conditions = conditions::of_change(&caller.session, || path.into(), request.headers()).await?;
    let entry = caller.session.delete_if(&item.id.into(), conditions).await?;
    Ok(axum::Json(Recycled::new(&item, entry)))
}

/// The response to an upload.
pub fn stored(saved: &Saved) -> Answer {
    let status = if saved.created { StatusCode::CREATED } else { StatusCode::OK };
    let mut response: Response = (status, axum::Json(Stored::from(saved))).into_response();
    let fields = response.headers_mut();
    send::identify(fields, saved.id, saved.number);
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{}\"", saved.etag())) {
        fields.insert(header::ETAG, tag);
    }
    if saved.created {
        let place = format!("/api/v1/content{}", segments::encode_path(saved.path.split('/')));
        if let Ok(place) = HeaderValue::from_str(&place) {
            fields.insert(header::LOCATION, place);
        }
    }
    Ok(response)
}

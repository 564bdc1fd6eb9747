//! Resumable uploads with tus 1.0: translates between header fields and operations of the repository.

use std::time::Duration;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use model::{Code, Error, Result};
use repository::{Repository, Resumable, Saved, Session};
use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::protocol::{conditional, content_type, tus};
use http_core::server::error::Problem;
use http_core::server::request_body;
use http_core::server::state::AppState;
use http_core::transfer::send;

use super::extract::PathParams;
use super::wire;

/// Interval of the removal of expired uploads.
const TIDY: Duration = Duration::from_secs(60 * 60);

const TUS_RESUMABLE: HeaderName = HeaderName::from_static("tus-resumable");
const TUS_VERSION: HeaderName = HeaderName::from_static("tus-version");
const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const UPLOAD_LENGTH: HeaderName = HeaderName::from_static("upload-length");
const UPLOAD_EXPIRES: HeaderName = HeaderName::from_static("upload-expires");
const UPLOAD_METADATA: HeaderName = HeaderName::from_static("upload-metadata");

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(options, create)).routes(routes!(look, append, cancel))
}

/// Removes expired uploads, old idempotency keys and locks that ended long ago, now and every hour, until the future is
/// dropped.
pub async fn keep_tidy(repository: Repository) {
    loop {
        for done in [repository.tidy_uploads().await.map(drop), repository.forget_repetitions().await] {
            if let Err(error) = done {
                tracing::warn!(target: "http", "the clean-up failed and is retried in an hour: {}", error.report());
            }
        }
        tokio::time::sleep(TIDY).await;
    }
}

/// Get the supported tus versions and extensions
#[utoipa::path(
    options,
    path = "/api/v1/uploads",
    operation_id = "describe_uploads",
    tag = "uploads",
    security(()),
    responses((status = 204, description = "Versions and extensions in `Tus-Version`, `Tus-Extension`"))
)]
async fn options() -> Response {
    let fields = [
        (TUS_RESUMABLE, tus::VERSION),
        (TUS_VERSION, tus::VERSION),
        (HeaderName::from_static("tus-extension"), tus::EXTENSIONS),
        (HeaderName::from_static("tus-checksum-algorithm"), tus::CHECKSUMS),
    ];
    (StatusCode::NO_CONTENT, fields).into_response()
}

/// Create a resumable upload
///
/// `Upload-Metadata` gives the destination: `path`, or `parent` and `filename`, or `document`. Optional keys are
/// `filetype`, `comment`, `publish`, `on_conflict` and `modified_at`. A request body is the first part.
#[utoipa::path(
    post,
    path = "/api/v1/uploads",
    operation_id = "create_upload",
    tag = "uploads",
    params(
        ("Tus-Resumable" = wire::rules::TusVersion, Header, description = "`1.0.0`"),
        ("Upload-Length" = u64, Header, description = "Length of the whole document in bytes"),
        ("Upload-Metadata" = wire::rules::UploadMetadata, Header, description = "Keys and values in Base64"),
    ),
    request_body(content = Vec<u8>, content_type = "application/offset+octet-stream"),
    responses((status = 201, description = "Created; the address of the upload is in `Location`"))
)]
async fn create(caller: Authenticated, request: Request) -> Response {
    spoken(begin(&caller.session, request).await)
}

/// Get the state of an upload
///
/// Responds with the number of stored bytes. An upload that has all its bytes but is no document yet, because the
/// server stopped in between, becomes one with this request.
#[utoipa::path(
    head,
    path = "/api/v1/uploads/{id}",
    operation_id = "get_upload",
    tag = "uploads",
    params(
        ("id" = String, Path, description = "Identifier of the upload"),
        ("Tus-Resumable" = wire::rules::TusVersion, Header, description = "`1.0.0`"),
    ),
    responses((status = 200, description = "`Upload-Offset` bytes of `Upload-Length` are on stable storage"))
)]
async fn look(caller: Authenticated, PathParams([id]): PathParams<1>, headers: HeaderMap) -> Response {
    spoken(state(&caller.session, &id, &headers).await)
}

/// Send the next part of an upload
///
/// Acknowledged bytes are on stable storage. The last part creates the document: all checks are repeated, and
/// `X-Item-Id`, `X-Version` and `ETag` identify the stored version.
#[utoipa::path(
    patch,
    path = "/api/v1/uploads/{id}",
    operation_id = "append_upload",
    tag = "uploads",
    params(
        ("id" = String, Path, description = "Identifier of the upload"),
        ("Tus-Resumable" = wire::rules::TusVersion, Header, description = "`1.0.0`"),
        ("Upload-Offset" = u64, Header, description = "Offset at which the part begins"),
        ("Upload-Checksum" = Option<wire::rules::Sha1Text>, Header, description = "`sha1` and the digest of the part \
            in Base64"),
    ),
    request_body(content = Vec<u8>, content_type = "application/offset+octet-stream"),
    responses((status = 204, description = "Stored up to `Upload-Offset`"))
)]
async fn append(caller: Authenticated, PathParams([id]): PathParams<1>, request: Request) -> Response {
    spoken(next_part(&caller.session, &id, request).await)
}

/// Cancel an upload
#[utoipa::path(
    delete,
    path = "/api/v1/uploads/{id}",
    operation_id = "cancel_upload",
    tag = "uploads",
    params(
        ("id" = String, Path, description = "Identifier of the upload"),
        ("Tus-Resumable" = wire::rules::TusVersion, Header, description = "`1.0.0`"),
    ),
    responses((status = 204, description = "The upload and its bytes are deleted"))
)]
async fn cancel(caller: Authenticated, PathParams([id]): PathParams<1>, headers: HeaderMap) -> Response {
    let cancelled = async {
        tus::check_version(&headers)?;
        caller.session.cancel_upload(&id).await?;
        Ok(StatusCode::NO_CONTENT.into_response())
    };
    spoken(cancelled.await)
}

/// Adds the tus version to every response. A refusal of another version thereby names the supported one.
fn spoken(result: Result<Response>) -> Response {
    let mut response = result.unwrap_or_else(|error| Problem::from(error).into_response());
    let fields = response.headers_mut();
    fields.insert(TUS_RESUMABLE, HeaderValue::from_static(tus::VERSION));
    fields.insert(TUS_VERSION, HeaderValue::from_static(tus::VERSION));
    response
}

async fn begin(session: &Session, request: Request) -> Result<Response> {
    let (parts, body) = request.into_parts();
    tus::check_version(&parts.headers)?;
    let length = tus::upload_length(&parts.headers)?;
    let (destination, options) = wire::upload::read(&tus::metadata(&parts.headers)?)?;
    let first = has_part(&parts.headers)?;
    let said = parts.headers.get(UPLOAD_METADATA).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let mut upload = session.begin_resumable(&destination, options, length, said).await?;
    let mut saved = None;
    if first {
        upload.offset = take(session, &upload.id, 0, &parts.headers, body).await?;
    }
    if upload.is_due() {
        saved = complete(session, &upload).await?;
    }
    let mut response = StatusCode::CREATED.into_response();
    tell(response.headers_mut(), &upload, saved.as_ref());
    insert(response.headers_mut(), header::LOCATION, &format!("/api/v1/uploads/{}", upload.id));
    Ok(response)
}

async fn state(session: &Session, id: &str, headers: &HeaderMap) -> Result<Response> {
    tus::check_version(headers)?;
    let upload = session.resumable(id).await?;
    let saved = if upload.is_due() { complete(session, &upload).await? } else { None };
    let mut response = StatusCode::OK.into_response();
    tell(response.headers_mut(), &upload, saved.as_ref());
    insert(response.headers_mut(), UPLOAD_LENGTH, &upload.length.to_string());
    insert(response.headers_mut(), UPLOAD_METADATA, &upload.metadata);
    if let Some(document) = upload.document {
        insert(response.headers_mut(), HeaderName::from_static(send::X_ITEM_ID), &document.to_string());
    }
    Ok(response)
}

async fn next_part(session: &Session, id: &str, request: Request) -> Result<Response> {
    let (parts, body) = request.into_parts();
    tus::check_version(&parts.headers)?;
    if !has_part(&parts.headers)? {
        return Err(Error::invalid("a part must be sent as application/offset+octet-stream")
            .with_code(Code::UnsupportedMediaType));
    }
    let offset = tus::upload_offset(&parts.headers)?;
    let offset = take(session, id, offset, &parts.headers, body).await?;
    let mut upload = session.resumable(id).await?;
    upload.offset = offset;
    let saved = if upload.is_due() { complete(session, &upload).await? } else { None };
    let mut response = StatusCode::NO_CONTENT.into_response();
    tell(response.headers_mut(), &upload, saved.as_ref());
    Ok(response)
}

/// Returns whether a request has a part in its body. A body of another media type is refused.
fn has_part(headers: &HeaderMap) -> Result<bool> {
    match headers.get(header::CONTENT_TYPE) {
        None => Ok(false),
        Some(kind) if content_type::essence(kind.to_str().unwrap_or_default()) == tus::PART => Ok(true),
        Some(_) => Err(Error::invalid("a part must be sent as application/offset+octet-stream")
            .with_code(Code::UnsupportedMediaType)),
    }
}

/// Stores the part in a body. If the body is truncated, the received bytes are kept, unless a checksum covers the whole
/// part.
async fn take(session: &Session, id: &str, offset: u64, headers: &HeaderMap, body: Body) -> Result<u64> {
    let checksum = tus::checksum(headers)?;
    let (session, id) = (session.clone(), id.to_owned());
    // A task of its own: on HTTP/2 the handler is not polled any more when its client has disconnected, and received
    // bytes would be lost.
    let storing = tokio::spawn(async move { store(&session, &id, offset, checksum, body).await });
    storing.await.map_err(|error| Error::unavailable("the upload was interrupted").with_source(error))?
}

async fn store(session: &Session, id: &str, offset: u64, checksum: Option<[u8; 20]>, mut body: Body) -> Result<u64> {
    let mut part = session.append_upload(id, offset, checksum.is_some()).await?;
    let mut sum = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
    while let Some(frame) = body.frame().await {
        match frame {
            Ok(frame) => {
                let Ok(bytes) = frame.into_data() else { continue };
                if checksum.is_some() {
                    sum.update(&bytes);
                }
                part.write(bytes).await?;
            }
            Err(error) => {
                if checksum.is_none() {
                    part.commit().await?;
                }
                return Err(request_body::broken(error));
            }
        }
    }
    if checksum.is_some_and(|wanted| sum.finish().as_ref() != wanted) {
        return Err(Error::invalid("the part does not have the checksum that was announced: send it again")
            .with_code(Code::ChecksumMismatch));
    }
    part.commit().await
}

/// Creates the document. Its destination and options come from the metadata that the client sent at the beginning.
async fn complete(session: &Session, upload: &Resumable) -> Result<Option<Saved>> {
    let mut headers = HeaderMap::new();
    insert(&mut headers, UPLOAD_METADATA, &upload.metadata);
    let (destination, options) = wire::upload::read(&tus::metadata(&headers)?)?;
    session.complete_upload(&upload.id, &destination, options).await
}

/// Sets the header fields of every response about an upload.
fn tell(fields: &mut HeaderMap, upload: &Resumable, saved: Option<&Saved>) {
    insert(fields, UPLOAD_OFFSET, &upload.offset.to_string());
    insert(fields, UPLOAD_EXPIRES, &conditional::format_date(upload.expires_at));
    if let Some(saved) = saved {
        send::identify(fields, saved.id, saved.number);
        insert(fields, header::ETAG, &format!("\"{}\"", saved.etag()));
    }
}

fn insert(fields: &mut HeaderMap, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        fields.insert(name, value);
    }
}

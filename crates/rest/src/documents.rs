//! Documents by identifier: content, versions, publishing, check-outs.

use axum::Json as Reply;
use axum::extract::Request;
use axum::http::StatusCode;
use model::{Error, Name, VersionNumber};
use repository::{CheckIn, Destination, VersionChoice, version_of_etag};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::content::{ReadQuery, StoreQuery, stored};
use super::extract::{self, Ids, Json, PathParams, Query};
use super::wire::Once;
use super::wire::content::Stored;
use super::wire::item::Names;
use super::wire::list::{List, PageQuery, cursor_of};
use super::wire::version::{
    ApprovalForm, CheckInJson, Comment, NewVersion, RejectionForm, SubmissionJson, VersionJson,
};
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;
use http_core::transfer::{conditions, receive, send};

/// Options for storing a new document.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NewDocumentQuery {
    /// The document's name.
    #[param(value_type = super::wire::rules::ItemName, required = true)]
    name: String,
    /// The author's comment on this version.
    #[param(value_type = super::wire::rules::CommentText)]
    comment: String,
    /// In a library with drafts: publish immediately.
    publish: bool,
    /// Behaviour when a document with that name exists: `replace` (makes a new version; the default), `fail` or
    /// `keep-both`.
    #[param(value_type = Option<super::wire::rules::Conflict>)]
    on_conflict: Option<String>,
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(read, replace))
        .routes(routes!(create))
        .routes(routes!(versions))
        .routes(routes!(remove_version))
        .routes(routes!(read_version))
        .routes(routes!(restore_version))
        .routes(routes!(publish))
        .routes(routes!(submission, withdraw))
        .routes(routes!(submit))
        .routes(routes!(approve))
        .routes(routes!(reject))
        .routes(routes!(check_out, discard))
        .routes(routes!(check_in))
}

/// Download the content of a document
#[utoipa::path(
    method(get, head),
    path = "/api/v1/items/{id}/content",
    operation_id = "get_item_content",
    tag = "content",
    params(("id" = String, Path, description = "Identifier of the item"), ReadQuery),
    responses((status = 200, description = "The document", content_type = "*/*"),
        (status = 206, description = "The requested range", content_type = "*/*"))
)]
async fn read(caller: Authenticated, Ids([id]): Ids<1>, Query(query): Query<ReadQuery>, request: Request) -> Answer {
    let opened = caller.session.open(&id.into(), send::version_choice(query.version.as_deref())?).await?;
    Ok(send::content(request.method(), request.headers(), opened, query.inline).await?)
}

/// Store the next version of a document
///
/// With `on_conflict=keep-both` the document stays unchanged, and the content becomes a new document beside it.
#[utoipa::path(
    put,
    path = "/api/v1/items/{id}/content",
    operation_id = "put_item_content",
    tag = "content",
    params(("id" = String, Path, description = "Identifier of the item"), StoreQuery, Once),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses(
        (status = 200, description = "Stored", body = Stored),
        (status = 201, description = "Stored as another document in the same folder, with `keep-both`", body = Stored),
    )
)]
async fn replace(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<StoreQuery>,
    request: Request,
) -> Answer {
    let (parts, body) = request.into_parts();
    let mut options = query.options()?;
    options.preconditions = conditions::of_change(&caller.session, || id.into(), &parts.headers).await?;
    let to = Destination::Document(id);
    stored(&receive::store(&caller.session, &to, options, &parts.headers, body).await?)
}

/// Store a document in a library or folder
///
/// In a row of a list, the document is an attachment. A list without attachments refuses it with `attachments_off`, and
/// a row with 1,000 of them with `too_many_attachments`.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/documents",
    operation_id = "create_document",
    tag = "content",
    params(("id" = String, Path, description = "Identifier of the item"), NewDocumentQuery, Once),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 200, description = "Stored as the next version of the document", body = Stored),
        (status = 201, description = "Stored as a new document", body = Stored))
)]
async fn create(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<NewDocumentQuery>,
    request: Request,
) -> Answer {
    let (parts, body) = request.into_parts();
    let NewDocumentQuery { name, comment, publish, on_conflict } = query;
    let to = Destination::Child { parent: id, name: Name::new(name)? };
    let options = StoreQuery { comment, publish, on_conflict }.options()?;
    stored(&receive::store(&caller.session, &to, options, &parts.headers, body).await?)
}

/// List the versions of a document
///
/// Newest first. Drafts are listed only for callers who may see them.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/versions",
    operation_id = "list_versions",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item"), PageQuery),
    responses((status = 200, description = "One page", body = List<VersionJson>))
)]
async fn versions(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<PageQuery>,
) -> Answer<Reply<List<VersionJson>>> {
    let page = caller.session.versions(&id.into(), query.before()?, query.limit()?).await?;
    let names = Names::of(&caller.session, page.items.iter().map(|version| version.created_by)).await?;
    let items = page.items.into_iter().map(|version| VersionJson::new(version, &names)).collect();
    Ok(Reply(List { items, next: page.next.map(cursor_of) }))
}

/// Delete an earlier version permanently
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/versions/{number}",
    operation_id = "delete_version",
    tag = "versions",
    params(
        ("id" = String, Path, description = "Identifier of the item"),
        ("number" = String, Path, description = "Such as `2.0`"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn remove_version(caller: Authenticated, PathParams([id, number]): PathParams<2>) -> Answer<StatusCode> {
    let number: VersionNumber = number.parse()?;
    caller.session.delete_version(&extract::id(&id)?.into(), number).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Download the content of a version
#[utoipa::path(
    method(get, head),
    path = "/api/v1/items/{id}/versions/{number}/content",
    operation_id = "get_version_content",
    tag = "versions",
    params(
        ("id" = String, Path, description = "Identifier of the item"),
        ("number" = String, Path, description = "Such as `2.0`"),
    ),
    responses((status = 200, description = "The version", content_type = "*/*"),
        (status = 206, description = "The requested range", content_type = "*/*"))
)]
async fn read_version(caller: Authenticated, PathParams([id, number]): PathParams<2>, request: Request) -> Answer {
    let choice = VersionChoice::Number(number.parse()?);
    let opened = caller.session.open(&extract::id(&id)?.into(), choice).await?;
    Ok(send::content(request.method(), request.headers(), opened, false).await?)
}

/// Make an earlier version the newest one
///
/// The content of the earlier version becomes a new version. No version is lost and no bytes are copied.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/versions/{number}/restore",
    operation_id = "restore_version",
    tag = "versions",
    params(
        ("id" = String, Path, description = "Identifier of the item"),
        ("number" = String, Path, description = "Such as `2.0`"),
    ),
    responses((status = 200, description = "The new version", body = NewVersion))
)]
async fn restore_version(caller: Authenticated, PathParams([id, number]): PathParams<2>) -> Answer<Reply<NewVersion>> {
    let number: VersionNumber = number.parse()?;
    let comment = format!("Restored from {number}");
    let version = caller.session.restore_version(&extract::id(&id)?.into(), number, comment).await?;
    Ok(Reply(NewVersion { version: version.to_string() }))
}

/// Publish the latest draft
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/publish",
    operation_id = "publish_draft",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = Comment,
    responses((status = 200, description = "The published version", body = NewVersion))
)]
async fn publish(caller: Authenticated, Ids([id]): Ids<1>, Json(said): Json<Comment>) -> Answer<Reply<NewVersion>> {
    let version = caller.session.publish(&id.into(), &said.comment).await?;
    Ok(Reply(NewVersion { version: version.to_string() }))
}

/// Read the submission of a draft
///
/// The draft that waits for approval, or the latest rejection.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/submission",
    operation_id = "read_submission",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "The submission", body = SubmissionJson))
)]
async fn submission(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<SubmissionJson>> {
    let found = caller.session.submission(&id.into()).await?;
    let found = found.ok_or_else(|| Error::not_found("no draft of this document was submitted"))?;
    let mut people = vec![found.by];
    people.extend(found.rejection.as_ref().map(|rejection| rejection.by));
    let names = Names::of(&caller.session, people).await?;
    Ok(Reply(SubmissionJson::new(found, &names)))
}

/// Submit the latest draft for approval
///
/// Replaces an earlier submission.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/submit",
    operation_id = "submit_draft",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = Comment,
    responses((status = 200, description = "The submitted version", body = NewVersion))
)]
async fn submit(caller: Authenticated, Ids([id]): Ids<1>, Json(said): Json<Comment>) -> Answer<Reply<NewVersion>> {
    let version = caller.session.submit(&id.into(), None, &said.comment).await?;
    Ok(Reply(NewVersion { version: version.to_string() }))
}

/// Withdraw a submission
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/submission",
    operation_id = "withdraw_submission",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 204, description = "Done"))
)]
async fn withdraw(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.withdraw(&id.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Approve the submitted draft
///
/// Publishes exactly the version that was submitted.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/approve",
    operation_id = "approve_draft",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = ApprovalForm,
    responses((status = 200, description = "The published version", body = NewVersion))
)]
async fn approve(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(said): Json<ApprovalForm>,
) -> Answer<Reply<NewVersion>> {
    let version = caller.session.approve(&id.into(), version_of_etag(&said.etag)?, &said.comment).await?;
    Ok(Reply(NewVersion { version: version.to_string() }))
}

/// Reject the submitted draft
///
/// Its author sees the reason.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/reject",
    operation_id = "reject_draft",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = RejectionForm,
    responses((status = 204, description = "Done"))
)]
async fn reject(caller: Authenticated, Ids([id]): Ids<1>, Json(said): Json<RejectionForm>) -> Answer<StatusCode> {
    caller.session.reject(&id.into(), version_of_etag(&said.etag)?, &said.reason).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Check out a document
///
/// The caller holds the check-out. Repeating the request changes nothing.
#[utoipa::path(
    put,
    path = "/api/v1/items/{id}/check-out",
    operation_id = "check_out",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 204, description = "Done"))
)]
async fn check_out(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.check_out(&id.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Discard a check-out and its working copy
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/check-out",
    operation_id = "discard_check_out",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 204, description = "Done"))
)]
async fn discard(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.discard_check_out(&id.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Check a document in
///
/// The working copy becomes the next version.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/check-in",
    operation_id = "check_in",
    tag = "versions",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = CheckInJson,
    responses((status = 200, description = "The new version", body = NewVersion))
)]
async fn check_in(caller: Authenticated, Ids([id]): Ids<1>, Json(how): Json<CheckInJson>) -> Answer<Reply<NewVersion>> {
    let how = CheckIn { comment: how.comment, publish: how.publish, keep: how.keep };
    let version = caller.session.check_in(&id.into(), how).await?;
    Ok(Reply(NewVersion { version: version.to_string() }))
}

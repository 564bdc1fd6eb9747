//! Locks on folders and documents, shared with WebDAV.

use axum::Json as Reply;
use axum::http::StatusCode;
use repository::Lock;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Ids, Json, PathParams, id};
use super::wire::item::Names;
use super::wire::list::List;
use super::wire::lock::{LockForm, LockJson, MoreTime};
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(locks, lock, break_locks)).routes(routes!(refresh, unlock))
}

/// Returns the JSON form of a lock that the caller holds.
async fn given(caller: &Authenticated, lock: Lock) -> model::Result<LockJson> {
    let names = Names::of(&caller.session, [lock.holder]).await?;
    Ok(LockJson::new(lock, caller.session.principal().id, &names))
}

/// List the locks that cover an item
///
/// The locks on the item itself, and those on items above that cover it.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/locks",
    operation_id = "list_locks",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "All locks", body = List<LockJson>))
)]
async fn locks(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<List<LockJson>>> {
    let locks = caller.session.locks(&id.into()).await?;
    let names = Names::of(&caller.session, locks.iter().map(|lock| lock.holder)).await?;
    let me = caller.session.principal().id;
    Ok(Reply(List::whole(locks.into_iter().map(|lock| LockJson::new(lock, me, &names)).collect())))
}

/// Lock a folder or document
///
/// While the lock lasts, only requests with its token in the field `Lock-Token` can change the item. Each call requests
/// another lock.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/locks",
    operation_id = "lock",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = LockForm,
    responses((status = 201, description = "The lock", body = LockJson))
)]
async fn lock(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(form): Json<LockForm>,
) -> Answer<(StatusCode, Reply<LockJson>)> {
    let lock = caller.session.lock(&id.into(), form.into()).await?;
    Ok((StatusCode::CREATED, Reply(given(&caller, lock).await?)))
}

/// End all locks on an item
///
/// Only locks on the item itself, of any holder. Ending locks of other users needs the right to override.
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/locks",
    operation_id = "break_locks",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 204, description = "Done"))
)]
async fn break_locks(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.break_locks(&id.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Extend a lock of the caller
#[utoipa::path(
    put,
    path = "/api/v1/items/{id}/locks/{token}",
    operation_id = "refresh_lock",
    tag = "documents",
    params(
        ("id" = String, Path, description = "Identifier of an item that the lock covers"),
        ("token" = String, Path, description = "Token of the lock"),
    ),
    request_body = MoreTime,
    responses((status = 200, description = "The lock", body = LockJson))
)]
async fn refresh(
    caller: Authenticated,
    PathParams([item, token]): PathParams<2>,
    Json(more): Json<MoreTime>,
) -> Answer<Reply<LockJson>> {
    let lock = caller.session.refresh_lock(&id(&item)?.into(), &token, more.seconds).await?;
    Ok(Reply(given(&caller, lock).await?))
}

/// End a lock
///
/// Ending a lock of another user needs the right to override on the locked item.
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/locks/{token}",
    operation_id = "unlock",
    tag = "documents",
    params(
        ("id" = String, Path, description = "Identifier of an item that the lock covers"),
        ("token" = String, Path, description = "Token of the lock"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn unlock(caller: Authenticated, PathParams([item, token]): PathParams<2>) -> Answer<StatusCode> {
    caller.session.unlock(&id(&item)?.into(), &token).await?;
    Ok(StatusCode::NO_CONTENT)
}

//! Permissions: reading, inheritance, grants and explanations.

use axum::Json as Reply;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Ids, Json, Query};
use super::wire::item::Names;
use super::wire::permission::{BreakForm, ExplainQuery, ExplanationJson, GrantForm, PermissionsJson};
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(table))
        .routes(routes!(break_inheritance))
        .routes(routes!(restore_inheritance))
        .routes(routes!(grant))
        .routes(routes!(revoke))
        .routes(routes!(explain))
}

/// Get the permissions of an item
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/permissions",
    operation_id = "get_permissions",
    tag = "permissions",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "The permissions", body = PermissionsJson))
)]
async fn table(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<PermissionsJson>> {
    let table = caller.session.permissions(&id.into()).await?;
    let people = table.grants.iter().flat_map(|grant| [grant.principal, grant.granted_by]);
    let names = Names::of(&caller.session, people).await?;
    Ok(Reply(PermissionsJson::new(table, &names)))
}

/// Give an item its own permissions
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/permissions/break",
    operation_id = "break_inheritance",
    tag = "permissions",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = BreakForm,
    responses((status = 204, description = "Done"))
)]
async fn break_inheritance(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(form): Json<BreakForm>,
) -> Answer<StatusCode> {
    caller.session.break_inheritance(&id.into(), form.copy).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove an item's own permissions
///
/// The item inherits its permissions again.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/permissions/restore",
    operation_id = "restore_inheritance",
    tag = "permissions",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 204, description = "Done"))
)]
async fn restore_inheritance(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.restore_inheritance(&id.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Grant a role to a user or group
///
/// The item must have its own permissions. Granting the role again sets the end of the grant.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/permissions/grants",
    operation_id = "grant_role",
    tag = "permissions",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = GrantForm,
    responses((status = 204, description = "Done"))
)]
async fn grant(caller: Authenticated, Ids([id]): Ids<1>, Json(form): Json<GrantForm>) -> Answer<StatusCode> {
    caller.session.grant_until(&id.into(), form.read()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Revoke a role from a user or group
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/permissions/grants/{principal}/{role}",
    operation_id = "revoke_role",
    tag = "permissions",
    params(
        ("id" = String, Path, description = "Identifier of the item"),
        ("principal" = String, Path, description = "Identifier of the user or group"),
        ("role" = String, Path, description = "Identifier of the role"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn revoke(caller: Authenticated, Ids([id, principal, role]): Ids<3>) -> Answer<StatusCode> {
    caller.session.revoke(&id.into(), principal, role).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Explain the rights of a user on an item
///
/// Every caller may request this for themselves. For other users it needs the right to manage permissions.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/permissions/explanation",
    operation_id = "explain_permissions",
    tag = "permissions",
    params(("id" = String, Path, description = "Identifier of the item"), ExplainQuery),
    responses((status = 200, description = "The explanation", body = ExplanationJson))
)]
async fn explain(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<ExplainQuery>,
) -> Answer<Reply<ExplanationJson>> {
    let user = query.user.map_or(caller.session.principal().id, |user| user.0);
    let explanation = caller.session.explain(&id.into(), user).await?;
    let people = explanation.grants.iter().flat_map(|grant| [grant.principal, grant.granted_by]);
    let names = Names::of(&caller.session, people).await?;
    Ok(Reply(ExplanationJson::new(explanation, &names)))
}

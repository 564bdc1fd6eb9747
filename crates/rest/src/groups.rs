//! Groups and their members, roles, and the search for users and groups.

use axum::Json as Reply;
use axum::http::StatusCode;
use model::{Code, Error};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Create, Ids, Json, Query};
use super::wire::Once;
use super::wire::list::{List, PageQuery, page};
use super::wire::people::{
    GroupChange, GroupForm, GroupJson, MemberJson, PrincipalJson, PrincipalQuery, RoleChange, RoleForm, RoleJson,
    parse_rights,
};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(look, change, remove))
        .routes(routes!(members))
        .routes(routes!(add_member, remove_member))
        .routes(routes!(roles, create_role))
        .routes(routes!(look_at_role, change_role, delete_role))
        .routes(routes!(principals))
}

/// List groups, ordered by name
#[utoipa::path(
    get,
    path = "/api/v1/groups",
    operation_id = "list_groups",
    tag = "people",
    params(PageQuery),
    responses((status = 200, description = "One page", body = List<GroupJson>))
)]
async fn list(caller: Authenticated, Query(query): Query<PageQuery>) -> Answer<Reply<List<GroupJson>>> {
    let limit = query.limit_with_probe()?;
    let found = caller.session.groups(&query.after_word()?, limit + 1).await?;
    let (groups, next) = page(found, limit, |group| group.name.clone());
    Ok(Reply(List { items: groups.into_iter().map(Into::into).collect(), next }))
}

/// Create a group
///
/// Farm administrators only.
#[utoipa::path(
    post,
    path = "/api/v1/groups",
    operation_id = "create_group",
    tag = "people",
    params(Once),
    request_body = GroupForm,
    responses((status = 201, description = "The group", body = GroupJson))
)]
async fn create(caller: Authenticated, create: Create<GroupForm>) -> Answer<(StatusCode, Reply<GroupJson>)> {
    let (session, form) = create.with(caller.session);
    Ok((StatusCode::CREATED, Reply(session.create_group(&form.name, &form.description).await?.into())))
}

/// Get a group
#[utoipa::path(
    get,
    path = "/api/v1/groups/{id}",
    operation_id = "get_group",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the group")),
    responses((status = 200, description = "The group", body = GroupJson))
)]
async fn look(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<GroupJson>> {
    Ok(Reply(caller.session.group(id).await?.into()))
}

/// Change a group
///
/// Farm administrators only.
#[utoipa::path(
    patch,
    path = "/api/v1/groups/{id}",
    operation_id = "change_group",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the group")),
    request_body = GroupChange,
    responses((status = 200, description = "The group as it is now", body = GroupJson))
)]
async fn change(caller: Authenticated, Ids([id]): Ids<1>, Json(change): Json<GroupChange>) -> Answer<Reply<GroupJson>> {
    let group = caller.session.update_group(id, change.name.as_deref(), change.description.as_deref()).await?;
    Ok(Reply(group.into()))
}

/// Delete a group
///
/// Farm administrators only.
#[utoipa::path(
    delete,
    path = "/api/v1/groups/{id}",
    operation_id = "delete_group",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the group")),
    responses((status = 204, description = "Done"))
)]
async fn remove(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.delete_group(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the members of a group, ordered by login
///
/// Only for farm administrators and members.
#[utoipa::path(
    get,
    path = "/api/v1/groups/{id}/members",
    operation_id = "list_members",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the group"), PageQuery),
    responses((status = 200, description = "One page", body = List<MemberJson>))
)]
async fn members(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<PageQuery>,
) -> Answer<Reply<List<MemberJson>>> {
    let limit = query.limit_with_probe()?;
    let found = caller.session.members(id, &query.after_word()?, limit + 1).await?;
    let (members, next) = page(found, limit, |member| member.login.clone());
    Ok(Reply(List { items: members.into_iter().map(Into::into).collect(), next }))
}

/// Add a user to a group
///
/// Farm administrators only. The caller must have proved their identity within the last ten minutes.
#[utoipa::path(
    put,
    path = "/api/v1/groups/{id}/members/{user}",
    operation_id = "add_member",
    tag = "people",
    params(
        ("id" = String, Path, description = "Identifier of the group"),
        ("user" = String, Path, description = "Identifier of the user"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn add_member(caller: Authenticated, Ids([id, user]): Ids<2>) -> Answer<StatusCode> {
    caller.session.add_member(id, user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a user from a group
///
/// Farm administrators only.
#[utoipa::path(
    delete,
    path = "/api/v1/groups/{id}/members/{user}",
    operation_id = "remove_member",
    tag = "people",
    params(
        ("id" = String, Path, description = "Identifier of the group"),
        ("user" = String, Path, description = "Identifier of the user"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn remove_member(caller: Authenticated, Ids([id, user]): Ids<2>) -> Answer<StatusCode> {
    caller.session.remove_member(id, user).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List all roles
#[utoipa::path(
    get,
    path = "/api/v1/roles",
    operation_id = "list_roles",
    tag = "people",
    responses((status = 200, description = "All roles", body = List<RoleJson>))
)]
async fn roles(caller: Authenticated) -> Answer<Reply<List<RoleJson>>> {
    let roles = caller.session.roles().await?;
    Ok(Reply(List::whole(roles.into_iter().map(Into::into).collect())))
}

/// Create a role
///
/// Farm administrators only.
#[utoipa::path(
    post,
    path = "/api/v1/roles",
    operation_id = "create_role",
    tag = "people",
    params(Once),
    request_body = RoleForm,
    responses((status = 201, description = "The role", body = RoleJson))
)]
async fn create_role(caller: Authenticated, create: Create<RoleForm>) -> Answer<(StatusCode, Reply<RoleJson>)> {
    let (session, form) = create.with(caller.session);
    let role = session.create_role(&form.name, parse_rights(&form.rights)?).await?;
    Ok((StatusCode::CREATED, Reply(role.into())))
}

/// Get a role
#[utoipa::path(
    get,
    path = "/api/v1/roles/{id}",
    operation_id = "get_role",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the role")),
    responses((status = 200, description = "The role", body = RoleJson))
)]
async fn look_at_role(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<RoleJson>> {
    let role = caller.session.roles().await?.into_iter().find(|role| role.id == id);
    Ok(Reply(role.ok_or_else(|| Error::not_found("there is no such role"))?.into()))
}

/// Change a role
///
/// Farm administrators only.
#[utoipa::path(
    patch,
    path = "/api/v1/roles/{id}",
    operation_id = "change_role",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the role")),
    request_body = RoleChange,
    responses((status = 200, description = "The role as it is now", body = RoleJson))
)]
async fn change_role(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(change): Json<RoleChange>,
) -> Answer<Reply<RoleJson>> {
    let rights = change.rights.as_deref().map(parse_rights).transpose()?;
    Ok(Reply(caller.session.update_role(id, change.name.as_deref(), rights).await?.into()))
}

/// Delete a role
///
/// Farm administrators only. Existing grants of the role allow nothing any more.
#[utoipa::path(
    delete,
    path = "/api/v1/roles/{id}",
    operation_id = "delete_role",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the role")),
    responses((status = 204, description = "Done"))
)]
async fn delete_role(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.delete_role(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Find users and groups
///
/// Finds enabled users, and groups, whose login, name or a word of the name begins with the search text.
#[utoipa::path(
    get,
    path = "/api/v1/principals",
    operation_id = "find_principals",
    tag = "people",
    params(PrincipalQuery),
    responses((status = 200, description = "The first matches", body = List<PrincipalJson>))
)]
async fn principals(caller: Authenticated, Query(query): Query<PrincipalQuery>) -> Answer<Reply<List<PrincipalJson>>> {
    let limit = query.limit.unwrap_or(20);
    if !(1..=50).contains(&limit) {
        return Err(Error::invalid("limit is 1 to 50").with_code(Code::InvalidQuery).into());
    }
    let found = caller.session.search_principals(&query.search, limit).await?;
    Ok(Reply(List::whole(found.into_iter().map(Into::into).collect())))
}

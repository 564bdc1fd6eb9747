//! Users: accounts, passwords, tokens, sessions.

use axum::Json as Reply;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Create, Ids, Json, Query};
use super::wire::Once;
use super::wire::list::{List, PageQuery, page};
use super::wire::people::{
    NewTokenJson, NewUser, PasswordForm, SessionJson, TokenForm, TokenJson, UserChange, UserJson,
};
use super::wire::profile::{ProfileForm, ProfileJson};
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, create))
        .routes(routes!(look, change, remove))
        .routes(routes!(set_password))
        .routes(routes!(tokens, create_token))
        .routes(routes!(revoke_token))
        .routes(routes!(sessions, end_sessions))
        .routes(routes!(end_session))
        .routes(routes!(profile, set_profile))
}

/// List users, ordered by login
///
/// Farm administrators only.
#[utoipa::path(
    get,
    path = "/api/v1/users",
    operation_id = "list_users",
    tag = "people",
    params(PageQuery),
    responses((status = 200, description = "One page", body = List<UserJson>))
)]
async fn list(caller: Authenticated, Query(query): Query<PageQuery>) -> Answer<Reply<List<UserJson>>> {
    let limit = query.limit_with_probe()?;
    let found = caller.session.accounts(&query.after_word()?, limit + 1).await?;
    let (users, next) = page(found, limit, |account| account.login.clone());
    Ok(Reply(List { items: users.into_iter().map(Into::into).collect(), next }))
}

/// Create a user
///
/// Farm administrators only.
#[utoipa::path(
    post,
    path = "/api/v1/users",
    operation_id = "create_user",
    tag = "people",
    params(Once),
    request_body = NewUser,
    responses((status = 201, description = "The user", body = UserJson))
)]
async fn create(caller: Authenticated, create: Create<NewUser>) -> Answer<(StatusCode, Reply<UserJson>)> {
    let (session, new) = create.with(caller.session);
    Ok((StatusCode::CREATED, Reply(session.create_account(new.into()).await?.into())))
}

/// Get a user
///
/// Only for farm administrators and the user.
#[utoipa::path(
    get,
    path = "/api/v1/users/{id}",
    operation_id = "get_user",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    responses((status = 200, description = "The user", body = UserJson))
)]
async fn look(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<UserJson>> {
    Ok(Reply(caller.session.account(id).await?.into()))
}

/// Change a user
///
/// Farm administrators only. Once a user is disabled, all their credentials are refused from the next request on.
#[utoipa::path(
    patch,
    path = "/api/v1/users/{id}",
    operation_id = "change_user",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    request_body = UserChange,
    responses((status = 200, description = "The user as it is now", body = UserJson))
)]
async fn change(caller: Authenticated, Ids([id]): Ids<1>, Json(change): Json<UserChange>) -> Answer<Reply<UserJson>> {
    Ok(Reply(caller.session.update_account(id, change.into()).await?.into()))
}

/// Delete a user
///
/// Farm administrators only. The name remains in the records of what the user did.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{id}",
    operation_id = "delete_user",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    responses((status = 204, description = "Done"))
)]
async fn remove(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.delete_account(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Set a user's password
///
/// Farm administrators only. Ends all sessions of the user.
#[utoipa::path(
    put,
    path = "/api/v1/users/{id}/password",
    operation_id = "set_password",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    request_body = PasswordForm,
    responses((status = 204, description = "Done"))
)]
async fn set_password(caller: Authenticated, Ids([id]): Ids<1>, Json(form): Json<PasswordForm>) -> Answer<StatusCode> {
    caller.session.set_password(id, &form.password).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the tokens of a user
#[utoipa::path(
    get,
    path = "/api/v1/users/{id}/tokens",
    operation_id = "list_tokens",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    responses((status = 200, description = "All tokens", body = List<TokenJson>))
)]
async fn tokens(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<List<TokenJson>>> {
    let tokens = caller.session.tokens(id).await?;
    Ok(Reply(List::whole(tokens.into_iter().map(Into::into).collect())))
}

/// Create a token for a user
///
/// The secret is shown once. Needs a sign-in within the last ten minutes, or the password with the request. A token
/// cannot create tokens.
#[utoipa::path(
    post,
    path = "/api/v1/users/{id}/tokens",
    operation_id = "create_token",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user"), Once),
    request_body = TokenForm,
    responses((status = 201, description = "The token with its secret", body = NewTokenJson))
)]
async fn create_token(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<TokenForm>,
) -> Answer<(StatusCode, Reply<NewTokenJson>)> {
    let (session, form) = create.with(caller.session);
    let made = session.create_token(id, form.wish()?).await?;
    Ok((StatusCode::CREATED, Reply(NewTokenJson { token: made.token.into(), secret: made.secret })))
}

/// Revoke a token
#[utoipa::path(
    delete,
    path = "/api/v1/users/{id}/tokens/{token}",
    operation_id = "revoke_token",
    tag = "people",
    params(
        ("id" = String, Path, description = "Identifier of the user"),
        ("token" = String, Path, description = "Identifier of the token"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn revoke_token(caller: Authenticated, Ids([id, token]): Ids<2>) -> Answer<StatusCode> {
    caller.session.revoke_token(id, token).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the active sessions of a user
#[utoipa::path(
    get,
    path = "/api/v1/users/{id}/sessions",
    operation_id = "list_sessions",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    responses((status = 200, description = "All active sessions", body = List<SessionJson>))
)]
async fn sessions(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<List<SessionJson>>> {
    let sessions = caller.session.web_sessions(id).await?;
    Ok(Reply(List::whole(sessions.into_iter().map(Into::into).collect())))
}

/// End all sessions of a user
#[utoipa::path(
    delete,
    path = "/api/v1/users/{id}/sessions",
    operation_id = "end_sessions",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    responses((status = 204, description = "Done"))
)]
async fn end_sessions(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.end_all_web_sessions(id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// End a session
#[utoipa::path(
    delete,
    path = "/api/v1/users/{id}/sessions/{session}",
    operation_id = "end_session",
    tag = "people",
    params(
        ("id" = String, Path, description = "Identifier of the user"),
        ("session" = String, Path, description = "Identifier of the session"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn end_session(caller: Authenticated, Ids([id, session]): Ids<2>) -> Answer<StatusCode> {
    caller.session.end_web_session(id, session).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the profile of a user
///
/// What the user tells about themselves. Every user may read it.
#[utoipa::path(
    get,
    path = "/api/v1/users/{id}/profile",
    operation_id = "get_profile",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    responses((status = 200, description = "The profile", body = ProfileJson))
)]
async fn profile(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<ProfileJson>> {
    Ok(Reply(ProfileJson::new(caller.session.profile(id).await?)))
}

/// Change the profile of a user
///
/// One's own; farm administrators change those of others. Refused with `overtaken` if `revision` is not the present
/// one. The picture stays.
#[utoipa::path(
    put,
    path = "/api/v1/users/{id}/profile",
    operation_id = "set_profile",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    request_body = ProfileForm,
    responses((status = 200, description = "The profile as it is now", body = ProfileJson))
)]
async fn set_profile(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(form): Json<ProfileForm>,
) -> Answer<Reply<ProfileJson>> {
    caller.session.set_profile(id, form.into()).await?;
    Ok(Reply(ProfileJson::new(caller.session.profile(id).await?)))
}

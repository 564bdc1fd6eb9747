//! Libraries and lists: settings, columns, content types and column values.

use axum::Json as Reply;
use axum::http::{HeaderMap, StatusCode};
use model::Name;
use repository::ValuesChange;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Create, Ids, Json};
use super::wire::column::{self, ColumnForm, ColumnJson, ContentTypeJson, NamedColumns, ValuesForm, ValuesJson};
use super::wire::item::Naming;
use super::wire::library::{SettingsChange, SettingsJson};
use super::wire::list::List;
use super::wire::{Created, Once};
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;
use http_core::transfer::conditions;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(settings, change_settings))
        .routes(routes!(columns, create_column))
        .routes(routes!(change_column, delete_column))
        .routes(routes!(content_types, create_content_type))
        .routes(routes!(delete_content_type))
        .routes(routes!(values, change_values))
}

/// Get the settings of a library
///
/// The identifier is that of the library or of an item in it.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/settings",
    operation_id = "get_library_settings",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "The settings", body = SettingsJson))
)]
async fn settings(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<SettingsJson>> {
    Ok(Reply(caller.session.library_settings(&id.into()).await?.into()))
}

/// Change the settings of a library
#[utoipa::path(
    patch,
    path = "/api/v1/items/{id}/settings",
    operation_id = "change_library_settings",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = SettingsChange,
    responses((status = 200, description = "The settings as they are now", body = SettingsJson))
)]
async fn change_settings(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(change): Json<SettingsChange>,
) -> Answer<Reply<SettingsJson>> {
    let settings = change.on(caller.session.library_settings(&id.into()).await?)?;
    caller.session.change_library(&id.into(), settings.clone()).await?;
    Ok(Reply(settings.into()))
}

/// List the columns of a library
///
/// The identifier is that of the library or of an item in it.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/columns",
    operation_id = "list_columns",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "All columns", body = List<ColumnJson>))
)]
async fn columns(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<List<ColumnJson>>> {
    let (columns, _) = caller.session.columns(&id.into()).await?;
    Ok(Reply(List::whole(columns.into_iter().map(Into::into).collect())))
}

/// Add a column to a library
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/columns",
    operation_id = "create_column",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item"), Once),
    request_body = ColumnForm,
    responses((status = 201, description = "The column", body = Created))
)]
async fn create_column(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<ColumnForm>,
) -> Answer<(StatusCode, Reply<Created>)> {
    let (session, form) = create.with(caller.session);
    let column = session.create_column(&id.into(), form.change()?).await?;
    Ok((StatusCode::CREATED, Reply(Created { id: column.to_string() })))
}

/// Change a column
#[utoipa::path(
    put,
    path = "/api/v1/items/{id}/columns/{column}",
    operation_id = "change_column",
    tag = "libraries",
    params(
        ("id" = String, Path, description = "Identifier of the item"),
        ("column" = String, Path, description = "Identifier of the column"),
    ),
    request_body = ColumnForm,
    responses((status = 204, description = "Done"))
)]
async fn change_column(
    caller: Authenticated,
    Ids([id, column]): Ids<2>,
    Json(form): Json<ColumnForm>,
) -> Answer<StatusCode> {
    caller.session.change_column(&id.into(), column, form.change()?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove a column with all its values
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/columns/{column}",
    operation_id = "delete_column",
    tag = "libraries",
    params(
        ("id" = String, Path, description = "Identifier of the item"),
        ("column" = String, Path, description = "Identifier of the column"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn delete_column(caller: Authenticated, Ids([id, column]): Ids<2>) -> Answer<StatusCode> {
    caller.session.delete_column(&id.into(), column).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// List the content types of a library
///
/// The identifier is that of the library or of an item in it.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/content-types",
    operation_id = "list_content_types",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "All content types", body = List<ContentTypeJson>))
)]
async fn content_types(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<List<ContentTypeJson>>> {
    let (_, types) = caller.session.columns(&id.into()).await?;
    Ok(Reply(List::whole(types.into_iter().map(Into::into).collect())))
}

/// Add a content type to a library
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/content-types",
    operation_id = "create_content_type",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item"), Once),
    request_body = Naming,
    responses((status = 201, description = "The content type", body = Created))
)]
async fn create_content_type(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    create: Create<Naming>,
) -> Answer<(StatusCode, Reply<Created>)> {
    let (session, naming) = create.with(caller.session);
    let made = session.create_content_type(&id.into(), &Name::new(naming.name)?).await?;
    Ok((StatusCode::CREATED, Reply(Created { id: made.to_string() })))
}

/// Remove a content type and its columns
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/content-types/{type}",
    operation_id = "delete_content_type",
    tag = "libraries",
    params(
        ("id" = String, Path, description = "Identifier of the item"),
        ("type" = String, Path, description = "Identifier of the content type"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn delete_content_type(caller: Authenticated, Ids([id, content_type]): Ids<2>) -> Answer<StatusCode> {
    caller.session.delete_content_type(&id.into(), content_type).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the column values of a document, folder or row
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/values",
    operation_id = "get_values",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item")),
    responses((status = 200, description = "The values", body = ValuesJson))
)]
async fn values(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<ValuesJson>> {
    let item = caller.session.item(&id.into()).await?;
    let values = caller.session.values(&id.into()).await?;
    Ok(Reply(ValuesJson {
        values: column::json_of(values),
        content_type: item.content_type_id.map(|id| id.to_string()),
    }))
}

/// Change the column values of a document, folder or row
///
/// Makes all changes, or none. With `If-Match`, only if the entity tag still matches.
#[utoipa::path(
    patch,
    path = "/api/v1/items/{id}/values",
    operation_id = "change_values",
    tag = "libraries",
    params(("id" = String, Path, description = "Identifier of the item")),
    request_body = ValuesForm,
    responses((status = 200, description = "The values as they are now", body = ValuesJson))
)]
async fn change_values(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    headers: HeaderMap,
    Json(form): Json<ValuesForm>,
) -> Answer<Reply<ValuesJson>> {
    let preconditions = conditions::of_change(&caller.session, || id.into(), &headers).await?;
    let (columns, _) = caller.session.columns(&id.into()).await?;
    let values = column::values_of(&NamedColumns::new(columns), form.values)?;
    let content_type = form.content_type.map(|content_type| content_type.map(|id| id.0));
    let change = ValuesChange { values, content_type, preconditions, ..ValuesChange::default() };
    caller.session.set_values(&id.into(), change).await?;
    self::values(caller, Ids([id])).await
}

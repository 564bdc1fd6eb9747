//! Templates of sites and lists.

use axum::Json as Reply;
use axum::extract::Request;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use model::{Code, Error, Result};
use repository::{Target, Template, TemplateDraft, TemplateSummary, TemplateText};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::protocol::content_type;
use http_core::server::error::Answer;
use http_core::server::request_body;
use http_core::server::state::AppState;

use super::extract::{Ids, Json, PathParams, Query, id};
use super::wire::item::Names;
use super::wire::list::List;
use super::wire::template::{TemplateChange, TemplateJson};

/// Media type of templates.
const TOML: &str = "application/toml";

/// For whom a template is.
#[derive(Default, Deserialize, IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct PlaceQuery {
    /// Identifier of a site. Its site collection has templates of its own. Those of the farm when absent.
    #[param(value_type = Option<super::wire::rules::Identifier>)]
    site: Option<String>,
}

impl PlaceQuery {
    fn target(&self) -> Result<Option<Target>> {
        self.site.as_deref().map(|site| Ok(Target::Id(id(site)?))).transpose()
    }
}

/// What a template is to be made of.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DraftQuery {
    /// Name of the template.
    #[param(value_type = super::wire::rules::TemplateName)]
    name: String,
    /// Title of the template; the name of the item when absent.
    #[serde(default)]
    #[param(value_type = Option<super::wire::rules::Title>)]
    title: Option<String>,
    /// True to take along the first 200 rows of each list and 50 pages of each library.
    #[serde(default)]
    rows: bool,
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(list, save)).routes(routes!(look, rename, remove)).routes(routes!(of_item))
}

/// List the templates
///
/// The built-in ones, those that were saved for the farm and, with `site`, those of its site collection. With `site`,
/// the caller must be permitted to create lists in it; templates of sites are only for those who may create sites.
#[utoipa::path(
    get,
    path = "/api/v1/templates",
    operation_id = "list_templates",
    tag = "templates",
    params(PlaceQuery),
    responses((status = 200, description = "All templates", body = List<TemplateJson>))
)]
async fn list(caller: Authenticated, Query(place): Query<PlaceQuery>) -> Answer<Reply<List<TemplateJson>>> {
    let templates = caller.session.templates(place.target()?.as_ref()).await?;
    let people = templates.iter().filter_map(|template| template.changed_by);
    let names = Names::of(&caller.session, people.collect::<Vec<_>>()).await?;
    Ok(Reply(List::whole(templates.into_iter().map(|template| TemplateJson::of(template, &names)).collect())))
}

/// Save a template
///
/// The body is the template as a file. With `site`, it is saved for its site collection, which the caller must manage;
/// otherwise for the farm, which needs a farm administrator. What the program does not know in it is refused.
#[utoipa::path(
    post,
    path = "/api/v1/templates",
    operation_id = "save_template",
    tag = "templates",
    params(PlaceQuery),
    request_body(content = String, content_type = "application/toml"),
    responses((status = 201, description = "The saved template", body = TemplateJson))
)]
async fn save(
    caller: Authenticated,
    Query(place): Query<PlaceQuery>,
    request: Request,
) -> Answer<(StatusCode, Reply<TemplateJson>)> {
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    if kind.is_none_or(|kind| content_type::essence(kind) != TOML) {
        let text = "the body must be a template: send Content-Type: application/toml";
        return Err(Error::invalid(text).with_code(Code::UnsupportedMediaType).into());
    }
    let body = request_body::read_to_end(request.into_body(), request_body::FIELDS).await?;
    let read = |bytes: &[u8]| {
        let text = std::str::from_utf8(bytes).map_err(|_| {
            Error::invalid("the template cannot be used: it is not UTF-8").with_code(Code::InvalidTemplate)
        });
        Template::parse(text?)
    };
    let template = request_body::parse_off_thread(body, read).await?;
    let saved = caller.session.save_template(place.target()?.as_ref(), template).await?;
    Ok((StatusCode::CREATED, Reply(named(&caller, saved).await?)))
}

/// Get a template
///
/// As a file, which can be saved again or used in another farm.
#[utoipa::path(
    get,
    path = "/api/v1/templates/{name}",
    operation_id = "get_template",
    tag = "templates",
    params(("name" = String, Path, description = "Name of the template"), PlaceQuery),
    responses((status = 200, description = "The template", content_type = "application/toml", body = String))
)]
async fn look(
    caller: Authenticated,
    PathParams([name]): PathParams<1>,
    Query(place): Query<PlaceQuery>,
) -> Answer<Response> {
    Ok(file(&caller.session.template(place.target()?.as_ref(), &name).await?))
}

/// Rename a saved template
#[utoipa::path(
    patch,
    path = "/api/v1/templates/{name}",
    operation_id = "rename_template",
    tag = "templates",
    params(("name" = String, Path, description = "Name of the template"), PlaceQuery),
    request_body = TemplateChange,
    responses((status = 200, description = "The template under its new name", body = TemplateJson))
)]
async fn rename(
    caller: Authenticated,
    PathParams([name]): PathParams<1>,
    Query(place): Query<PlaceQuery>,
    Json(change): Json<TemplateChange>,
) -> Answer<Reply<TemplateJson>> {
    let title = change.title.map(TemplateText::Same);
    let renamed = caller.session.rename_template(place.target()?.as_ref(), &name, &change.name, title).await?;
    Ok(Reply(named(&caller, renamed).await?))
}

/// Delete a saved template
///
/// Sites and lists that were made from it stay.
#[utoipa::path(
    delete,
    path = "/api/v1/templates/{name}",
    operation_id = "delete_template",
    tag = "templates",
    params(("name" = String, Path, description = "Name of the template"), PlaceQuery),
    responses((status = 204, description = "Done"))
)]
async fn remove(
    caller: Authenticated,
    PathParams([name]): PathParams<1>,
    Query(place): Query<PlaceQuery>,
) -> Answer<StatusCode> {
    caller.session.delete_template(place.target()?.as_ref(), &name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Make a template of a site or list
///
/// Columns, views, settings, navigation and accent as far as the caller may see them, without people and permissions.
/// The answer is a file; save it with `save_template`.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/template",
    operation_id = "make_template",
    tag = "templates",
    params(("id" = String, Path, description = "Identifier of the item"), DraftQuery),
    responses((status = 200, description = "The template", content_type = "application/toml", body = String))
)]
async fn of_item(caller: Authenticated, Ids([id]): Ids<1>, Query(query): Query<DraftQuery>) -> Answer<Response> {
    let DraftQuery { name, title, rows } = query;
    let draft = TemplateDraft { name, title: title.unwrap_or_default(), description: String::new(), with_rows: rows };
    Ok(file(&caller.session.template_of(&id.into(), draft).await?))
}

fn file(template: &Template) -> Response {
    // The name has no characters that need quoting.
    let name = format!("attachment; filename=\"{}.toml\"", template.name);
    let fields = [(header::CONTENT_TYPE, TOML.to_owned()), (header::CONTENT_DISPOSITION, name)];
    (fields, template.write()).into_response()
}

async fn named(caller: &Authenticated, template: TemplateSummary) -> Result<TemplateJson> {
    let names = Names::of(&caller.session, template.changed_by).await?;
    Ok(TemplateJson::of(template, &names))
}

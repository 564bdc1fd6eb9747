//! Public links to documents, and the rules of site collections for them.

use axum::Json as Reply;
use axum::http::StatusCode;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Ids, Json};
use super::wire::item::Names;
use super::wire::link::{LinkForm, LinkJson, LinkRuleJson, NewLinkJson};
use super::wire::list::List;
use http_core::identity::Authenticated;
use http_core::protocol::time;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(links, share)).routes(routes!(revoke)).routes(routes!(rule, set_rule))
}

/// List the links to a document
///
/// Needs the right to edit the document. Newest first.
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/links",
    operation_id = "list_links",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the document")),
    responses((status = 200, description = "All links", body = List<LinkJson>))
)]
async fn links(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<List<LinkJson>>> {
    let links = caller.session.links(&id.into()).await?;
    let names = Names::of(&caller.session, links.iter().map(|link| link.created_by)).await?;
    Ok(Reply(List::whole(links.iter().map(|link| LinkJson::new(link, &names)).collect())))
}

/// Create a public download link to a document
///
/// Anyone with the link can download the published version. Each call creates another link. A link that lasts for more
/// than 30 days needs a proof of identity within the last ten minutes (otherwise 403 with the code
/// `fresh_sign_in_needed`), which a token cannot give.
#[utoipa::path(
    post,
    path = "/api/v1/items/{id}/links",
    operation_id = "create_link",
    tag = "documents",
    params(("id" = String, Path, description = "Identifier of the document")),
    request_body = LinkForm,
    responses((status = 201, description = "The link with its secret", body = NewLinkJson))
)]
async fn share(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(form): Json<LinkForm>,
) -> Answer<(StatusCode, Reply<NewLinkJson>)> {
    let (link, secret) = caller.session.share(&id.into(), form.into()).await?;
    let path = format!("/s/{}/{secret}", link.id);
    let made = NewLinkJson { id: link.id.to_string(), path, expires_at: time::format(link.expires_at) };
    Ok((StatusCode::CREATED, Reply(made)))
}

/// Revoke a link to a document
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/links/{link}",
    operation_id = "revoke_link",
    tag = "documents",
    params(
        ("id" = String, Path, description = "Identifier of the document"),
        ("link" = String, Path, description = "Identifier of the link"),
    ),
    responses((status = 204, description = "Done"))
)]
async fn revoke(caller: Authenticated, Ids([id, link]): Ids<2>) -> Answer<StatusCode> {
    caller.session.revoke_link(&id.into(), link).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the link rule of a site collection
#[utoipa::path(
    get,
    path = "/api/v1/site-collections/{id}/link-rule",
    operation_id = "get_link_rule",
    tag = "site collections",
    params(("id" = String, Path, description = "Identifier of the site collection")),
    responses((status = 200, description = "The rule", body = LinkRuleJson))
)]
async fn rule(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<LinkRuleJson>> {
    Ok(Reply(caller.session.link_rule(&id.into()).await?.into()))
}

/// Set the link rule of a site collection
///
/// Without a rule no link works. Existing links work again once there is a rule.
#[utoipa::path(
    put,
    path = "/api/v1/site-collections/{id}/link-rule",
    operation_id = "set_link_rule",
    tag = "site collections",
    params(("id" = String, Path, description = "Identifier of the site collection")),
    request_body = LinkRuleJson,
    responses((status = 204, description = "Done"))
)]
async fn set_rule(caller: Authenticated, Ids([id]): Ids<1>, Json(rule): Json<LinkRuleJson>) -> Answer<StatusCode> {
    caller.session.set_link_rule(id, rule.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

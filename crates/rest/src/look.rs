//! How sites look: colour, links and home page. Their logos are among the images.

use axum::Json as Reply;
use repository::Target;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Ids, Json};
use super::wire::look::{SiteLookForm, SiteLookJson};
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(look, change_look))
}

/// Get how a site looks
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/look",
    operation_id = "get_site_look",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the site")),
    responses((status = 200, description = "How it looks", body = SiteLookJson))
)]
async fn look(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<SiteLookJson>> {
    answer(&caller, &id.into()).await
}

/// Change how a site looks
///
/// All or nothing. Needs the right to manage the site. Links to items that the caller may not know of stay, behind the
/// others.
#[utoipa::path(
    patch,
    path = "/api/v1/items/{id}/look",
    operation_id = "change_site_look",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the site")),
    request_body = SiteLookForm,
    responses((status = 200, description = "How it looks now", body = SiteLookJson))
)]
async fn change_look(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Json(form): Json<SiteLookForm>,
) -> Answer<Reply<SiteLookJson>> {
    let site = Target::Id(id);
    caller.session.change_site_look(&site, form.change()?).await?;
    answer(&caller, &site).await
}

async fn answer(caller: &Authenticated, site: &Target) -> Answer<Reply<SiteLookJson>> {
    let look = caller.session.site_look(site).await?;
    let home = caller.session.site_home(site).await?;
    Ok(Reply(SiteLookJson::new(look, home.map(|home| home.id))))
}

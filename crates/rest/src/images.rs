//! Small images: the logos of sites, and the pictures of users.

use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::Response;
use model::{Id, MAX_IMAGE_BYTES, Result, SmallImage};
use repository::SiteLookChange;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Ids;
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::request_body;
use http_core::server::state::AppState;
use http_core::transfer::image;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(logo, set_logo, remove_logo)).routes(routes!(
        picture,
        set_picture,
        remove_picture
    ))
}

/// Reads an image from a body.
async fn receive(request: Request) -> Result<SmallImage> {
    let body = request_body::read_to_end(request.into_body(), MAX_IMAGE_BYTES).await?;
    request_body::parse_off_thread(body, |bytes| SmallImage::new(bytes.to_vec())).await
}

/// Get the logo of a site
#[utoipa::path(
    get,
    path = "/api/v1/items/{id}/logo",
    operation_id = "get_site_logo",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the site")),
    responses((status = 200, description = "The file: PNG, JPEG or WebP", content_type = "*/*", body = Vec<u8>))
)]
async fn logo(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Response> {
    Ok(image::response(caller.session.site_logo(&id.into()).await?, false))
}

/// Set the logo of a site
///
/// A PNG, JPEG or WebP file of at most 256 KiB, at most 2,048 pixels wide and high. Needs the right to manage the site.
#[utoipa::path(
    put,
    path = "/api/v1/items/{id}/logo",
    operation_id = "set_site_logo",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the site")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 204, description = "Done"))
)]
async fn set_logo(caller: Authenticated, Ids([id]): Ids<1>, request: Request) -> Answer<StatusCode> {
    change_logo(&caller, id, Some(receive(request).await?)).await
}

/// Remove the logo of a site
///
/// Needs the right to manage the site.
#[utoipa::path(
    delete,
    path = "/api/v1/items/{id}/logo",
    operation_id = "remove_site_logo",
    tag = "items",
    params(("id" = String, Path, description = "Identifier of the site")),
    responses((status = 204, description = "Done"))
)]
async fn remove_logo(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    change_logo(&caller, id, None).await
}

async fn change_logo(caller: &Authenticated, site: Id, logo: Option<SmallImage>) -> Answer<StatusCode> {
    let change = SiteLookChange { logo: Some(logo), ..SiteLookChange::default() };
    caller.session.change_site_look(&site.into(), change).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Get the picture of a user
///
/// Every user may see it.
#[utoipa::path(
    get,
    path = "/api/v1/users/{id}/picture",
    operation_id = "get_picture",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    responses((status = 200, description = "The file: PNG, JPEG or WebP", content_type = "*/*", body = Vec<u8>))
)]
async fn picture(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Response> {
    Ok(image::response(caller.session.profile_picture(id).await?, false))
}

/// Set the picture of a user
///
/// A PNG, JPEG or WebP file of at most 256 KiB, at most 2,048 pixels wide and high. One's own; farm administrators set
/// those of others.
#[utoipa::path(
    put,
    path = "/api/v1/users/{id}/picture",
    operation_id = "set_picture",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    request_body(content = Vec<u8>, content_type = "application/octet-stream"),
    responses((status = 204, description = "Done"))
)]
async fn set_picture(caller: Authenticated, Ids([id]): Ids<1>, request: Request) -> Answer<StatusCode> {
    caller.session.set_profile_picture(id, Some(receive(request).await?)).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Remove the picture of a user
///
/// One's own; farm administrators remove those of others.
#[utoipa::path(
    delete,
    path = "/api/v1/users/{id}/picture",
    operation_id = "remove_picture",
    tag = "people",
    params(("id" = String, Path, description = "Identifier of the user")),
    responses((status = 204, description = "Done"))
)]
async fn remove_picture(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<StatusCode> {
    caller.session.set_profile_picture(id, None).await?;
    Ok(StatusCode::NO_CONTENT)
}

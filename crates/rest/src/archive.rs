//! Many items as one archive.

use axum::response::Response;
use model::{Code, Error, Id, MAX_PAGE};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;
use http_core::transfer::bundle;

use super::extract::Query;

/// The items that go into an archive.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ArchiveQuery {
    /// Identifiers of documents, folders, libraries, lists or rows, separated by commas; at most 1,000.
    #[param(value_type = super::wire::rules::IdList)]
    ids: String,
}

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(archive))
}

/// Download items as a ZIP archive
///
/// Folders include everything in them that the caller may open. Of a list, the attachments are included, in a folder
/// for each row that has some. An archive has at most 10,000 items, 8 MiB of paths and 100 GiB. It is generated while
/// it is sent. Documents that were deleted meanwhile or are damaged are missing; a text file in the archive lists them.
#[utoipa::path(
    get,
    path = "/api/v1/archive",
    operation_id = "download_archive",
    tag = "items",
    params(ArchiveQuery),
    responses((status = 200, description = "The archive", content_type = "application/zip"))
)]
async fn archive(caller: Authenticated, Query(query): Query<ArchiveQuery>) -> Answer<Response> {
    let ids: Vec<Id> =
        query.ids.split(',').filter(|id| !id.is_empty()).map(str::parse).collect::<model::Result<_>>()?;
    if ids.is_empty() || ids.len() > MAX_PAGE {
        return Err(Error::invalid("ids must hold 1 to 1,000 identifiers").with_code(Code::InvalidQuery).into());
    }
    Ok(bundle::send(&caller.session, &ids).await?)
}

//! The servers of the farm, and the metrics of this server over time. Farm administrators only.

use axum::Json as Reply;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Query;
use super::wire::figures::{FiguresJson, FiguresQuery, ServerJson};
use super::wire::list::List;
use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(servers)).routes(routes!(figures))
}

/// List the servers of the farm
///
/// Farm administrators only. Each server reports every 30 seconds that it is running. A server that ended without
/// deregistering stays in the list for a day.
#[utoipa::path(
    get,
    path = "/api/v1/farm/servers",
    operation_id = "list_servers",
    tag = "farm",
    responses((status = 200, description = "All servers", body = List<ServerJson>))
)]
async fn servers(caller: Authenticated) -> Answer<Reply<List<ServerJson>>> {
    let servers = caller.session.servers().await?;
    Ok(Reply(List::whole(servers.into_iter().map(Into::into).collect())))
}

/// Get the metrics of this server over time
///
/// Farm administrators only. Each server keeps its own metrics since its start, for at most a day. Programs that keep
/// more read `/metrics`.
#[utoipa::path(
    get,
    path = "/api/v1/farm/figures",
    operation_id = "get_figures",
    tag = "farm",
    params(FiguresQuery),
    responses((status = 200, description = "The metrics", body = FiguresJson))
)]
async fn figures(
    State(state): State<AppState>,
    caller: Authenticated,
    Query(query): Query<FiguresQuery>,
) -> Answer<Reply<FiguresJson>> {
    caller.session.may_see_figures()?;
    let (span, since) = query.read()?;
    Ok(Reply(FiguresJson::of(state.figures(), span, since)))
}

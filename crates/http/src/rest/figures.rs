//! The figures of this server over time. For administrators of the farm.

use axum::Json as Reply;
use axum::extract::State;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::Query;
use super::wire::figures::{FiguresJson, FiguresQuery};
use crate::error::Answer;
use crate::identity::Authenticated;
use crate::state::AppState;

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new().routes(routes!(figures))
}

/// Get the figures of this server over time
///
/// For administrators of the farm. Each server keeps its own since its start, at most of a day; `/metrics` is for programs that keep more.
#[utoipa::path(
    get,
    path = "/api/v1/farm/figures",
    operation_id = "get_figures",
    tag = "farm",
    params(FiguresQuery),
    responses((status = 200, description = "The figures", body = FiguresJson))
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

//! Jobs on the farm's storage, pending deletions and damaged BLOBs. Farm administrators only.

use axum::Json as Reply;
use axum::http::StatusCode;
use model::{Code, Digest, Error, Result};
use repository::{Job, JobRequest, Session};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use http_core::identity::Authenticated;
use http_core::server::error::Answer;
use http_core::server::state::AppState;

use super::extract::{Create, Ids, PathParams, Query};
use super::wire::Once;
use super::wire::item::Names;
use super::wire::job::{FaultJson, JobErrorJson, JobJson, ReclaimJson, Repaired, WorkJson};
use super::wire::list::{List, PageQuery, cursor_of, cursor_of_other_list, page};

pub fn routes() -> OpenApiRouter<AppState> {
    OpenApiRouter::new()
        .routes(routes!(list, start))
        .routes(routes!(look))
        .routes(routes!(errors))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(abort))
        .routes(routes!(reclaim))
        .routes(routes!(faults))
        .routes(routes!(accept))
        .routes(routes!(repair))
}

async fn told(session: &Session, job: Job) -> Result<JobJson> {
    let names = Names::of(session, [job.created_by]).await?;
    Ok(JobJson::new(job, &names))
}

/// List jobs
///
/// Farm administrators only. Newest first.
#[utoipa::path(
    get,
    path = "/api/v1/farm/jobs",
    operation_id = "list_jobs",
    tag = "storage",
    params(PageQuery),
    responses((status = 200, description = "One page", body = List<JobJson>))
)]
async fn list(caller: Authenticated, Query(query): Query<PageQuery>) -> Answer<Reply<List<JobJson>>> {
    let limit = query.limit_with_probe()?;
    let found = caller.session.jobs(query.before()?, limit + 1).await?;
    let (jobs, next) = page(found, limit, |job| job.id);
    let names = Names::of(&caller.session, jobs.iter().map(|job| job.created_by)).await?;
    Ok(Reply(List { items: jobs.into_iter().map(|job| JobJson::new(job, &names)).collect(), next }))
}

/// Start a job
///
/// Farm administrators only. A server of the farm begins the job within seconds. Each server
/// runs at most one full crawl and one other job at a time.
#[utoipa::path(
    post,
    path = "/api/v1/farm/jobs",
    operation_id = "start_job",
    tag = "storage",
    params(Once),
    request_body = WorkJson,
    responses((status = 201, description = "The job", body = JobJson))
)]
async fn start(caller: Authenticated, create: Create<WorkJson>) -> Answer<(StatusCode, Reply<JobJson>)> {
    let (session, work) = create.with(caller.session);
    let job = session.start_job(work.read()?).await?;
    Ok((StatusCode::CREATED, Reply(told(&session, job).await?)))
}

/// Get a job
///
/// Farm administrators only.
#[utoipa::path(
    get,
    path = "/api/v1/farm/jobs/{id}",
    operation_id = "get_job",
    tag = "storage",
    params(("id" = String, Path, description = "Identifier of the job")),
    responses((status = 200, description = "The job", body = JobJson))
)]
async fn look(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<JobJson>> {
    let job = caller.session.job(id).await?;
    Ok(Reply(told(&caller.session, job).await?))
}

/// List the errors of a job
///
/// Farm administrators only. Resuming the job retries the items.
#[utoipa::path(
    get,
    path = "/api/v1/farm/jobs/{id}/errors",
    operation_id = "list_job_errors",
    tag = "storage",
    params(("id" = String, Path, description = "Identifier of the job"), PageQuery),
    responses((status = 200, description = "One page", body = List<JobErrorJson>))
)]
async fn errors(
    caller: Authenticated,
    Ids([id]): Ids<1>,
    Query(query): Query<PageQuery>,
) -> Answer<Reply<List<JobErrorJson>>> {
    let limit = query.limit_with_probe()?;
    caller.session.job(id).await?;
    let found = caller.session.job_errors(id, &query.after_word()?, limit + 1).await?;
    let (errors, next) = page(found, limit, |error| error.item.clone());
    Ok(Reply(List { items: errors.into_iter().map(Into::into).collect(), next }))
}

async fn ask(caller: Authenticated, id: model::Id, request: JobRequest) -> Answer<Reply<JobJson>> {
    let job = caller.session.ask_job(id, request).await?;
    Ok(Reply(told(&caller.session, job).await?))
}

/// Pause a job
///
/// Farm administrators only.
#[utoipa::path(
    post,
    path = "/api/v1/farm/jobs/{id}/pause",
    operation_id = "pause_job",
    tag = "storage",
    params(("id" = String, Path, description = "Identifier of the job")),
    responses((status = 200, description = "The job; a running one stops within seconds", body = JobJson))
)]
async fn pause(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<JobJson>> {
    ask(caller, id, JobRequest::Pause).await
}

/// Resume a job
///
/// Farm administrators only. A job that failed or came to its end can be resumed too: it retries what it could not do.
/// An aborted job cannot be resumed.
#[utoipa::path(
    post,
    path = "/api/v1/farm/jobs/{id}/resume",
    operation_id = "resume_job",
    tag = "storage",
    params(("id" = String, Path, description = "Identifier of the job")),
    responses((status = 200, description = "The job", body = JobJson))
)]
async fn resume(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<JobJson>> {
    ask(caller, id, JobRequest::Resume).await
}

/// Abort a job
///
/// Farm administrators only. The job cannot be resumed. Its completed work is kept.
#[utoipa::path(
    post,
    path = "/api/v1/farm/jobs/{id}/abort",
    operation_id = "abort_job",
    tag = "storage",
    params(("id" = String, Path, description = "Identifier of the job")),
    responses((status = 200, description = "The job; a running one stops within seconds", body = JobJson))
)]
async fn abort(caller: Authenticated, Ids([id]): Ids<1>) -> Answer<Reply<JobJson>> {
    ask(caller, id, JobRequest::Abort).await
}

/// List pending deletions
///
/// Farm administrators only.
#[utoipa::path(
    get,
    path = "/api/v1/farm/reclaim",
    operation_id = "list_reclaim",
    tag = "storage",
    responses((status = 200, description = "The waiting BLOBs by database, store and reason", body = List<ReclaimJson>))
)]
async fn reclaim(caller: Authenticated) -> Answer<Reply<List<ReclaimJson>>> {
    let pending = caller.session.pending_reclaim().await?;
    Ok(Reply(List::whole(pending.into_iter().map(Into::into).collect())))
}

/// List missing and damaged BLOBs
///
/// Farm administrators only. The BLOBs that a check found missing or damaged, ordered by digest.
#[utoipa::path(
    get,
    path = "/api/v1/farm/faults",
    operation_id = "list_faults",
    tag = "storage",
    params(PageQuery),
    responses((status = 200, description = "One page", body = List<FaultJson>))
)]
async fn faults(caller: Authenticated, Query(query): Query<PageQuery>) -> Answer<Reply<List<FaultJson>>> {
    let after = match query.after_word()?.as_str() {
        "" => None,
        word => Some(word.parse().map_err(|_| cursor_of_other_list())?),
    };
    let (faults, next) = caller.session.blob_faults(after, query.limit()?).await?;
    let names = Names::of(&caller.session, faults.iter().filter_map(|fault| fault.accepted).map(|(_, by)| by)).await?;
    let items = faults.into_iter().map(|fault| FaultJson::new(fault, &names)).collect();
    Ok(Reply(List { items, next: next.map(cursor_of) }))
}

fn digest(word: &str) -> Result<Digest> {
    word.parse().map_err(|error: Error| error.with_code(Code::InvalidDigest))
}

/// Record that a BLOB is lost
///
/// Farm administrators only. Opening one of its documents still reports the loss.
#[utoipa::path(
    post,
    path = "/api/v1/farm/faults/{digest}/accept",
    operation_id = "accept_loss",
    tag = "storage",
    params(("digest" = String, Path, description = "Digest of the BLOB")),
    responses((status = 204, description = "Done"))
)]
async fn accept(caller: Authenticated, PathParams([word]): PathParams<1>) -> Answer<StatusCode> {
    caller.session.accept_loss(digest(&word)?).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Repair a BLOB from another store of the farm
///
/// Farm administrators only. The bytes are accepted only if they match the digest.
#[utoipa::path(
    post,
    path = "/api/v1/farm/faults/{digest}/repair",
    operation_id = "repair_blob",
    tag = "storage",
    params(("digest" = String, Path, description = "Digest of the BLOB")),
    responses((status = 200, description = "The store that the bytes came from", body = Repaired))
)]
async fn repair(caller: Authenticated, PathParams([word]): PathParams<1>) -> Answer<Reply<Repaired>> {
    Ok(Reply(Repaired { from: caller.session.repair_blob(digest(&word)?).await? }))
}

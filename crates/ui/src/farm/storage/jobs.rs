//! The pages of jobs: their progress and their controls.

use askama::Template;
use axum::extract::{Path, Query};
use model::{Error, Id, JobKind, JobStatus, RequestedState, Timestamp};
use repository::{Job, JobError, JobRequest};
use serde::Deserialize;

use super::words;
use crate::frame::fault::PageResult;
use crate::frame::flash::{Flash, done};
use crate::frame::page::{Page, html};
use crate::frame::texts::Language;
use crate::frame::visit::{SubmittedForm, Visit};
use crate::frame::{navigation, refuse};
use crate::wording::{events, names};

/// URL of the list.
pub const HERE: &str = "/farm/jobs";
/// Jobs, or errors of a job, per page.
const PAGE: usize = 50;

/// Query parameters: the start of a page.
#[derive(Default, Deserialize)]
pub struct From {
    /// Last job of the previous page.
    before: Option<String>,
    /// Last error of the previous page.
    #[serde(default)]
    after: String,
}

/// A row of the list, and the header of the job's own page.
pub(super) struct JobRow {
    pub(super) id: Id,
    pub(super) what: String,
    pub(super) state: &'static str,
    pub(super) tone: &'static str,
    is_running: bool,
    /// Current phase, or the outcome.
    pub(super) note: String,
    pub(super) percent: Option<u64>,
    pub(super) done: String,
    pub(super) rate: String,
    pub(super) left: String,
    failed: u64,
    pub(super) at: Timestamp,
    pub(super) by: String,
}

impl JobRow {
    pub(super) fn of(page: &Page, job: &Job, by: String) -> Self {
        let (state, tone) = state(page, job);
        let progress = &job.progress;
        let counted = |items| match job.work.kind() {
            JobKind::Crawl => page.n("job.documents", items),
            JobKind::Migrate | JobKind::Collect | JobKind::Check => page.n("job.blobs", items),
        };
        let has_results = matches!(job.status, JobStatus::Finished | JobStatus::Incomplete);
        let is_running = job.status == JobStatus::Running;
        let share = |done: u64, total: u64| (total > 0).then(|| (done.min(total) as f64 / total as f64 * 100.0) as u64);
        let percent =
            share(progress.bytes, progress.total_bytes).or_else(|| share(progress.items, progress.total_items));
        let rate = progress.bytes_per_second().map(|rate| page.f1("job.per-second", page.size(&rate)));
        let left = progress.seconds_left().map(|seconds| words::length(page, seconds));
        let done = match (progress.items, progress.total_bytes) {
            (0, 0) => String::new(),
            (items, 0) => format!("{}\u{a0}· {}", counted(items), page.size(&progress.bytes)),
            (items, total) => format!(
                "{}\u{a0}· {}",
                counted(items),
                page.f2("job.of-total", page.size(&progress.bytes.min(total)), page.size(&total))
            ),
        };
        Self {
            id: job.id,
            what: words::work(page, &job.work),
            state,
            tone,
            is_running,
            note: match is_running {
                true => words::phase(page.language, &progress.phase),
                // A job's final message is English only. Its results are translated, so the message is omitted in other
                // languages.
                false if has_results && page.language != Language::ENGLISH => String::new(),
                false => refuse::typographic(&sentence(&job.message)),
            },
            percent: percent.filter(|_| !has_results && job.status != JobStatus::Waiting),
            done,
            rate: rate.filter(|_| is_running).unwrap_or_default(),
            left: left.filter(|_| is_running).unwrap_or_default(),
            failed: progress.failed,
            at: job.created_at,
            by,
        }
    }
}

/// Capitalises a message.
pub(super) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn state(page: &Page, job: &Job) -> (&'static str, &'static str) {
    match (job.status, job.wish) {
        (JobStatus::Running, RequestedState::Pause) => (page.s("job-state.pausing"), "warn"),
        (JobStatus::Running, RequestedState::Abort) => (page.s("job-state.stopping"), "warn"),
        (JobStatus::Running, RequestedState::Run) => (page.s("job-state.running"), "accent"),
        (JobStatus::Waiting, _) => (page.s("job-state.waiting"), ""),
        (JobStatus::Paused, _) => (page.s("job-state.paused"), "warn"),
        (JobStatus::Failed, _) => (page.s("job-state.failed"), "bad"),
        (JobStatus::Aborted, _) => (page.s("job-state.aborted"), ""),
        (JobStatus::Incomplete, _) => (page.s("job-state.incomplete"), "warn"),
        (JobStatus::Finished, _) => (page.s("job-state.finished"), ""),
    }
}

#[derive(Template)]
#[template(path = "jobs.html")]
struct JobsPage<'a> {
    page: &'a Page,
    jobs: Vec<JobRow>,
    live: bool,
    older: Option<Id>,
}

/// Shows the list, newest first.
pub async fn list(mut visit: Visit, Query(from): Query<From>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let before = from.before.map(|text| text.parse()).transpose()?;
    let mut jobs = visit.session.jobs(before, PAGE + 1).await?;
    let older = jobs.get(PAGE - 1).map(|job| job.id).filter(|_| jobs.len() > PAGE);
    jobs.truncate(PAGE);
    let people: Vec<Id> = jobs.iter().map(|job| job.created_by).collect();
    let names = visit.session.principal_names(&people).await?;
    let page = &visit.page;
    let live = jobs.iter().any(|job| job.status.is_alive());
    let row = |job: &Job| JobRow::of(page, job, names::name_of(&names, job.created_by));
    let jobs = jobs.iter().map(row).collect();
    Ok(html(&JobsPage { page, jobs, live, older }))
}

#[derive(Template)]
#[template(path = "job.html")]
struct JobPage<'a> {
    page: &'a Page,
    job: JobRow,
    live: bool,
    may_pause: bool,
    may_resume: bool,
    may_abort: bool,
    started: Option<Timestamp>,
    finished: Option<Timestamp>,
    seconds: String,
    results: Vec<(String, String)>,
    /// Users' actions on the job: time, action and user, newest first.
    told: Vec<(Timestamp, &'static str, String)>,
    errors: Vec<JobError>,
    next: Option<String>,
}

/// Shows one job.
pub async fn show(mut visit: Visit, Path(id): Path<String>, Query(from): Query<From>) -> PageResult {
    navigation::fill_farm_side_bar(&mut visit.page, HERE)?;
    let job = visit.session.job(id.parse()?).await?;
    let mut errors = visit.session.job_errors(job.id, &from.after, PAGE + 1).await?;
    let next = errors.get(PAGE - 1).map(|error| error.item.clone()).filter(|_| errors.len() > PAGE);
    errors.truncate(PAGE);
    let told = visit.session.job_events(&job).await?;
    let mut people: Vec<Id> = told.iter().map(|event| event.actor).collect();
    people.push(job.created_by);
    let names = visit.session.principal_names(&people).await?;
    let page = &visit.page;
    let told =
        told.iter().map(|event| (event.at, events::words(page, &event.action), names::name_of(&names, event.actor)));
    let (is_alive, is_stopping) =
        (job.status.is_alive(), job.status == JobStatus::Running && job.wish != RequestedState::Run);
    Ok(html(&JobPage {
        page,
        job: JobRow::of(page, &job, names::name_of(&names, job.created_by)),
        live: is_alive,
        may_pause: is_alive && !is_stopping,
        may_resume: matches!(job.status, JobStatus::Paused | JobStatus::Incomplete | JobStatus::Failed),
        may_abort: !job.status.has_ended() && job.wish != RequestedState::Abort,
        started: job.started_at,
        finished: job.finished_at,
        seconds: words::length(page, job.progress.seconds),
        results: results(page, &job),
        told: told.collect(),
        errors,
        next: next.map(|next| http_core::protocol::segments::encode_query(&next)),
    }))
}

/// Returns the results of a job with their labels.
fn results(page: &Page, job: &Job) -> Vec<(String, String)> {
    let shown = job.progress.results.iter().map(|(name, amount)| {
        let label = page.language.find(&format!("result.{}", name.replace('_', "-")));
        let amount = if name.ends_with("_bytes") { page.size(amount) } else { page.number(amount) };
        (label.map_or_else(|| name.replace('_', " "), ToOwned::to_owned), amount)
    });
    shown.collect()
}

/// Requests a pause, resumption or abort of a job.
pub async fn ask(Path(id): Path<String>, sent: SubmittedForm) -> PageResult {
    let id: Id = id.parse()?;
    let (request, key) = match sent.fields.text("do").as_str() {
        "pause" => (JobRequest::Pause, "toast.job-paused"),
        "resume" => (JobRequest::Resume, "toast.job-resumed"),
        "abort" => (JobRequest::Abort, "toast.job-aborted"),
        _ => return Err(Error::invalid("a job can be paused, resumed or aborted").into()),
    };
    sent.visit.session.ask_job(id, request).await?;
    Ok(done(&format!("{HERE}/{id}"), &Flash::new(key, "")))
}

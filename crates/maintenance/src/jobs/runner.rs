//! Execution of jobs: in a server one full crawl and one other job at a time, on threads with low priority, and in a
//! command that waits for the end.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use database::configuration::job;
use database::{Reader, Transaction};
use futures_util::future::BoxFuture;
use model::{Code, Error, ErrorKind, Id, JobKind, JobPhase, JobStatus, Result, Timestamp};
use repository::{Job, JobProgress, Repository, Session, Storage, Work};

use super::running_job::{Halt, JobResult, LEASE, RunningJob};
use super::{check, collect, crawl, migrate};
use crate::background::{NICE, run_in_background};

/// Polling interval for jobs.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Retention period of ended jobs.
const RETENTION: Duration = Duration::from_secs(90 * 24 * 60 * 60);
/// Maximum time for which a job waits for an unavailable resource, and the minimum and maximum delay between retries.
const MAX_WAIT: Duration = Duration::from_secs(30 * 60);
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Runs the farm's jobs until dropped: one crawl, and one other job at a time. Several servers may do so concurrently;
/// each job has one runner.
#[boxed]
pub async fn run_jobs(repository: Repository) {
    let crawling = repository.clone();
    let crawls = run_in_background("crawls", move || poll_jobs(crawling, Lane::Crawls));
    let others = run_in_background("jobs", move || poll_jobs(repository, Lane::Others));
    tokio::join!(crawls, others);
}

/// The jobs that run one after the other. Crawls do not delay other jobs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lane {
    Crawls,
    Others,
}

async fn poll_jobs(repository: Repository, lane: Lane) {
    let mut tick = tokio::time::interval(POLL_INTERVAL);
    tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tick.tick().await;
        if let Err(error) = run_next(&repository, lane).await {
            tracing::warn!(error = error.report(), "the waiting jobs cannot be read");
            tokio::time::sleep(10 * POLL_INTERVAL).await;
        }
    }
}

/// Runs the oldest ready job, if any.
async fn run_next(repository: &Repository, lane: Lane) -> Result<()> {
    let now = Timestamp::now();
    let session = repository.as_caller(repository.farm_administrator().await?);
    let ready = move |reader: &mut Reader<'_>| job::oldest_ready(reader, lane == Lane::Crawls, now);
    let Some(next) = repository.jobs_database().read(ready).await?.map(|row| row.id) else { return Ok(()) };
    let storage = session.storage().await?;
    let runner = storage.next_id();
    let long_ago = storage.settled_now().await?.before(RETENTION);
    let claim = move |transaction: &mut Transaction<'_>| {
        job::purge(transaction, long_ago)?;
        let now = Timestamp::now();
        job::claim(transaction, next, runner, now, now.after(LEASE))
    };
    if storage.configuration().write_vital(claim).await? {
        run(&storage, next, runner, &|_| {}).await?;
    }
    Ok(())
}

/// Runs a job that `runner` has claimed, until its end or until it must stop.
async fn run(storage: &Storage, id: Id, runner: Id, watch: &(dyn Fn(&JobProgress) + Send + Sync)) -> Result<()> {
    let row = storage.configuration().read(move |reader| job::find(reader, id)).await?;
    let row = row.ok_or_else(|| Error::not_found(format!("there is no job {id}")))?;
    let (work, progress) = match (Work::from_text(&row.payload), JobProgress::from_text(&row.progress)) {
        (Ok(work), Ok(progress)) => (work, progress),
        (Err(error), _) | (_, Err(error)) => {
            let job = RunningJob::new(storage.clone(), id, runner, JobProgress::default());
            return job.end(&Err(Halt::Fault(error))).await;
        }
    };
    tracing::info!(job = %id, kind = work.kind().as_str(), "a job has started");
    let _running = Running::begin();
    let job = RunningJob::new(storage.clone(), id, runner, progress);
    let outcome = {
        let keeping = job.clone().renew_until_lost();
        let watching = async {
            let mut tick = tokio::time::interval(Duration::from_millis(200));
            loop {
                tick.tick().await;
                watch(&job.progress());
            }
        };
        tokio::select! {
            outcome = perform(&job, work) => outcome,
            () = keeping => Err(Halt::Lost),
            () = watching => Err(Halt::Lost),
        }
    };
    watch(&job.progress());
    match &outcome {
        Ok(message) => tracing::info!(job = %id, message, "a job has ended"),
        Err(Halt::Fault(error)) => tracing::error!(job = %id, error = error.report(), "a job failed"),
        Err(Halt::Stopped) => tracing::info!(job = %id, "a job stopped on request"),
        Err(Halt::Lost) => tracing::warn!(job = %id, "a job was taken over by another runner"),
    }
    job.end(&outcome).await
}

/// Counts a job as running until dropped.
struct Running(metrics::Gauge);

impl Running {
    fn begin() -> Self {
        let gauge = metrics::gauge!("strongroom_jobs_running");
        gauge.increment(1);
        Self(gauge)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.decrement(1);
    }
}

/// Performs the work. If a resource becomes unavailable in the middle, it waits, retries, and continues after the
/// finished part.
async fn perform(job: &RunningJob, work: Work) -> JobResult<String> {
    let (mut done, mut pause) = (job.progress().items, FIRST_PAUSE);
    // A job that has made progress before waits for what it needs at once, as after the restart of a server.
    let mut waiting_since = (done > 0).then(Instant::now);
    loop {
        let error = match attempt(job, &work).await {
            Err(Halt::Fault(error)) if is_transient(&error) => error,
            ended => return ended,
        };
        let items = job.progress().items;
        if items > done {
            (done, pause, waiting_since) = (items, FIRST_PAUSE, Some(Instant::now()));
        }
        // A job that never made progress fails at once, so that its caller learns of it. A busy database is an
        // exception, because it is working.
        if is_busy(&error) && waiting_since.is_none() {
            waiting_since = Some(Instant::now());
        }
        if waiting_since.is_none_or(|since| since.elapsed() > MAX_WAIT) {
            return Err(Halt::Fault(error));
        }
        tracing::warn!(job = %job.id, error = error.report(), "a job is waiting to retry after an error");
        job.update_progress(|progress| {
            progress.phase = format!("{}: {}", JobPhase::WaitingToRetry.as_str(), error.message());
        });
        job.wait(pause).await?;
        pause = (pause * 2).min(MAX_PAUSE);
    }
}

/// Returns whether another attempt may succeed after this error.
fn is_transient(error: &Error) -> bool {
    is_busy(error) || error.kind() == ErrorKind::Unavailable && error.code() != Code::DatabaseAway
}

/// Returns whether this error means that a database was overloaded.
fn is_busy(error: &Error) -> bool {
    matches!(error.code(), Code::Overloaded | Code::Busy)
}

async fn attempt(job: &RunningJob, work: &Work) -> JobResult<String> {
    match work {
        Work::Migrate(work) => migrate::run(job, work).await,
        Work::Collect(work) => collect::run(job, work).await,
        Work::Check(work) => check::run(job, work).await,
        Work::Crawl(work) => crawl::run(job, work).await,
    }
}

/// Lowers the priority of all threads of this process, in favour of a server on the same machine.
fn lower_priority() {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return };
    for thread in threads.flatten() {
        let number = thread.file_name().to_str().and_then(|name| name.parse().ok());
        let Some(thread) = number.and_then(rustix::process::Pid::from_raw) else { continue };
        if let Err(error) = rustix::process::setpriority_process(Some(thread), NICE) {
            tracing::debug!(%error, "the priority of a thread cannot be lowered");
        }
    }
}

/// Callback that receives the progress of a job.
type Watch<'a> = Box<dyn Fn(&JobProgress) + Send + Sync + 'a>;

/// Starts a job and runs it in this process. `watch` receives its progress several times per second. The returned job
/// says how the job ended.
///
/// # Errors
/// Those of [`Session::start_job`].
pub fn run_here<'a>(
    session: &'a Session,
    work: Work,
    watch: impl Fn(&JobProgress) + Send + Sync + 'a,
) -> BoxFuture<'a, Result<Job>> {
    start_here(session, work, Box::new(watch))
}

fn start_here<'a>(session: &'a Session, work: Work, watch: Watch<'a>) -> BoxFuture<'a, Result<Job>> {
    Box::pin(async move {
        let storage = session.storage().await?;
        let runner = storage.next_id();
        lower_priority();
        let id = storage.add_job(work, Some((runner, LEASE))).await?;
        run(&storage, id, runner, &*watch).await?;
        storage.job(id).await
    })
}

/// Waits for the end of a job that is queued or running. If no other process runs the job, it is run here, except for a
/// crawl.
///
/// # Errors
/// `Forbidden` for callers other than farm administrators; `NotFound`.
pub fn follow<'a>(
    session: &'a Session,
    id: Id,
    watch: impl Fn(&JobProgress) + Send + Sync + 'a,
) -> BoxFuture<'a, Result<Job>> {
    wait(session, id, Box::new(watch))
}

fn wait<'a>(session: &'a Session, id: Id, watch: Watch<'a>) -> BoxFuture<'a, Result<Job>> {
    Box::pin(async move {
        let storage = session.storage().await?;
        let mut tick = tokio::time::interval(POLL_INTERVAL / 4);
        let runner = storage.next_id();
        // A server of the farm gets the first chance to run the job.
        tick.tick().await;
        let begun = tokio::time::Instant::now();
        loop {
            let job = storage.job(id).await?;
            watch(&job.progress);
            if job.status.has_ended() || job.status == JobStatus::Paused {
                return Ok(job);
            }
            // Only servers read documents.
            if begun.elapsed() > 3 * POLL_INTERVAL && job.work.kind() != JobKind::Crawl {
                let claim = move |transaction: &mut Transaction<'_>| {
                    let now = Timestamp::now();
                    job::claim(transaction, id, runner, now, now.after(LEASE))
                };
                if storage.configuration().write_vital(claim).await? {
                    run(&storage, id, runner, &*watch).await?;
                    continue;
                }
            }
            tick.tick().await;
        }
    })
}

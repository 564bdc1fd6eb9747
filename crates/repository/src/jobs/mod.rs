//! Jobs: long work on the farm's storage that is requested once, runs in the background, can be paused and aborted, and
//! survives the process that runs it.
//!
//! A job's task is its [`Work`], stored as JSON with a version; its progress is its [`JobProgress`]. This module
//! defines jobs and the requests to them, not how they are carried out.

mod work;

use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::configuration::job::{self, JobRow};
use database::{Reader, Transaction};
use model::{Code, Error, Id, JobKind, JobState, JobStatus, RequestedState, Result, Timestamp};

use crate::session::idempotency::IdempotencyKey;
use crate::{Session, Storage};

pub use database::configuration::job::JobError;
pub use work::{
    CheckWork, CollectWork, CrawlWork, DEFAULT_WINDOW_DAYS, JobProgress, LACKING_CHANGES, MigrateWork, QUARANTINE_DAYS,
    Work,
};

/// Limit on the full crawls that are listed.
const MAX_CRAWLS: usize = 20;

/// A job as administrators see it.
#[derive(Clone, Debug)]
pub struct Job {
    /// Identifier.
    pub id: Id,
    /// Its task.
    pub work: Work,
    /// Its state, which also says whether items failed.
    pub status: JobStatus,
    /// Latest request to its runner.
    pub wish: RequestedState,
    /// Progress.
    pub progress: JobProgress,
    /// Outcome.
    pub message: String,
    /// Time of the request.
    pub created_at: Timestamp,
    /// User who requested it.
    pub created_by: Id,
    /// Time of the first start.
    pub started_at: Option<Timestamp>,
    /// Time of the end.
    pub finished_at: Option<Timestamp>,
}

impl Job {
    fn read(row: JobRow) -> Result<Self> {
        let progress = JobProgress::from_text(&row.progress)?;
        Ok(Self {
            id: row.id,
            work: Work::from_text(&row.payload)?,
            status: JobStatus::new(row.state, progress.failed),
            wish: row.wish,
            progress,
            message: row.message,
            created_at: row.created_at,
            created_by: row.created_by,
            started_at: row.started_at,
            finished_at: row.finished_at,
        })
    }
}

/// A request to a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobRequest {
    /// Stop at the current position, until resumed.
    Pause,
    /// Continue, also after a failure; failed items are retried.
    Resume,
    /// Stop permanently. Completed work is kept.
    Abort,
}

impl Session {
    /// Requests a job. A server of the farm starts it within seconds.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`, `Conflict` and `Invalid` for work that cannot
    /// be done.
    #[boxed]
    pub async fn start_job(&self, work: Work) -> Result<Job> {
        let storage = self.storage().await?;
        let id = insert(&storage, work, None, self.repetition.clone()).await?;
        storage.job(id).await
    }

    /// Returns jobs, newest first, older than `before`.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn jobs(&self, before: Option<Id>, limit: usize) -> Result<Vec<Job>> {
        let storage = self.storage().await?;
        let rows = storage.configuration().read(move |reader| job::list(reader, before, limit)).await?;
        rows.into_iter().map(Job::read).collect()
    }

    /// Returns the latest full crawls, newest first, at most 20. A crawl that has not ended is among them, unless more
    /// than 20 wait.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn full_crawls(&self) -> Result<Vec<Job>> {
        let storage = self.storage().await?;
        let read = |reader: &mut Reader<'_>| job::list_kind(reader, JobKind::Crawl, MAX_CRAWLS);
        storage.configuration().read(read).await?.into_iter().map(Job::read).collect()
    }

    /// Returns one job.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`.
    #[boxed]
    pub async fn job(&self, id: Id) -> Result<Job> {
        self.storage().await?.job(id).await
    }

    /// Returns the items on which a job failed, ordered by item, after `after`.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator.
    #[boxed]
    pub async fn job_errors(&self, id: Id, after: &str, limit: usize) -> Result<Vec<JobError>> {
        let (storage, after) = (self.storage().await?, after.to_owned());
        storage.configuration().read(move |reader| job::errors(reader, id, &after, limit)).await
    }

    /// Sends a request to a job.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`; `Conflict` when the job has ended and cannot
    /// be paused or aborted, or when it is running or aborted and cannot be resumed.
    #[boxed]
    pub async fn ask_job(&self, id: Id, request: JobRequest) -> Result<Job> {
        let storage = self.storage().await?;
        let before = storage.job(id).await?;
        let recording = storage.clone();
        let write = move |transaction: &mut Transaction<'_>| {
            let now = Timestamp::now();
            let (done, action) = match request {
                JobRequest::Pause => {
                    let wished = job::wish(transaction, id, RequestedState::Pause)?;
                    job::set_idle_state(transaction, id, JobState::Paused, None)?;
                    (wished, "job.pause")
                }
                JobRequest::Abort => {
                    let wished = job::wish(transaction, id, RequestedState::Abort)?;
                    job::set_idle_state(transaction, id, JobState::Aborted, Some(now))?;
                    (wished, "job.abort")
                }
                JobRequest::Resume => (job::retry(transaction, id)?, "job.resume"),
            };
            if !done {
                let state = job::find(transaction, id)?.map(|row| (row.state, row.wish));
                return Err(Error::conflict(refusal(request, state)).with_code(Code::JobState));
            }
            recording.record(transaction, action, &format!("{} {id}", before.work.kind()), "")
        };
        storage.configuration().write(write).await?;
        storage.job(id).await
    }
}

/// Explains why a request to a job in this state was refused.
fn refusal(request: JobRequest, state: Option<(JobState, RequestedState)>) -> &'static str {
    match (request, state) {
        (JobRequest::Resume, Some((JobState::Running, RequestedState::Pause))) => {
            "the job is being paused and has not stopped yet: resume it in a few seconds, once it is paused"
        }
        (JobRequest::Resume, Some((JobState::Aborted, _) | (JobState::Running, RequestedState::Abort))) => {
            "the job was ended for good: start a new one"
        }
        (JobRequest::Resume, _) => "the job is running or is waiting to run",
        (JobRequest::Pause | JobRequest::Abort, _) => "the job has ended",
    }
}

impl Storage {
    /// Adds a job. With a runner and a lease duration, that runner claims the job at once.
    ///
    /// # Errors
    /// `NotFound`, `Conflict` and `Invalid` for work that cannot be done.
    #[boxed]
    pub async fn add_job(&self, work: Work, runner: Option<(Id, Duration)>) -> Result<Id> {
        insert(self, work, runner, IdempotencyKey::default()).await
    }

    /// Returns one job.
    ///
    /// # Errors
    /// `NotFound`.
    #[boxed]
    pub async fn job(&self, id: Id) -> Result<Job> {
        let row = self.configuration().read(move |reader| job::find(reader, id)).await?;
        Job::read(row.ok_or_else(|| Error::not_found(format!("there is no job {id}")))?)
    }
}

/// Adds a job, unless the same request has already done so.
async fn insert(
    storage: &Storage,
    work: Work,
    runner: Option<(Id, Duration)>,
    repetition: IdempotencyKey,
) -> Result<Id> {
    work.check(storage)?;
    let (id, kind, payload) = (storage.next_id(), work.kind(), work.to_text()?);
    let recording = storage.clone();
    let write = move |transaction: &mut Transaction<'_>| {
        if let Some(added) = repetition.find(transaction)? {
            return Ok(added);
        }
        let now = Timestamp::now();
        job::insert(transaction, id, kind, &payload, now, recording.actor())?;
        if let Some((runner, lease)) = runner {
            job::claim(transaction, id, runner, now, now.after(lease))?;
        }
        recording.record(transaction, "job.start", &format!("{kind} {id}"), &payload)?;
        repetition.store_result(transaction, id)?;
        Ok(id)
    };
    storage.configuration().write(write).await
}

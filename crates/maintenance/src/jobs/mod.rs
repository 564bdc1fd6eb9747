//! Jobs: long work on the farm's storage that is asked for once, goes on in the background, can be paused and ended, and
//! survives the process that does it.
//!
//! What a job is asked to do is its [`Work`], stored as JSON with a version; how far it is, its [`Figures`]. One file for
//! each kind of work. This module knows the life of a job, not what it does.

mod check;
mod collect;
mod migrate;
mod reclaim;
mod runner;
mod throttle;
mod ticket;

use database::Transaction;
use database::configuration::job::{self, JobError, JobRow};
use model::{Error, Id, Result, Timestamp};
use repository::{Session, Storage};
use serde::{Deserialize, Serialize};

pub use check::CheckWork;
pub use collect::{CollectWork, DEFAULT_WINDOW_DAYS};
pub use migrate::MigrateWork;
pub use reclaim::{PendingReclaim, pending_reclaim};
pub use runner::{follow, run_here, run_jobs};
pub use ticket::Figures;

/// Version of the stored JSON of work and figures.
const VERSION: u32 = 1;

/// What a job is asked to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Work {
    /// Move BLOBs from store to store.
    Migrate(MigrateWork),
    /// Remove BLOBs that nothing refers to.
    Collect(CollectWork),
    /// Re-read BLOBs and follow references.
    Check(CheckWork),
}

#[derive(Serialize, Deserialize)]
struct Envelope<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

impl Work {
    /// The word for the kind of work.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Migrate(_) => "migrate",
            Self::Collect(_) => "collect",
            Self::Check(_) => "check",
        }
    }
}

fn to_text<T: Serialize>(content: &T) -> Result<String> {
    serde_json::to_string(&Envelope { version: VERSION, content })
        .map_err(|error| Error::invalid("a job cannot be written down").with_source(error))
}

fn from_text<T: for<'de> Deserialize<'de>>(text: &str) -> Result<T> {
    let newer = |error| {
        Error::invalid("a job was written by another version of Strongroom, and this one cannot read it")
            .with_source(error)
    };
    let version: Envelope<serde_json::Value> = serde_json::from_str(text).map_err(newer)?;
    if version.version != VERSION {
        return Err(Error::invalid(format!(
            "a job was written by a newer version of Strongroom (format {}): run that version",
            version.version
        )));
    }
    serde_json::from_value(version.content).map_err(newer)
}

/// A job as people see it.
#[derive(Clone, Debug)]
pub struct Job {
    /// Identifier.
    pub id: Id,
    /// What it does.
    pub work: Work,
    /// `waiting`, `running`, `paused`, `finished`, `failed` or `aborted`.
    pub state: String,
    /// What its runner was asked for last: `run`, `pause` or `abort`.
    pub wish: String,
    /// How far it is.
    pub figures: Figures,
    /// How it ended.
    pub message: String,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// By whom.
    pub created_by: Id,
    /// When it was begun first.
    pub started_at: Option<Timestamp>,
    /// When it ended.
    pub finished_at: Option<Timestamp>,
}

impl Job {
    fn read(row: JobRow) -> Result<Self> {
        let figures = if row.progress.is_empty() { Figures::default() } else { from_text(&row.progress)? };
        Ok(Self {
            id: row.id,
            work: from_text(&row.payload)?,
            state: row.state,
            wish: row.wish,
            figures,
            message: row.message,
            created_at: row.created_at,
            created_by: row.created_by,
            started_at: row.started_at,
            finished_at: row.finished_at,
        })
    }

    /// Whether nothing happens any more unless somebody asks for it.
    pub fn has_ended(&self) -> bool {
        matches!(self.state.as_str(), "finished" | "failed" | "aborted")
    }
}

/// What can be asked of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Stop where it is, and stay there.
    Pause,
    /// Go on, also after it failed; what could not be done is tried again.
    Resume,
    /// Stop for good. What is done stays done.
    Abort,
}

/// Asks for a job. A server of the farm begins it within seconds.
///
/// Errors: `Forbidden` for others than farm administrators; `NotFound` and `Invalid` for work that cannot be done.
pub async fn start(session: &Session, work: Work) -> Result<Job> {
    let storage = session.storage().await?;
    let id = insert(&storage, work, None).await?;
    find(&storage, id).await
}

/// Adds a job; with `runner`, one that is claimed by it at once.
async fn insert(storage: &Storage, work: Work, runner: Option<Id>) -> Result<Id> {
    match &work {
        Work::Migrate(work) => work.check(storage)?,
        Work::Collect(work) => work.check()?,
        Work::Check(work) => work.check(storage)?,
    }
    let (id, kind, payload) = (storage.next_id(), work.kind(), to_text(&work)?);
    let recording = storage.clone();
    let write = move |transaction: &mut Transaction<'_>| {
        let now = Timestamp::now();
        job::insert(transaction, id, kind, &payload, now, recording.actor())?;
        if let Some(runner) = runner {
            job::claim(transaction, id, runner, now, now.after(ticket::LEASE))?;
        }
        recording.record(transaction, "job.start", &format!("{kind} {id}"), &payload)
    };
    storage.configuration().write(write).await?;
    Ok(id)
}

/// Jobs, newest first, before `before`.
///
/// Errors: `Forbidden` for others than farm administrators.
pub async fn list(session: &Session, before: Option<Id>, limit: usize) -> Result<Vec<Job>> {
    let storage = session.storage().await?;
    let rows = storage.configuration().read(move |reader| job::list(reader, before, limit)).await?;
    rows.into_iter().map(Job::read).collect()
}

/// One job.
///
/// Errors: `Forbidden` for others than farm administrators; `NotFound`.
pub async fn show(session: &Session, id: Id) -> Result<Job> {
    find(&session.storage().await?, id).await
}

async fn find(storage: &Storage, id: Id) -> Result<Job> {
    let row = storage.configuration().read(move |reader| job::find(reader, id)).await?;
    Job::read(row.ok_or_else(|| Error::not_found(format!("there is no job {id}")))?)
}

/// What a job could not do, by item, behind `after`.
///
/// Errors: `Forbidden` for others than farm administrators.
pub async fn errors(session: &Session, id: Id, after: &str, limit: usize) -> Result<Vec<JobError>> {
    let (storage, after) = (session.storage().await?, after.to_owned());
    storage.configuration().read(move |reader| job::errors(reader, id, &after, limit)).await
}

/// Asks something of a job.
///
/// Errors: `Forbidden` for others than farm administrators; `NotFound`; `Conflict` when it has ended and cannot be paused
/// or aborted, or runs and cannot be resumed.
pub async fn ask(session: &Session, id: Id, request: Request) -> Result<Job> {
    let storage = session.storage().await?;
    let before = find(&storage, id).await?;
    let recording = storage.clone();
    let write = move |transaction: &mut Transaction<'_>| {
        let now = Timestamp::now();
        let (done, action) = match request {
            Request::Pause => {
                let wished = job::wish(transaction, id, "pause")?;
                job::settle(transaction, id, "paused", None)?;
                (wished, "job.pause")
            }
            Request::Abort => {
                let wished = job::wish(transaction, id, "abort")?;
                job::settle(transaction, id, "aborted", Some(now))?;
                (wished, "job.abort")
            }
            Request::Resume => (job::retry(transaction, id)?, "job.resume"),
        };
        if !done {
            return Err(Error::conflict(match request {
                Request::Resume => "the job is running or waits to be run",
                Request::Pause | Request::Abort => "the job has ended",
            })
            .with_code("job_state"));
        }
        recording.record(transaction, action, &format!("{} {id}", before.work.kind()), "")
    };
    storage.configuration().write(write).await?;
    find(&storage, id).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_jobs_of_the_first_version_are_read() {
        let text = r#"{"version":1,"kind":"migrate","database":"main","from":"database","to":"files","minimum_size":65536,"maximum_size":null,"older_than_days":30,"unread_days":null,"library":null,"rate":1000000,"limit":10}"#;
        let work: Work = from_text(text).unwrap();
        assert_eq!(to_text(&work).unwrap(), text);
        let Work::Migrate(work) = work else { panic!("{work:?}") };
        assert_eq!((work.to.as_deref(), work.minimum_size, work.limit), (Some("files"), Some(65_536), Some(10)));
    }

    #[test]
    fn jobs_of_a_newer_version_are_refused() {
        let error = from_text::<Work>(r#"{"version":2,"kind":"migrate"}"#).unwrap_err();
        assert!(error.message().contains("newer version"), "{error}");
    }
}

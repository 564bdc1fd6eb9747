//! Jobs: background work that survives the process that runs it, and can be paused and aborted.
//!
//! The runner of a job holds a lease and renews it. When the lease has expired, another process may continue the job.

use std::time::Duration;

use model::{Id, JobKind, JobState, RequestedState, Result, Timestamp};

use crate::{Reader, Row, Transaction, params, statements};

/// The columns that [`read`] expects, in its order.
macro_rules! columns {
    () => {
        "id, kind, state, wish, payload, progress, message, runner, lease_until, created_at, created_by,
        started_at, finished_at"
    };
}

statements! {
    INSERT = "INSERT INTO job (id, kind, state, wish, payload, progress, message, runner, lease_until, created_at,
        created_by)
        VALUES ($1, $2, 'waiting', 'run', $3, '', '', 0, 0, $4, $5)";
    FIND = concat!("SELECT ", columns!(), " FROM job WHERE id = $1");
    LIST = concat!("SELECT ", columns!(), " FROM job WHERE id < $1 ORDER BY id DESC LIMIT $2");
    LIST_KIND = concat!("SELECT ", columns!(), " FROM job WHERE kind = $1 ORDER BY id DESC LIMIT $2");
    READY = concat!("SELECT ", columns!(),
        " FROM job WHERE (state = 'waiting' OR (state = 'running' AND (lease_until < $1 OR lease_until > $2)))
        AND CASE WHEN kind = 'crawl' THEN 1 ELSE 0 END = $3 ORDER BY id LIMIT 1");
    CLAIM = "UPDATE job SET state = 'running', runner = $2, lease_until = $4, started_at = COALESCE(started_at, $3)
        WHERE id = $1 AND (state = 'waiting' OR (state = 'running' AND (lease_until < $3 OR lease_until > $5)))";
    RENEW = "UPDATE job SET lease_until = $3, progress = $4 WHERE id = $1 AND runner = $2 AND state = 'running'";
    END = "UPDATE job SET state = $3, progress = $4, message = $5, finished_at = $6, runner = 0, lease_until = 0
        WHERE id = $1 AND runner = $2 AND state = 'running'";
    WISH = "UPDATE job SET wish = $2 WHERE id = $1 AND state IN ('waiting', 'running', 'paused')";
    SETTLE = "UPDATE job SET state = $2, finished_at = $3 WHERE id = $1 AND state IN ('waiting', 'paused')";
    RETRY = "UPDATE job SET state = 'waiting', wish = 'run', finished_at = NULL, message = ''
        WHERE id = $1 AND state IN ('failed', 'finished', 'paused')";
    PUT_ERROR = "INSERT INTO job_error (job_id, item, message, attempts, at) VALUES ($1, $2, $3, 1, $4)
        ON CONFLICT (job_id, item) DO UPDATE SET message = excluded.message, attempts = job_error.attempts + 1, at =
        excluded.at";
    FORGET_ERRORS = "DELETE FROM job_error WHERE job_id = $1 AND at < $2";
    LIST_ERRORS = "SELECT item, message, attempts, at FROM job_error WHERE job_id = $1 AND item > $2 ORDER BY item
        LIMIT $3";
    PURGE = "DELETE FROM job WHERE state IN ('finished', 'aborted') AND finished_at < $1";
}

/// A stored job.
#[derive(Clone, Debug)]
pub struct JobRow {
    /// Identifier.
    pub id: Id,
    /// Kind of work: the word of a [`JobKind`]. A newer server of the farm may have added a job of a kind that this
    /// program does not know. Such a job must fail alone and not keep the others from being listed and run.
    pub kind: String,
    /// State.
    pub state: JobState,
    /// Latest request to the runner.
    pub wish: RequestedState,
    /// The work to do, as JSON with a version.
    pub payload: String,
    /// Progress and the point at which to resume, as JSON; empty before the first report.
    pub progress: String,
    /// The outcome as a message for people.
    pub message: String,
    /// The server or command that runs the job.
    pub runner: Id,
    /// End of the lease. After it the runner counts as dead.
    pub lease_until: Timestamp,
    /// Time of the request.
    pub created_at: Timestamp,
    /// User who requested it.
    pub created_by: Id,
    /// Time of the first start.
    pub started_at: Option<Timestamp>,
    /// Time of the end.
    pub finished_at: Option<Timestamp>,
}

/// An error of a job.
#[derive(Clone, Debug)]
pub struct JobError {
    /// Subject.
    pub item: String,
    /// Description of what happened.
    pub message: String,
    /// Number of attempts.
    pub attempts: i64,
    /// Time of the last attempt.
    pub at: Timestamp,
}

fn read(row: &Row<'_>) -> Result<JobRow> {
    Ok(JobRow {
        id: row.get(0)?,
        kind: row.get(1)?,
        state: row.get(2)?,
        wish: row.get(3)?,
        payload: row.get(4)?,
        progress: row.get(5)?,
        message: row.get(6)?,
        runner: row.get(7)?,
        lease_until: row.get(8)?,
        created_at: row.get(9)?,
        created_by: row.get(10)?,
        started_at: row.get(11)?,
        finished_at: row.get(12)?,
    })
}

/// Adds a job that waits for a runner.
pub fn insert(
    transaction: &mut Transaction<'_>,
    id: Id,
    kind: JobKind,
    payload: &str,
    now: Timestamp,
    by: Id,
) -> Result<()> {
    transaction.execute(INSERT, &params![id, kind, payload, now, by]).map(drop)
}

/// The job with this identifier.
pub fn find(reader: &mut Reader<'_>, id: Id) -> Result<Option<JobRow>> {
    reader.find(FIND, &params![id], read)
}

/// Jobs older than `before`, newest first.
pub fn list(reader: &mut Reader<'_>, before: Option<Id>, limit: usize) -> Result<Vec<JobRow>> {
    reader.query(LIST, &params![before.unwrap_or(Id::new(i64::MAX)), limit as i64], read)
}

/// Jobs of a kind, newest first.
pub fn list_kind(reader: &mut Reader<'_>, kind: JobKind, limit: usize) -> Result<Vec<JobRow>> {
    reader.query(LIST_KIND, &params![kind, limit as i64], read)
}

/// The oldest job that waits for a runner or whose runner's lease has expired, among the crawls or all other jobs.
pub fn oldest_ready(reader: &mut Reader<'_>, crawls: bool, now: Timestamp) -> Result<Option<JobRow>> {
    reader.find(READY, &params![now, now.after(MAX_LEASE), i64::from(crawls)], read)
}

/// Upper bound on a plausible lease. A lease that ends later was granted by a clock that ran ahead and is ignored.
const MAX_LEASE: Duration = Duration::from_secs(60 * 60);

/// Takes the lease of a job that is ready. Returns false if another runner was faster.
pub fn claim(transaction: &mut Transaction<'_>, id: Id, runner: Id, now: Timestamp, until: Timestamp) -> Result<bool> {
    Ok(transaction.execute(CLAIM, &params![id, runner, now, until, now.after(MAX_LEASE)])? == 1)
}

/// Renews the lease and stores the progress. Returns false if the lease was lost.
pub fn renew(transaction: &mut Transaction<'_>, id: Id, runner: Id, until: Timestamp, progress: &str) -> Result<bool> {
    Ok(transaction.execute(RENEW, &params![id, runner, until, progress])? == 1)
}

/// Gives up the lease and leaves the job in `state`. Returns false if the lease was lost.
pub fn end(
    transaction: &mut Transaction<'_>,
    id: Id,
    runner: Id,
    state: JobState,
    progress: &str,
    message: &str,
    finished: Option<Timestamp>,
) -> Result<bool> {
    Ok(transaction.execute(END, &params![id, runner, state, progress, message, finished])? == 1)
}

/// Sets the request to a job's runner. Returns false if the job has ended.
pub fn wish(transaction: &mut Transaction<'_>, id: Id, wish: RequestedState) -> Result<bool> {
    Ok(transaction.execute(WISH, &params![id, wish])? == 1)
}

/// Changes the state of a job that waits or is paused. Returns false if the job is running or has ended.
pub fn set_idle_state(
    transaction: &mut Transaction<'_>,
    id: Id,
    state: JobState,
    finished: Option<Timestamp>,
) -> Result<bool> {
    Ok(transaction.execute(SETTLE, &params![id, state, finished])? == 1)
}

/// Puts a finished, failed or paused job back into the waiting state. Returns false if the job is in any other state,
/// such as aborted.
pub fn retry(transaction: &mut Transaction<'_>, id: Id) -> Result<bool> {
    Ok(transaction.execute(RETRY, &params![id])? == 1)
}

/// Records an item of work that failed.
pub fn put_error(transaction: &mut Transaction<'_>, id: Id, item: &str, message: &str, now: Timestamp) -> Result<()> {
    transaction.execute(PUT_ERROR, &params![id, item, message, now]).map(drop)
}

/// Deletes the errors from before `before`, because those items have succeeded since.
pub fn forget_errors(transaction: &mut Transaction<'_>, id: Id, before: Timestamp) -> Result<()> {
    transaction.execute(FORGET_ERRORS, &params![id, before]).map(drop)
}

/// The errors of a job in order of item, starting after the item `after`.
pub fn errors(reader: &mut Reader<'_>, id: Id, after: &str, limit: usize) -> Result<Vec<JobError>> {
    reader.query(LIST_ERRORS, &params![id, after, limit as i64], |row| {
        Ok(JobError { item: row.get(0)?, message: row.get(1)?, attempts: row.get(2)?, at: row.get(3)? })
    })
}

/// Deletes finished and aborted jobs that ended before `before`.
pub fn purge(transaction: &mut Transaction<'_>, before: Timestamp) -> Result<u64> {
    transaction.execute(PURGE, &params![before])
}

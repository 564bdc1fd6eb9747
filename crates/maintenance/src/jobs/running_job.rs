//! State of a running job: its lease, its progress, and requests to stop.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use database::configuration::job;
use database::{ExclusiveRight, Transaction};
use model::{Error, Id, JobState, RequestedState, Result, Timestamp};
use repository::{DELETION_LOCK, JobProgress, Storage};
use tokio::sync::watch;

/// Term of a job's lease. A runner without a heartbeat for this long counts as dead.
pub(super) const LEASE: Duration = Duration::from_secs(10);
/// Interval between heartbeats.
const RENEW: Duration = Duration::from_secs(2);

/// Maximum polling interval for a lock that another process holds.
const MAX_LOCK_POLL: Duration = Duration::from_millis(100);
const SHORTEST_PAUSE: Duration = Duration::from_millis(5);

/// Reason for stopping a job before its end.
pub(super) enum Halt {
    /// A request to pause or abort, or the end of the job's time limit.
    Stopped,
    /// Another runner has taken the job.
    Lost,
    /// An error that ends the job.
    Fault(Error),
}

impl From<Error> for Halt {
    fn from(error: Error) -> Self {
        Self::Fault(error)
    }
}

/// Result of a unit of work, which stops at the first halt.
pub(super) type JobResult<T> = std::result::Result<T, Halt>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Request {
    Run,
    Stop,
    Lost,
}

/// A job run by this process.
pub(super) struct RunningJob {
    pub(super) id: Id,
    runner: Id,
    storage: Storage,
    progress: Mutex<JobProgress>,
    before: u64,
    started: Instant,
    wish: watch::Sender<Request>,
    /// Failed items that have not been saved yet.
    unwritten: Mutex<Vec<(String, String)>>,
    failures: AtomicU64,
    /// Time in microseconds at which the retry of all earlier failures began.
    tried_again: AtomicI64,
}

impl RunningJob {
    pub(super) fn new(storage: Storage, id: Id, runner: Id, progress: JobProgress) -> Arc<Self> {
        Arc::new(Self {
            id,
            runner,
            storage,
            before: progress.seconds,
            tried_again: AtomicI64::new(progress.tried_again),
            failures: AtomicU64::new(progress.failed),
            progress: Mutex::new(progress),
            started: Instant::now(),
            wish: watch::Sender::new(Request::Run),
            unwritten: Mutex::default(),
        })
    }

    pub(super) fn storage(&self) -> &Storage {
        &self.storage
    }

    /// Returns the current progress.
    pub(super) fn progress(&self) -> JobProgress {
        let mut progress = self.lock().clone();
        progress.seconds = self.before + self.started.elapsed().as_secs();
        progress.failed = self.failures.load(Ordering::Relaxed);
        progress.tried_again = self.tried_again.load(Ordering::Relaxed);
        progress
    }

    /// Changes the progress.
    pub(super) fn update_progress(&self, change: impl FnOnce(&mut JobProgress)) {
        change(&mut self.lock());
    }

    /// Adds to a named result.
    pub(super) fn count(&self, name: &str, amount: u64) {
        *self.lock().results.entry(name.to_owned()).or_default() += amount;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, JobProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an error if the job must stop. Called between any two steps.
    pub(super) fn check_stop(&self) -> JobResult<()> {
        match *self.wish.borrow() {
            Request::Run => Ok(()),
            Request::Stop => Err(Halt::Stopped),
            Request::Lost => Err(Halt::Lost),
        }
    }

    /// Waits, but returns early when the job must stop.
    pub(super) async fn wait(&self, time: Duration) -> JobResult<()> {
        let mut wish = self.wish.subscribe();
        let stopped = wish.wait_for(|wish| *wish != Request::Run);
        let _ = tokio::time::timeout(time, stopped).await;
        self.check_stop()
    }

    /// Waits for the farm-wide lock for deleting BLOB copies, which one process holds at a time.
    pub(super) async fn deletion_lock(&self) -> JobResult<ExclusiveRight> {
        // The holder usually needs the lock for a moment only.
        let mut pause = SHORTEST_PAUSE;
        loop {
            if let Some(deletion_lock) = self.storage.configuration().try_exclusive(DELETION_LOCK).await? {
                return Ok(deletion_lock);
            }
            self.wait(pause).await?;
            pause = (pause * 2).min(MAX_LOCK_POLL);
        }
    }

    /// Records a failed item. The job continues without it.
    pub(super) fn fail(&self, item: impl Into<String>, error: &Error) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut unwritten = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner);
        unwritten.push((item.into(), error.message().to_owned()));
    }

    /// Forgets the errors of an earlier run, because everything is retried. The count is reset now. Each stored error
    /// is removed when the job finishes, unless it has occurred again. That may happen in another process.
    pub(super) fn forget_failures(&self) {
        self.failures.store(0, Ordering::Relaxed);
        self.tried_again.store(Timestamp::now().micros(), Ordering::Relaxed);
    }

    /// Saves the progress and the failed items, renews the lease, and reads requests to stop.
    pub(super) async fn save(&self) -> JobResult<()> {
        let (id, runner, progress) = (self.id, self.runner, self.progress().to_text()?);
        // The failed items are removed only after they are saved: the caller may be cancelled while it waits for the
        // write.
        let errors = self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let written = errors.clone();
        let write = move |transaction: &mut Transaction<'_>| {
            let now = Timestamp::now();
            let is_ours = job::renew(transaction, id, runner, now.after(LEASE), &progress)?;
            if is_ours {
                for (item, message) in &errors {
                    job::put_error(transaction, id, item, message, now)?;
                }
            }
            let row = job::find(transaction, id)?;
            Ok((is_ours, row.map(|row| row.wish)))
        };
        let (is_ours, wish) = self.storage.configuration().write_vital(write).await?;
        self.unwritten.lock().unwrap_or_else(PoisonError::into_inner).retain(|one| !written.contains(one));
        let wish = match (is_ours, wish) {
            (false, _) => Request::Lost,
            (true, Some(RequestedState::Run)) => Request::Run,
            (true, Some(RequestedState::Pause | RequestedState::Abort) | None) => Request::Stop,
        };
        self.wish.send_replace(wish);
        self.check_stop()
    }

    /// Sends heartbeats until dropped. Returns when the job is lost.
    pub(super) async fn renew_until_lost(self: Arc<Self>) {
        let mut tick = tokio::time::interval(RENEW);
        let mut last = Instant::now();
        loop {
            tick.tick().await;
            match self.save().await {
                Ok(()) | Err(Halt::Stopped) => last = Instant::now(),
                Err(Halt::Lost) => return,
                Err(Halt::Fault(error)) => {
                    tracing::warn!(job = %self.id, error = error.report(), "a job's progress cannot be recorded");
                    if last.elapsed() > LEASE {
                        self.wish.send_replace(Request::Lost);
                        return;
                    }
                }
            }
        }
    }

    /// Releases the job and records its outcome.
    pub(super) async fn end(&self, outcome: &JobResult<String>) -> Result<()> {
        // Saves the remaining failed items. A lost job belongs to another runner, so nothing is saved for it.
        let _ = self.save().await;
        let (id, runner, progress) = (self.id, self.runner, self.progress().to_text()?);
        let (ended, message) = match outcome {
            Ok(message) => (Some(JobState::Finished), message.clone()),
            Err(Halt::Fault(error)) => (Some(JobState::Failed), error.report()),
            Err(Halt::Lost) => return Ok(()),
            Err(Halt::Stopped) => (None, String::new()),
        };
        let tried_again = Timestamp::from_micros(self.tried_again.load(Ordering::Relaxed));
        let write = move |transaction: &mut Transaction<'_>| {
            let now = Timestamp::now();
            if ended == Some(JobState::Finished) {
                job::forget_errors(transaction, id, tried_again)?;
            }
            let wish = job::find(transaction, id)?.map(|row| row.wish);
            let state = match (ended, wish) {
                (Some(state), _) => state,
                (None, Some(RequestedState::Abort)) => JobState::Aborted,
                // A job that reaches its time limit stops without a request.
                (None, Some(RequestedState::Run | RequestedState::Pause) | None) => JobState::Paused,
            };
            let finished = (state != JobState::Paused).then_some(now);
            job::end(transaction, id, runner, state, &progress, &message, finished).map(drop)
        };
        self.storage.configuration().write_vital(write).await
    }
}

#[cfg(test)]
mod tests {
    use database::configuration::job;
    use model::JobStatus;
    use repository::{CheckWork, JobRequest, Options, Repository, Session, Work};

    use super::*;

    /// Claims a queued job.
    async fn claimed(storage: &Storage, id: Id) -> Arc<RunningJob> {
        let (runner, now) = (storage.next_id(), Timestamp::now());
        let claim = move |transaction: &mut Transaction<'_>| {
            assert!(job::claim(transaction, id, runner, now, now.after(LEASE))?);
            Ok(job::find(transaction, id)?.unwrap().progress)
        };
        let progress = storage.configuration().write(claim).await.unwrap();
        RunningJob::new(storage.clone(), id, runner, JobProgress::from_text(&progress).unwrap())
    }

    async fn state(session: &Session, id: Id) -> (JobStatus, Vec<String>) {
        let errors = session.job_errors(id, "", 10).await.unwrap();
        (session.job(id).await.unwrap().status, errors.into_iter().map(|error| error.item).collect())
    }

    #[tokio::test]
    async fn what_was_done_after_all_is_no_error_any_more_though_another_process_ends_the_job() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            directory: directory.path().to_owned(),
            configuration: None,
            content: None,
            administrator_password: Some("correct horse battery".into()),
            create: true,
        };
        let (repository, _) = Repository::open(&options).await.unwrap();
        let session = repository.as_caller(repository.farm_administrator().await.unwrap());
        let storage = session.storage().await.unwrap();
        let id = storage.add_job(Work::Check(CheckWork::default()), None).await.unwrap();
        let broken = Error::unavailable("it does not answer");

        let first = claimed(&storage, id).await;
        first.fail("one", &broken);
        first.fail("two", &broken);
        first.end(&Ok("done".to_owned())).await.unwrap();
        assert_eq!(state(&session, id).await, (JobStatus::Incomplete, vec!["one".to_owned(), "two".to_owned()]));

        session.ask_job(id, JobRequest::Resume).await.unwrap();
        let second = claimed(&storage, id).await;
        second.forget_failures();
        second.fail("two", &broken);
        second.end(&Err(Halt::Fault(Error::unavailable("the disk is away")))).await.unwrap();
        session.ask_job(id, JobRequest::Resume).await.unwrap();
        claimed(&storage, id).await.end(&Ok("done".to_owned())).await.unwrap();
        assert_eq!(state(&session, id).await, (JobStatus::Incomplete, vec!["two".to_owned()]));

        session.ask_job(id, JobRequest::Resume).await.unwrap();
        let third = claimed(&storage, id).await;
        third.forget_failures();
        third.end(&Err(Halt::Fault(Error::unavailable("the disk is away")))).await.unwrap();
        session.ask_job(id, JobRequest::Resume).await.unwrap();
        claimed(&storage, id).await.end(&Ok("done".to_owned())).await.unwrap();
        assert_eq!(state(&session, id).await, (JobStatus::Finished, Vec::new()));
        repository.close().await;
    }
}

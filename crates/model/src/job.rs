//! Kinds, states and phases of jobs, and the requests to their runners.

use crate::words::words;

words! {
    /// The kind of work that a job does.
    JobKind: "the kind of a job";
    /// Moves BLOBs from store to store.
    Migrate = "migrate",
    /// Removes BLOBs that nothing refers to.
    Collect = "collect",
    /// Re-reads BLOBs and follows references.
    Check = "check",
    /// Builds search indexes anew.
    Crawl = "crawl",
}

words! {
    /// The stored state of a job.
    JobState: "the state of a job";
    /// Waits for a runner.
    Waiting = "waiting",
    /// A runner holds its lease.
    Running = "running",
    /// Stopped until it is resumed.
    Paused = "paused",
    /// Ran to its end, with or without failed items.
    Finished = "finished",
    /// Stopped by an error.
    Failed = "failed",
    /// Stopped permanently on request.
    Aborted = "aborted",
}

words! {
    /// The latest request to the runner of a job.
    RequestedState: "the request to a job";
    /// Carry on.
    Run = "run",
    /// Stop until resumed.
    Pause = "pause",
    /// Stop permanently.
    Abort = "abort",
}

words! {
    /// The state of a job as people and clients see it. It tells a finished job with failed items from one without,
    /// which the stored state does not.
    JobStatus: "the status of a job";
    /// Waits for a runner.
    Waiting = "waiting",
    /// A runner holds its lease.
    Running = "running",
    /// Stopped until it is resumed.
    Paused = "paused",
    /// Ran to its end without failed items.
    Finished = "finished",
    /// Ran to its end, but some items failed.
    Incomplete = "incomplete",
    /// Stopped by an error.
    Failed = "failed",
    /// Stopped permanently on request.
    Aborted = "aborted",
}

words! {
    /// A phase of a job. A job stores its phase as text, and pages translate it.
    JobPhase: "the phase of a job";
    /// A migration or check counts the BLOBs to process.
    Counting = "counting",
    /// A migration moves BLOBs.
    Moving = "moving",
    /// A migration deletes the copies that it replaced.
    DeletingOldCopies = "deleting old copies",
    /// Space of deleted bytes is given back to the system.
    ReleasingSpace = "giving space back",
    /// A check verifies databases.
    ReadingDatabases = "reading content databases",
    /// A check reads BLOBs.
    RereadingBlobs = "re-reading BLOBs",
    /// A check looks for the BLOBs that databases refer to.
    FollowingReferences = "following references",
    /// A collection marks BLOBs.
    Marking = "looking for BLOBs without documents",
    /// A collection deletes BLOBs that were marked long enough ago.
    DeletingMarked = "deleting BLOBs without documents",
    /// A collection puts BLOBs into quarantine.
    FindingOrphans = "looking for BLOBs that no database knows",
    /// A collection deletes BLOBs whose quarantine has ended.
    EmptyingQuarantine = "deleting what was in quarantine",
    /// A crawl reads documents.
    ReadingDocuments = "reading documents",
    /// A job waits after an error, which follows the words.
    WaitingToRetry = "waiting to retry",
}

impl JobStatus {
    /// Derives the status from the stored state and the number of failed items.
    pub const fn new(state: JobState, failed_items: u64) -> Self {
        match state {
            JobState::Waiting => Self::Waiting,
            JobState::Running => Self::Running,
            JobState::Paused => Self::Paused,
            JobState::Finished if failed_items > 0 => Self::Incomplete,
            JobState::Finished => Self::Finished,
            JobState::Failed => Self::Failed,
            JobState::Aborted => Self::Aborted,
        }
    }

    /// Returns whether the job has ended, so that only a new request makes it run again.
    pub const fn has_ended(self) -> bool {
        match self {
            Self::Finished | Self::Incomplete | Self::Failed | Self::Aborted => true,
            Self::Waiting | Self::Running | Self::Paused => false,
        }
    }

    /// Returns whether the job can change without a user's action.
    pub const fn is_alive(self) -> bool {
        match self {
            Self::Waiting | Self::Running => true,
            Self::Paused | Self::Finished | Self::Incomplete | Self::Failed | Self::Aborted => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_finished_job_with_failed_items_is_incomplete() {
        for state in JobState::ALL {
            assert_eq!(JobStatus::new(state, 0).as_str(), state.as_str());
            let expected = if state == JobState::Finished { "incomplete" } else { state.as_str() };
            assert_eq!(JobStatus::new(state, 2).as_str(), expected);
        }
    }
}

//! `strongroom jobs`: background jobs.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use maintenance::jobs;
use model::{Id, JobStatus, RequestedState, Result, grouped};
use repository::{Job, JobRequest, Session};
use serde_json::Value;

use super::blobs::{job_json, outcome_with_fault_hint, watcher};
use super::farm;
use super::output::{show, table, time};
use super::size::size;
use super::verdict::Verdict;
use crate::configuration::CommonArguments;

/// Maximum number of jobs listed.
const MAX_LISTED: usize = 50;

/// Arguments of `strongroom jobs`.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    common: CommonArguments,
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// List the latest jobs
    List,
    /// Show a job and its errors
    Show {
        /// ID of the job
        id: Id,
    },
    /// Pause a job; it can be resumed
    Pause {
        /// ID of the job
        id: Id,
    },
    /// Resume a job that is paused, failed or incomplete; failed items are retried
    Resume {
        /// ID of the job
        id: Id,
        /// Let a server of the farm run the job in the background
        #[arg(long)]
        background: bool,
    },
    /// End a job permanently; it cannot be resumed, and completed work is kept
    Abort {
        /// ID of the job
        id: Id,
    },
}

/// Runs `strongroom jobs`.
pub async fn run(arguments: Arguments) -> Result<ExitCode> {
    let (repository, session) = farm::open(&arguments.common).await?;
    let outcome = act(&session, arguments.action, arguments.common.json).await;
    repository.close().await;
    let (value, text, verdict) = outcome?;
    show(arguments.common.json, &value, &text);
    Ok(verdict.into())
}

async fn act(session: &Session, action: Action, as_json: bool) -> Result<(Value, String, Verdict)> {
    let asked = |job: Job| (job_json(&job), listed(std::slice::from_ref(&job)), Verdict::Good);
    match action {
        Action::List => {
            let jobs = session.jobs(None, MAX_LISTED).await?;
            Ok((jobs.iter().map(job_json).collect(), listed(&jobs), Verdict::Good))
        }
        Action::Show { id } => {
            let job = session.job(id).await?;
            let (value, text, _) = outcome_with_fault_hint(session, &job).await?;
            Ok((value, listed(std::slice::from_ref(&job)) + "\n" + &text, Verdict::Good))
        }
        Action::Pause { id } => session.ask_job(id, JobRequest::Pause).await.map(asked),
        Action::Abort { id } => session.ask_job(id, JobRequest::Abort).await.map(asked),
        Action::Resume { id, background } => {
            let job = session.ask_job(id, JobRequest::Resume).await?;
            if background {
                return Ok(asked(job));
            }
            let watch = watcher(as_json);
            let job = jobs::follow(session, id, &watch.0).await?;
            drop(watch);
            outcome_with_fault_hint(session, &job).await
        }
    }
}

fn listed(jobs: &[Job]) -> String {
    if jobs.is_empty() {
        return "There are no jobs.\n".to_owned();
    }
    let rows: Vec<_> = jobs
        .iter()
        .map(|job| {
            let progress = &job.progress;
            let done = match progress.total_bytes {
                0 => size(progress.bytes),
                total => format!("{} of {}", size(progress.bytes), size(total)),
            };
            let failed = if progress.failed > 0 { grouped(progress.failed) } else { String::new() };
            let state = match (job.status, job.wish) {
                (JobStatus::Running, RequestedState::Pause | RequestedState::Abort) => {
                    format!("running, {} requested", job.wish)
                }
                (status, _) => status.to_string(),
            };
            [
                job.id.to_string(),
                job.work.kind().to_string(),
                state,
                grouped(progress.items),
                done,
                failed,
                time(job.created_at),
                job.message.clone(),
            ]
        })
        .collect();
    table(["JOB", "KIND", "STATE", "ITEMS", "BYTES", "FAILED", "CREATED", "RESULT"], &rows)
}

//! Shared code of `migrate`, `collect`, `check` and `drain`: runs a job in this process with a progress bar, or leaves
//! it to a server.

use std::collections::HashSet;
use std::path::Path;
use std::time::Instant;

use maintenance::jobs;
use model::{Digest, JobStatus, Result, grouped};
use repository::{Job, JobProgress, LACKING_CHANGES, Session, Work, database_from_backup, farm_from_backup};
use serde_json::{Value, json};

use super::faults::{MAX_LISTED, REPAIR_ADVICE, on_record};
use crate::commands::output::{table, time};
use crate::commands::progress::{new_bar, pace, shows_progress};
use crate::commands::verdict::{CommandResult, Verdict};

/// Maximum number of job errors shown.
const SHOWN: usize = 20;
/// Job errors read per page.
const PAGE: usize = 1_000;

/// Runs a job to its end, or leaves it to a server of the farm.
pub async fn run(session: &Session, work: Work, background: bool, as_json: bool) -> Result<CommandResult> {
    if background {
        let job = session.start_job(work).await?;
        let text = format!(
            "Job {} waits for a server of the farm: `strongroom jobs show {}` shows its progress.\n",
            job.id, job.id
        );
        return Ok((job_json(&job), text, Verdict::Good));
    }
    let job = run_in_process(session, work, as_json).await?;
    outcome(session, &job).await
}

/// Runs a job to its end in this process.
pub async fn run_in_process(session: &Session, work: Work, as_json: bool) -> Result<Job> {
    let watch = watcher(as_json);
    jobs::run_here(session, work, &watch.0).await
}

/// The outcome of a job, with its errors and advice.
pub async fn outcome(session: &Session, job: &Job) -> Result<CommandResult> {
    let errors = session.job_errors(job.id, "", SHOWN).await?;
    let mut text = format!(
        "{}: {}.\n",
        capital(job.status.as_str()),
        if job.message.is_empty() { "as requested" } else { &job.message }
    );
    if !errors.is_empty() {
        let rows: Vec<_> = errors
            .iter()
            .map(|error| [error.item.clone(), error.attempts.to_string(), error.message.clone()])
            .collect();
        text.push_str(&format!("\n{}", table(["ITEM", "ATTEMPTS", "ERROR"], &rows)));
    }
    text.push_str(&advice(session, job).await?);
    let mut value = job_json(job);
    value["errors"] = errors
        .iter()
        .map(|error| json!({ "item": error.item, "attempts": error.attempts, "message": error.message }))
        .collect();
    Ok((value, text, verdict_of(job)))
}

/// The outcome of a job. Points to `strongroom blobs faults`, for callers that do not list the faulty BLOBs themselves.
pub async fn outcome_with_fault_hint(session: &Session, job: &Job) -> Result<CommandResult> {
    let (value, mut text, verdict) = outcome(session, job).await?;
    let faults = job.progress.results.get("faults").copied().unwrap_or(0);
    if faults > 0 && !text.contains(REPAIR_ADVICE) {
        text.push_str(&format!("\n`strongroom blobs faults` names their documents. {REPAIR_ADVICE}\n"));
    }
    Ok((value, text, verdict))
}

/// Summary of a job's errors.
#[derive(Default)]
struct About {
    /// Databases that the job skipped.
    databases: Vec<String>,
    /// True if an error may be gone when the job is resumed.
    passing: bool,
    /// True if a BLOB is recorded as missing or damaged.
    needs_repair: bool,
}

impl About {
    /// Reads all errors of a job, page by page.
    async fn of(session: &Session, job: &Job) -> Result<Self> {
        let (mut about, mut after) = (Self::default(), String::new());
        let mut lost: Option<HashSet<Digest>> = None;
        loop {
            let errors = session.job_errors(job.id, &after, PAGE).await?;
            for error in &errors {
                if let Some(name) = error.item.strip_prefix("database ") {
                    about.databases.push(name.to_owned());
                    continue;
                }
                let Ok(digest) = error.item.parse::<Digest>() else {
                    about.passing = true;
                    continue;
                };
                let lost = match &mut lost {
                    Some(lost) => lost,
                    unknown => {
                        unknown.insert(on_record(session, None).await?.iter().map(|fault| fault.digest).collect())
                    }
                };
                // If `lost` reached its limit, not all faults were read, and any digest may be recorded.
                let is_lost = lost.contains(&digest) || lost.len() >= MAX_LISTED;
                (about.passing, about.needs_repair) = (about.passing || !is_lost, about.needs_repair || is_lost);
            }
            match errors.into_iter().nth(PAGE - 1) {
                Some(last) => after = last.item,
                None => return Ok(about),
            }
        }
    }
}

/// Advice on the errors of a job.
async fn advice(session: &Session, job: &Job) -> Result<String> {
    let of = |name: &str| job.progress.results.get(name).copied().unwrap_or(0);
    let about = About::of(session, job).await?;
    let mut text = String::new();
    if of("databases_damaged") > 0 {
        let directory = session.storage().await?.directory();
        text.push_str(&damaged_databases(&directory, &about, of("databases_away") == 0, of(LACKING_CHANGES) > 0));
    }
    if about.needs_repair {
        text.push_str(&format!("{REPAIR_ADVICE}\n"));
    }
    let can_resume = match job.status {
        JobStatus::Incomplete | JobStatus::Failed | JobStatus::Paused => true,
        JobStatus::Waiting | JobStatus::Running | JobStatus::Finished | JobStatus::Aborted => false,
    };
    if can_resume && (about.passing || of("databases_away") > 0) {
        text.push_str(&format!(
            "`strongroom jobs resume {}` retries the rest, once what it needs is available.\n",
            job.id
        ));
    } else if can_resume && about.needs_repair {
        text.push_str(&format!("`strongroom jobs resume {}` then processes what was skipped.\n", job.id));
    }
    Ok(if text.is_empty() { text } else { format!("\n{text}") })
}

/// Advice on restoring damaged databases. Names each database if all skipped ones are damaged.
fn damaged_databases(directory: &Path, about: &About, all_damaged: bool, any_lacks_changes: bool) -> String {
    let mut text = "First check the disk of any database that cannot be read.\n".to_owned();
    if any_lacks_changes {
        text.push_str(
            "A database that only lacks changes can continue without them: its error message explains how.\n",
        );
    }
    let unknown = ["NAME".to_owned()];
    for name in if all_damaged { about.databases.as_slice() } else { &unknown } {
        let how = match name.as_str() {
            "configuration" => farm_from_backup(directory),
            _ => database_from_backup(directory, name),
        };
        text.push_str(&format!("{how}.\n"));
    }
    text
}

/// The verdict of a job. Faults that a job found make it bad; a check that is otherwise clean but could not check
/// everything is incomplete.
fn verdict_of(job: &Job) -> Verdict {
    let of = |name: &str| job.progress.results.get(name).copied().unwrap_or(0);
    let faults = of("faults") + of("databases_damaged");
    match (&job.work, job.status) {
        (_, JobStatus::Finished) if faults == 0 => Verdict::Good,
        (Work::Check(_), JobStatus::Incomplete) if faults == 0 => Verdict::Incomplete,
        _ => Verdict::Bad,
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A job as JSON.
pub fn job_json(job: &Job) -> Value {
    let JobProgress { phase, total_items, total_bytes, items, bytes, failed, seconds, results, .. } = &job.progress;
    json!({
        "id": job.id.to_string(),
        "kind": job.work.kind().as_str(),
        "work": serde_json::to_value(&job.work).unwrap_or_default(),
        "state": job.status.as_str(),
        "message": job.message,
        "phase": phase,
        "items": items,
        "total_items": total_items,
        "bytes": bytes,
        "total_bytes": total_bytes,
        "failed": failed,
        "seconds": seconds,
        "results": results,
        "created_at": time(job.created_at),
        "started_at": job.started_at.map(time),
        "finished_at": job.finished_at.map(time),
    })
}

/// Returns a listener that shows a job's progress on a progress bar if a person is watching, and a guard that clears
/// the bar when dropped.
pub fn watcher(as_json: bool) -> (impl Fn(&JobProgress) + Send + Sync, Finish) {
    let bar = shows_progress(as_json).then(new_bar);
    let finish = Finish(bar.clone());
    let started = Instant::now();
    let watch = move |progress: &JobProgress| {
        let Some(bar) = &bar else { return };
        bar.set_length(progress.total_bytes.max(1));
        bar.set_position(progress.bytes.min(progress.total_bytes));
        let pace = pace(progress.bytes, progress.total_bytes, started.elapsed(), true);
        let failed = if progress.failed > 0 { format!(", {} failed", grouped(progress.failed)) } else { String::new() };
        bar.set_message(format!(
            "{}: {} of {} items{pace}{failed}",
            progress.phase,
            grouped(progress.items),
            grouped(progress.total_items)
        ));
    };
    (watch, finish)
}

/// Guard that clears a progress bar when dropped.
pub struct Finish(Option<indicatif::ProgressBar>);

impl Drop for Finish {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

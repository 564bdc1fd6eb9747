//! What `migrate`, `collect`, `check` and `drain` share: a job that is run here with a progress bar, or left to a server.

use std::collections::HashSet;
use std::time::Instant;

use maintenance::jobs;
use model::{Digest, Result};
use repository::{Figures, Job, JobError, Session, Work};
use serde_json::{Value, json};

use super::faults::{MENDING, on_record};
use super::{Shown, Verdict};
use crate::commands::output::{table, time};
use crate::commands::transfer::{new_bar, pace, shows_progress};

/// Errors of a job that are shown.
const SHOWN: usize = 20;

/// Runs a job to its end, or leaves it to a server.
pub async fn run(session: &Session, work: Work, background: bool, as_json: bool) -> Result<Shown> {
    if background {
        let job = session.start_job(work).await?;
        let text = format!(
            "Job {} waits for a server of the farm: `strongroom jobs show {}` tells how it goes.\n",
            job.id, job.id
        );
        return Ok((job_json(&job), text, Verdict::Good));
    }
    let job = here(session, work, as_json).await?;
    ended(session, &job).await
}

/// Runs a job to its end.
pub async fn here(session: &Session, work: Work, as_json: bool) -> Result<Job> {
    let watch = watcher(as_json);
    jobs::run_here(session, work, &watch.0).await
}

/// How a job ended, with what it could not do.
pub async fn ended(session: &Session, job: &Job) -> Result<Shown> {
    let errors = session.job_errors(job.id, "", SHOWN).await?;
    let mut text =
        format!("{}: {}.\n", capital(&job.state), if job.message.is_empty() { "as asked" } else { &job.message });
    if !errors.is_empty() {
        let rows: Vec<_> = errors
            .iter()
            .map(|error| [error.item.clone(), error.attempts.to_string(), error.message.clone()])
            .collect();
        text.push_str(&format!("\n{}", table(["WHAT", "TRIED", "ERROR"], &rows)));
    }
    text.push_str(&advice(session, job, &errors).await?);
    let mut value = job_json(job);
    value["errors"] = errors
        .iter()
        .map(|error| json!({ "item": error.item, "attempts": error.attempts, "message": error.message }))
        .collect();
    Ok((value, text, outcome(job)))
}

/// How a job ended, for whoever does not list the BLOBs that it found missing or damaged.
pub async fn ended_alone(session: &Session, job: &Job) -> Result<Shown> {
    let (value, mut text, verdict) = ended(session, job).await?;
    let faults = job.figures.results.get("faults").copied().unwrap_or(0);
    if faults > 0 && !text.contains(MENDING) {
        text.push_str(&format!("\n`strongroom blobs faults` names their documents. {MENDING}\n"));
    }
    Ok((value, text, verdict))
}

/// What helps with the errors of a job.
async fn advice(session: &Session, job: &Job, errors: &[JobError]) -> Result<String> {
    let of = |name: &str| job.figures.results.get(name).copied().unwrap_or(0);
    let digests: HashSet<Digest> = errors.iter().filter_map(|error| error.item.parse().ok()).collect();
    let lost: HashSet<Digest> = match digests.is_empty() {
        true => HashSet::new(),
        false => on_record(session, None).await?.iter().map(|fault| fault.digest).collect(),
    };
    let (mut text, mut passing, mut mending) = (String::new(), false, false);
    let databases: Vec<&str> = errors.iter().filter_map(|error| error.item.strip_prefix("database ")).collect();
    for error in errors.iter().filter(|error| !error.item.starts_with("database ")) {
        let is_lost = error.item.parse().is_ok_and(|digest| lost.contains(&digest));
        (passing, mending) = (passing || !is_lost, mending || is_lost);
    }
    if of("databases_damaged") > 0 {
        text.push_str(&damaged_databases(&databases, of("databases_away") == 0));
    }
    passing |= of("databases_away") > 0;
    if mending {
        text.push_str(&format!("{MENDING}\n"));
    }
    let can_resume = matches!(job.state.as_str(), "incomplete" | "failed" | "paused");
    if can_resume && passing {
        text.push_str(&format!(
            "`strongroom jobs resume {}` tries the rest again, once what it needs is there.\n",
            job.id
        ));
    } else if can_resume && mending {
        text.push_str(&format!("`strongroom jobs resume {}` then does what was left out.\n", job.id));
    }
    Ok(if text.is_empty() { text } else { format!("\n{text}") })
}

/// Says how damaged databases come back; each by its name where all that were left out are damaged.
fn damaged_databases(left_out: &[&str], all_damaged: bool) -> String {
    let mut text = "Look first whether the disk of a database that cannot be read is in order.\n".to_owned();
    let named: &[&str] = if all_damaged { left_out } else { &["NAME"] };
    for name in named {
        let (what, how) = match *name {
            "configuration" => ("the whole farm", "--force".to_owned()),
            _ => ("the content database", format!("--content-database {name}")),
        };
        text.push_str(&format!(
            "`strongroom restore BACKUP {how}` brings {what} back from a backup, while no server runs.\n"
        ));
    }
    text
}

/// A check is as good as what it found; one that could not look at everything has its own status.
fn outcome(job: &Job) -> Verdict {
    let of = |name: &str| job.figures.results.get(name).copied().unwrap_or(0);
    let faults = of("faults") + of("databases_damaged");
    match (&job.work, job.state.as_str()) {
        (_, "finished") if faults == 0 => Verdict::Good,
        (Work::Check(_), "incomplete") if faults == 0 => Verdict::Incomplete,
        _ => Verdict::Bad,
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A job for programs.
pub fn job_json(job: &Job) -> Value {
    let Figures { phase, total_items, total_bytes, items, bytes, failed, seconds, results, .. } = &job.figures;
    json!({
        "id": job.id.to_string(),
        "kind": job.work.kind(),
        "work": serde_json::to_value(&job.work).unwrap_or_default(),
        "state": job.state,
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

/// Shows a job's figures on a bar, if somebody looks; the bar goes when the second part is dropped.
pub fn watcher(as_json: bool) -> (impl Fn(&Figures) + Send + Sync, Finish) {
    let bar = shows_progress(as_json).then(new_bar);
    let finish = Finish(bar.clone());
    let started = Instant::now();
    let watch = move |figures: &Figures| {
        let Some(bar) = &bar else { return };
        bar.set_length(figures.total_bytes.max(1));
        bar.set_position(figures.bytes.min(figures.total_bytes));
        let pace = pace(figures.bytes, figures.total_bytes, started.elapsed(), true);
        let failed = if figures.failed > 0 { format!(", {} failed", figures.failed) } else { String::new() };
        bar.set_message(format!("{}: {} of {} BLOBs{pace}{failed}", figures.phase, figures.items, figures.total_items));
    };
    (watch, finish)
}

/// Clears a bar when it is dropped.
pub struct Finish(Option<indicatif::ProgressBar>);

impl Drop for Finish {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

//! `strongroom blobs check`: re-reads every BLOB and names the documents whose BLOBs are missing or damaged.

use clap::Args;
use model::{Result, counted};
use repository::{BlobFault, CheckWork, Job, Session, Work};
use serde_json::{Value, json};

use super::faults::{MAX_LISTED, REPAIR_ADVICE, fault_json, fault_table, on_record};
use super::run_job;
use crate::commands::size::parse_size;
use crate::commands::size::size;
use crate::commands::verdict::CommandResult;

/// Scope and speed of a check.
#[derive(Args)]
pub struct Check {
    /// Check only this store
    #[arg(long, value_name = "STORE")]
    store: Option<String>,
    /// Limit in bytes per second, such as 20M [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    rate: Option<u64>,
    /// Let a server of the farm run the job in the background
    #[arg(long)]
    background: bool,
}

impl Check {
    pub async fn run(self, session: &Session, as_json: bool) -> Result<CommandResult> {
        let check = Work::Check(CheckWork { store: self.store.clone(), rate: self.rate });
        if self.background {
            return run_job::run(session, check, true, as_json).await;
        }
        let job = run_job::run_in_process(session, check, as_json).await?;
        let (mut value, mut text, is_sound) = run_job::outcome(session, &job).await?;
        let faults = on_record(session, self.store.as_deref()).await?;
        let of = |name: &str| job.progress.results.get(name).copied().unwrap_or(0);
        let (accepted, open): (Vec<_>, Vec<_>) = faults.into_iter().partition(|fault| fault.accepted.is_some());
        for (name, value_of) in [
            ("blobs", job.progress.items.into()),
            ("references", of("references").into()),
            ("unchecked", of("unchecked").into()),
            ("unreferenced_blobs", of("unreferenced_blobs").into()),
            ("unreferenced_bytes", of("unreferenced_bytes").into()),
            ("damaged_unreferenced", of("damaged_unreferenced").into()),
            ("undecided_blobs", of("undecided_blobs").into()),
            ("undecided_bytes", of("undecided_bytes").into()),
            ("damaged_undecided", of("damaged_undecided").into()),
            ("garbled_places", of("garbled_places").into()),
            ("faults", open.iter().map(fault_json).collect::<Value>()),
            ("accepted", accepted.iter().map(fault_json).collect::<Value>()),
        ] {
            value[name] = json!(value_of);
        }
        text.push_str(&unneeded(&job));
        text.push_str(&listed(&open, &accepted));
        Ok((value, text, is_sound))
    }
}

/// The text about BLOBs that no document needs, as far as that is known.
fn unneeded(job: &Job) -> String {
    let of = |name: &str| job.progress.results.get(name).copied().unwrap_or(0);
    let mut text = String::new();
    if of("unreferenced_blobs") > 0 {
        text.push_str(&format!(
            "{} ({}) that no document needs: left by interrupted uploads, by deletions, or by a restore of an older \
             state. Databases that a restore set aside may still need them: `strongroom blobs collect` deletes them \
             after their time in quarantine.\n",
            counted(of("unreferenced_blobs"), "BLOB"),
            size(of("unreferenced_bytes"))
        ));
    }
    if of("undecided_blobs") > 0 {
        text.push_str(&format!(
            "{} ({}) that no document needs in the databases that were checked. The other databases may need them, so \
             they are kept.\n",
            counted(of("undecided_blobs"), "BLOB"),
            size(of("undecided_bytes"))
        ));
    }
    if of("damaged_undecided") > 0 {
        text.push_str(&format!(
            "{} damaged. A database that could not be checked may need them: check again when all databases are \
             available.\n",
            counted(of("damaged_undecided"), "BLOB")
        ));
    }
    if of("damaged_unreferenced") > 0 {
        text.push_str(&format!(
            "{} damaged, but needed by no document; `strongroom blobs collect` deletes what nothing needs.\n",
            counted(of("damaged_unreferenced"), "BLOB")
        ));
    }
    text
}

fn listed(open: &[BlobFault], accepted: &[BlobFault]) -> String {
    let mut text = String::new();
    if !open.is_empty() {
        text.push_str(&format!(
            "\n\
             {}\n\
             {REPAIR_ADVICE} A new upload of the same bytes does so as well. `strongroom blobs accept-loss BLOB` \
             records \
             that the loss of a BLOB is accepted.\n",
            fault_table(open)
        ));
    }
    if !accepted.is_empty() {
        text.push_str(&format!("\nAccepted losses:\n{}", fault_table(accepted)));
    }
    if open.len() + accepted.len() >= MAX_LISTED {
        text.push_str("There may be more than these.\n");
    }
    text
}

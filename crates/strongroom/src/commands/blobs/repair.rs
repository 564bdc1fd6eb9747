//! `strongroom blobs repair`: restores missing or damaged BLOBs from another store of the farm or from a backup.

use std::sync::Arc;

use clap::Args;
use maintenance::{Progress, RepairOptions, RepairSummary};
use model::{Digest, Error, Result, counted};
use repository::Session;
use serde_json::{Value, json};

use crate::commands::backup_destination::Access;
use crate::commands::output::are;
use crate::commands::progress::{Bar, shows_progress};
use crate::commands::size::size;
use crate::commands::verdict::{CommandResult, Verdict};

/// BLOBs to repair, and the source of their bytes.
#[derive(Args)]
pub struct Repair {
    /// Digest of the BLOB; optional with --from-backup [default: all BLOBs that `strongroom blobs faults` lists]
    digest: Option<Digest>,
    /// Read the bytes from the newest backup that has them, in this directory or s3://BUCKET/PREFIX
    #[arg(long, value_name = "BACKUP")]
    from_backup: Option<String>,
    #[command(flatten)]
    access: Access,
}

impl Repair {
    /// Checks, before the farm is opened, that the arguments name something to repair.
    ///
    /// # Errors
    /// Returns `Invalid` if neither a BLOB nor a backup destination is given.
    pub fn check(&self) -> Result<()> {
        if self.digest.is_some() || self.from_backup.is_some() { Ok(()) } else { Err(nothing_to_repair()) }
    }

    pub async fn run(self, session: &Session, as_json: bool) -> Result<CommandResult> {
        let place = match (&self.from_backup, self.digest) {
            (Some(place), _) => place,
            (None, Some(digest)) => return from_stores(session, digest).await,
            (None, None) => return Err(nothing_to_repair()),
        };
        let options = RepairOptions {
            source: self.access.destination(place)?,
            key_file: self.access.encrypt_with.clone(),
            digest: self.digest,
        };
        let progress = Arc::new(Progress::default());
        let bar = Bar::of_task(&progress, shows_progress(as_json));
        let outcome = maintenance::repair_from_backup(session, &options, progress).await;
        drop(bar);
        let summary = outcome?;
        Ok((value(&summary), text(&summary), summary.failed.is_empty().into()))
    }
}

fn nothing_to_repair() -> Error {
    Error::invalid(
        "nothing to repair was named. These are the ways:\n  \
         `strongroom blobs repair --from-backup BACKUP`: everything that `strongroom blobs faults` lists, from a \
         backup\n  \
         `strongroom blobs repair BLOB --from-backup BACKUP`: one BLOB, from a backup\n  \
         `strongroom blobs repair BLOB`: one BLOB, from another store of the farm",
    )
}

async fn from_stores(session: &Session, digest: Digest) -> Result<CommandResult> {
    let from = session.repair_blob(digest).await?;
    let value = json!({ "digest": digest.to_string(), "state": "repaired", "from": from });
    Ok((value, format!("The BLOB is intact again; its bytes came from {from}.\n"), Verdict::Good))
}

fn value(summary: &RepairSummary) -> Value {
    let repaired = summary.repaired.iter();
    let failed = summary.failed.iter();
    json!({
        "repaired": repaired
            .map(|(digest, set)| json!({ "digest": digest.to_string(), "set": set.map(|set| set.to_string()) }))
            .collect::<Value>(),
        "bytes": summary.bytes,
        "failed": failed
            .map(|(digest, why)| json!({ "digest": digest.to_string(), "message": why }))
            .collect::<Value>(),
        "accepted": summary.accepted,
        "notes": summary.notes,
    })
}

fn text(summary: &RepairSummary) -> String {
    let mut text = match (summary.repaired.len(), summary.failed.len()) {
        (0, 0) => {
            "No BLOB is known to be missing or damaged. `strongroom blobs check` checks all of them.\n".to_owned()
        }
        (repaired, _) => {
            let repaired = repaired as u64;
            format!("{} {} intact again ({}).\n", counted(repaired, "BLOB"), are(repaired), size(summary.bytes))
        }
    };
    if summary.accepted > 0 {
        text.push_str(&format!(
            "{} whose loss was accepted {} in no backup.\n",
            counted(summary.accepted, "BLOB"),
            are(summary.accepted)
        ));
    }
    for note in &summary.notes {
        text.push_str(&format!("Note: {note}.\n"));
    }
    if !summary.failed.is_empty() {
        text.push_str(&format!("{} could not be repaired:\n", counted(summary.failed.len() as u64, "BLOB")));
        for (digest, why) in &summary.failed {
            text.push_str(&format!("  {digest}: {why}\n"));
        }
        text.push_str(
            "Upload one of their documents again, or accept the loss: `strongroom blobs faults` names the documents.\n",
        );
    }
    text
}

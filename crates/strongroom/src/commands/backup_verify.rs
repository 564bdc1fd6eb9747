//! `strongroom backup verify`: re-reads backups, and drills the restore of one.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use maintenance::{Drilled, ExternalFindings, Progress, RestoreOptions, Verified};
use model::{Error, ErrorKind, Id, Result, counted};
use serde_json::{Value, json};

use super::backup_sets::{Farm, lost_text};
use super::output::{are, show};
use super::progress::{Bar, shows_progress};
use super::size::size;
use super::verdict::Verdict;
use crate::configuration::{CommonArguments, Settings};

/// Verifies all backups in a destination, or the one in `options.set`. With `drill`, then restores the latest verified
/// backup into a scratch directory; the drill is skipped if verification found a fault.
pub async fn run(
    common: &CommonArguments,
    options: RestoreOptions,
    drill: bool,
    scratch: Option<PathBuf>,
) -> Result<ExitCode> {
    if let Some(scratch) = &scratch {
        require_directory(scratch)?;
    }
    let as_json = common.json;
    let progress = Arc::new(Progress::default());
    let bar = Bar::of_task(&progress, shows_progress(as_json));
    let outcome =
        maintenance::verify_backups(&options.source, options.key_file.as_deref(), options.set, progress).await;
    drop(bar);
    let found = outcome?;
    let mut value = verified_json(&found);
    let is_sound = found.fault_count == 0;
    if !as_json {
        show(false, &Value::Null, &verified_text(&found));
    }
    record(common, Check::Verified(&found)).await;
    let mut verdict = Verdict::from(is_sound);
    let mut drilled = Ok(());
    if drill && is_sound {
        drilled = match self::drill(common, options, &found, scratch).await {
            Ok(done) => {
                record(common, Check::Drilled(&done)).await;
                value["drill"] = drilled_json(&done);
                verdict = drill_verdict(&done);
                if !as_json {
                    show(false, &Value::Null, &drilled_text(&done));
                }
                Ok(())
            }
            Err(error) => {
                if let (ErrorKind::Corrupt, Some(set)) = (error.kind(), found.sets.last()) {
                    record(common, Check::Failed(*set)).await;
                }
                Err(error)
            }
        };
    }
    if as_json {
        show(true, &value, "");
    }
    drilled.map(|()| verdict.into())
}

/// A check that the farm keeps on record.
enum Check<'a> {
    Verified(&'a Verified),
    Drilled(&'a Drilled),
    /// A drill of this backup that found damage and ended.
    Failed(Id),
}

/// Puts a check on the record of the farm, if the farm is on this machine. The check itself does not depend on that.
async fn record(common: &CommonArguments, check: Check<'_>) {
    let recorded = async {
        let farm = Farm::open(common).await?;
        let outcome = match (farm.storage(), check) {
            (None, _) => Ok(()),
            (Some(storage), Check::Verified(found)) => {
                storage.record_backup_verification(found.sets.clone(), found.fault_count).await.map(drop)
            }
            (Some(storage), Check::Failed(set)) => storage.record_backup_drill(set, 1).await,
            // What could not be looked for is not known to be sound.
            (Some(storage), Check::Drilled(drilled)) => match drilled.set {
                Some(set) if !matches!(drill_verdict(drilled), Verdict::Incomplete) => {
                    storage.record_backup_drill(set, missing(drilled)).await
                }
                _ => Ok(()),
            },
        };
        farm.close().await;
        outcome
    };
    if let Err(error) = recorded.await {
        eprintln!("strongroom: this check was not recorded in the farm: {}", error.message());
    }
}

/// Returns the number of versions whose bytes are missing.
fn missing(drilled: &Drilled) -> u64 {
    drilled.outside.as_ref().map_or(0, |outside| outside.missing)
}

fn verified_json(found: &Verified) -> Value {
    json!({
        "sets": found.sets.iter().map(Id::to_string).collect::<Vec<_>>(),
        "without_blobs": found.without_blobs.iter().map(Id::to_string).collect::<Vec<_>>(),
        "things": found.things,
        "bytes": found.bytes,
        "lost": found.lost,
        "fault_count": found.fault_count,
        "faults": found.faults,
    })
}

fn verified_text(found: &Verified) -> String {
    let mut text = format!(
        "{}: {} ({}) re-read, ",
        counted(found.sets.len() as u64, "backup"),
        counted(found.things, "object"),
        size(found.bytes)
    );
    match found.fault_count {
        0 => text.push_str("all are there and undamaged.\n"),
        n => {
            text.push_str(&format!("{}:\n", counted(n, "fault")));
            found.faults.iter().for_each(|fault| text.push_str(&format!("  {fault}\n")));
            text.push_str("The next backup stores the damaged objects again if the farm still has their content.\n");
        }
    }
    text.push_str(&lost_text(found.lost));
    if !found.without_blobs.is_empty() {
        let ids: Vec<String> = found.without_blobs.iter().map(Id::to_string).collect();
        text.push_str(&format!(
            "Databases only: {}. Their BLOBs are in the farm's stores and were not read; `strongroom blobs check` \
             reads those.\n",
            ids.join(", ")
        ));
    }
    text
}

/// Refuses a scratch path that is not a directory. A missing directory is not created: it usually means that a disk is
/// not mounted.
fn require_directory(scratch: &Path) -> Result<()> {
    let why = match std::fs::metadata(scratch) {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => "is not a directory".to_owned(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        Err(error) => format!("cannot be examined ({error})"),
    };
    Err(Error::invalid(format!(
        "--scratch: {} {why}: create the directory, mount its disk, or leave out --scratch to drill in {}",
        scratch.display(),
        std::env::temp_dir().display()
    )))
}

async fn drill(
    common: &CommonArguments,
    options: RestoreOptions,
    found: &Verified,
    scratch: Option<PathBuf>,
) -> Result<Drilled> {
    let needs_farm = found.sets.last().is_some_and(|set| found.without_blobs.contains(set));
    let farm = if needs_farm { open_local_farm(common).await } else { Err(String::new()) };
    let storage = match &farm {
        Ok((farm, directory)) => farm
            .storage()
            .ok_or_else(|| format!("there is no farm in {directory}: name its directory with `--data DIRECTORY`")),
        Err(why) => Err(why.clone()),
    };
    let scratch = scratch.unwrap_or_else(std::env::temp_dir);
    let progress = Arc::new(Progress::default());
    let bar = Bar::of_task(&progress, shows_progress(common.json));
    let outcome = maintenance::drill(options, &scratch, storage, progress).await;
    drop(bar);
    if let Ok((farm, _)) = &farm {
        farm.close().await;
    }
    outcome
}

/// Opens the farm that `common` names and returns it with its directory, or the reason why it cannot be opened.
async fn open_local_farm(common: &CommonArguments) -> std::result::Result<(Farm, String), String> {
    let read = Settings::read(common).map(|settings| settings.directory().display().to_string());
    let directory = read.map_err(|error| error.message().to_owned())?;
    match Farm::open(common).await {
        Ok(farm) => Ok((farm, directory)),
        Err(error) => Err(format!("the farm in {directory} cannot be opened: {}", error.message())),
    }
}

fn drill_verdict(drilled: &Drilled) -> Verdict {
    match &drilled.outside {
        Some(outside) if outside.missing > 0 => Verdict::Bad,
        Some(outside) if outside.unchecked() > 0 => Verdict::Incomplete,
        _ => Verdict::Good,
    }
}

fn drilled_json(drilled: &Drilled) -> Value {
    json!({
        "set": drilled.set.map(|id| id.to_string()),
        "versions": drilled.versions,
        "bytes": drilled.bytes,
        "lost": drilled.lost,
        "in_stores": drilled.outside.as_ref().map(|outside| json!({
            "versions": outside.versions,
            "bytes": outside.bytes,
            "present": outside.present,
            "missing": outside.missing,
            "lost": outside.lost,
            "faults": outside.faults,
            "not_looked_for": outside.unchecked_reasons,
        })),
    })
}

fn drilled_text(drilled: &Drilled) -> String {
    let mut text = format!(
        "Drill: restored {} of documents ({}) into a scratch directory, with all of their bytes.\n",
        counted(drilled.versions, "version"),
        size(drilled.bytes)
    );
    if drilled.lost > 0 {
        text.push_str(&format!("{} without bytes, whose loss was accepted.\n", counted(drilled.lost, "version")));
    }
    drilled.outside.as_ref().map(store_blobs_text).into_iter().for_each(|outside| text.push_str(&outside));
    text
}

/// The text about bytes that are in the farm's stores instead of the backup.
fn store_blobs_text(outside: &ExternalFindings) -> String {
    let mut text = format!(
        "The backup holds databases only: the bytes of {} ({}) are in the farm's stores and were not read.\n",
        counted(outside.versions, "other version"),
        size(outside.bytes)
    );
    if outside.present > 0 {
        let there = counted(outside.present, "version");
        text.push_str(&format!("The stores have the bytes of {there}; `strongroom blobs check` reads them.\n"));
    }
    if outside.lost > 0 {
        text.push_str(&format!("{} without bytes, whose loss was accepted.\n", counted(outside.lost, "version")));
    }
    if outside.missing > 0 {
        let n = outside.missing;
        text.push_str(&format!("The bytes of {} {} missing or damaged there:\n", counted(n, "version"), are(n)));
        outside.faults.iter().for_each(|fault| text.push_str(&format!("  {fault}\n")));
        let more = n - outside.faults.len() as u64;
        if more > 0 {
            text.push_str(&format!("  and {more} more\n"));
        }
    }
    if outside.unchecked() > 0 {
        let unseen = counted(outside.unchecked(), "version");
        text.push_str(&format!("It was not checked whether the bytes of {unseen} are there:\n"));
        outside.unchecked_reasons.iter().for_each(|why| text.push_str(&format!("  {why}\n")));
    }
    text
}

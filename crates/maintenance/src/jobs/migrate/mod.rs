//! Migration of BLOBs between stores, in any direction, while the farm is in use.
//!
//! Each BLOB is copied and read back from its destination before its reference is redirected. The old copy goes into
//! quarantine in the same transaction and is deleted afterwards. A reader that is in the middle of the old copy
//! continues in the new one. An interrupted job resumes after the last saved page; BLOBs that it would copy twice are
//! found in the destination.

mod copying;
mod store_move;

use database::Reader;
use database::configuration::job;
use database::content::blob::{self, Selection};
use database::content::progress::{self, Moved};
use model::{Error, Id, JobPhase, Result, Timestamp, counted};
use repository::{BackupHold, DATABASE_STORE, JobProgress, MigrateWork, Storage, StorageDatabase};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use self::store_move::{Cursor, LOST, StoreMove};
use super::delete_copies;
use super::running_job::{JobResult, RunningJob};
use super::throttle::Throttle;

/// Seconds per day.
const DAY: u64 = 24 * 60 * 60;

pub(super) async fn run(job: &RunningJob, work: &MigrateWork) -> JobResult<String> {
    let storage = job.storage().refreshed().await?;
    let mut throttle = Throttle::new(work.rate);
    let databases: Vec<StorageDatabase> = storage
        .databases()?
        .into_iter()
        .filter(|database| work.database.as_ref().is_none_or(|name| *name == database.name))
        .collect();
    let cursor = begin(job, &databases, work).await?;
    let mut moves = Vec::new();
    for database in &databases {
        moves.extend(plan(job, &storage, database, work, cursor.after == 0)?);
    }
    let is_here = |store_move: &StoreMove<'_>| {
        store_move.database.id.get() == cursor.database && store_move.from.0.get() == cursor.store
    };
    if !matches!(cursor.after, 0 | i64::MAX) && !moves.iter().any(is_here) {
        return Err(Error::unavailable("the store that BLOBs were being moved out of does not answer").into());
    }
    measure(job, &moves, &cursor, work).await?;
    let mut is_before = cursor.after != 0;
    for store_move in &moves {
        if is_before && !is_here(store_move) {
            continue;
        }
        let after = if is_before { Id::new(cursor.after) } else { Id::NONE };
        is_before = false;
        if !store_move.run(after, work, &mut throttle).await? {
            break;
        }
    }
    // The last old copies need no quarantine time: a reader that is in the middle of one continues in the new copy.
    job.update_progress(|progress| progress.begin(JobPhase::DeletingOldCopies));
    delete_copies::delete_quarantined(job, &mut throttle, Timestamp::now(), Timestamp::from_micros(0)).await?;
    job.update_progress(|progress| progress.begin(JobPhase::ReleasingSpace));
    for database in &databases {
        job.check_stop()?;
        job.count("freed_bytes", database.database.free_blob_space().await?);
    }
    job.update_progress(|progress| {
        progress.phase = String::new();
        let end = Cursor { after: i64::MAX, ..Cursor::default() };
        progress.cursor = serde_json::to_value(end).unwrap_or_default();
    });
    let progress = job.progress();
    let moved = moved_by(&progress);
    let mut message = format!("{} {} moved", counted(moved, "BLOB"), if moved == 1 { "was" } else { "were" });
    match progress.results.get(LOST) {
        None | Some(0) => {}
        Some(1) => message.push_str("; the reference to 1 more, whose loss was accepted, was moved without bytes"),
        Some(lost) => message
            .push_str(&format!("; the references to {lost} more, whose loss was accepted, were moved without bytes")),
    }
    if progress.failed > 0 {
        message.push_str(&format!(", {} could not be moved", progress.failed));
    }
    let held = delete_copies::held_copies(&storage).await?;
    if held > 0 {
        let copies = if held == 1 { "copy remains" } else { "copies remain" };
        message.push_str(&format!("; {held} old {copies}{}", why_held(&storage.backup_holds().await?)));
    }
    Ok(message)
}

/// Explains which backups hold old copies, and when the holds end.
fn why_held(holds: &[BackupHold]) -> String {
    let time = |at: Timestamp| {
        let at = OffsetDateTime::from_unix_timestamp(at.seconds()).ok().and_then(|at| at.format(&Rfc3339).ok());
        at.unwrap_or_default()
    };
    let each = holds.iter().map(|hold| match hold.lapses_at {
        Some(at) => format!(
            "the backup {} is running or was interrupted; without further signs of life, its hold ends at {}",
            hold.id,
            time(at)
        ),
        None => format!("the backup {} in {} has no copies of its own", hold.id, hold.destination),
    });
    let each: Vec<String> = each.collect();
    match each.is_empty() {
        true => " until the next collection".to_owned(),
        false => {
            format!(" until a collection runs after these backups have ended or been removed: {}", each.join("; "))
        }
    }
}

/// Returns the starting position, after bringing the progress in line with it.
async fn begin(job: &RunningJob, databases: &[StorageDatabase], work: &MigrateWork) -> Result<Cursor> {
    let cursor: Cursor = serde_json::from_value(job.progress().cursor).unwrap_or_default();
    recount(job, databases).await?;
    if work.limit.is_some() || cursor.after != i64::MAX {
        return Ok(cursor);
    }
    // A migration resumed after its end retries the BLOBs that could not be moved.
    let failed = job.progress().failed;
    job.forget_failures();
    job.update_progress(|progress| {
        progress.cursor = serde_json::Value::Null;
        (progress.items, progress.failed) = (progress.items.saturating_sub(failed), 0);
    });
    Ok(Cursor::default())
}

/// Returns the number of BLOBs that a job has moved, from its progress.
fn moved_by(progress: &JobProgress) -> u64 {
    progress.items.saturating_sub(progress.failed + progress.results.get(LOST).copied().unwrap_or(0))
}

/// Raises the progress to the counts in the databases, because a killed job did not save its last pages. Removes the
/// counts of jobs that the farm no longer knows.
async fn recount(job: &RunningJob, databases: &[StorageDatabase]) -> Result<()> {
    let id = job.id;
    let mut sum = Moved::default();
    for database in databases {
        let (of_this, known) =
            database.database.read(move |reader| Ok((progress::find(reader, id)?, progress::jobs(reader)?))).await?;
        sum.blobs += of_this.blobs;
        sum.bytes += of_this.bytes;
        sum.lost += of_this.lost;
        for other in known {
            if job.storage().configuration().read(move |reader| job::find(reader, other)).await?.is_none() {
                database.database.write_vital(move |transaction| progress::forget(transaction, other)).await?;
            }
        }
    }
    let failed = job.progress().failed;
    job.update_progress(|progress| {
        let moved = moved_by(progress).max(sum.blobs.max(0) as u64);
        let lost = progress.results.get(LOST).copied().unwrap_or(0).max(sum.lost.max(0) as u64);
        progress.items = moved + lost + failed;
        progress.bytes = progress.bytes.max(sum.bytes.max(0) as u64);
        if lost > 0 {
            progress.results.insert(LOST.to_owned(), lost);
        }
    });
    Ok(())
}

/// Returns the moves of one database. An unresponsive source store is reported when the job begins and left out, unless
/// it is the only source requested.
fn plan<'a>(
    job: &'a RunningJob,
    storage: &Storage,
    database: &'a StorageDatabase,
    work: &MigrateWork,
    begins: bool,
) -> Result<Vec<StoreMove<'a>>> {
    let to = match &work.to {
        Some(name) => storage.store_named(name)?.id,
        None => database.active_store,
    };
    let only = work.from.as_ref().map(|name| storage.store_named(name)).transpose()?.map(|row| row.id);
    let mut moves = Vec::new();
    for (row, _) in storage.stores() {
        if row.id == to || only.is_some_and(|only| only != row.id) || work.not_from.contains(&row.name) {
            continue;
        }
        let source = match storage.store(row.id, database) {
            Ok(source) => source,
            Err(error) if only.is_some() => return Err(error),
            Err(_) if begins => {
                let error = Error::unavailable("it does not answer, so nothing was moved out of it");
                job.fail(format!("store {} for {}", row.name, database.name), &error);
                job.update_progress(|progress| progress.items += 1);
                continue;
            }
            Err(_) => continue,
        };
        let least = if row.id == DATABASE_STORE { database.minimum_size } else { 0 };
        // BLOBs uploaded from now on stay where the policy put them. Otherwise a migration of a farm in use might never
        // end.
        let now = Timestamp::now();
        let days_ago =
            |days: Option<u32>| now.before(std::time::Duration::from_secs(u64::from(days.unwrap_or(0)) * DAY));
        moves.push(StoreMove {
            job,
            database,
            from: (row.id, source),
            to: (to, storage.store(to, database)?),
            which: Selection {
                store_id: row.id,
                minimum_size: i64::try_from(work.minimum_size.unwrap_or(least)).unwrap_or(i64::MAX),
                maximum_size: work.maximum_size.map_or(i64::MAX, |size| i64::try_from(size).unwrap_or(i64::MAX)),
                created_before: days_ago(work.older_than_days),
                accessed_before: work.unread_days.map_or(Timestamp::from_micros(i64::MAX), |days| days_ago(Some(days))),
                within: work.library.map_or(Id::NONE, Id::new),
            },
        });
    }
    Ok(moves)
}

/// Counts the remaining work, at the first start and at each resumption.
async fn measure(job: &RunningJob, moves: &[StoreMove<'_>], cursor: &Cursor, work: &MigrateWork) -> JobResult<()> {
    job.update_progress(|progress| progress.begin(JobPhase::Counting));
    let (mut items, mut bytes) = (0, 0);
    let mut is_before = cursor.after != 0;
    for store_move in moves {
        job.check_stop()?;
        let here = store_move.database.id.get() == cursor.database && store_move.from.0.get() == cursor.store;
        if is_before && !here {
            continue;
        }
        let after = if is_before { Id::new(cursor.after) } else { Id::NONE };
        is_before = false;
        let which = store_move.which;
        let read = move |reader: &mut Reader<'_>| blob::count(reader, &which, after);
        let (count, sum) = store_move.database.database.read_long(read).await?;
        items += count.max(0) as u64;
        bytes += sum.max(0) as u64;
    }
    job.update_progress(|progress| {
        progress.begin(JobPhase::Moving);
        progress.total_items = progress.items + items.min(work.limit.unwrap_or(u64::MAX));
        progress.total_bytes = progress.bytes + bytes;
    });
    Ok(())
}

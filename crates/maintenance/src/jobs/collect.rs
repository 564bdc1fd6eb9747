//! Garbage collection: removal of BLOBs that nothing refers to.
//!
//! The reference scan marks references that no version uses. Delete propagation removes the references whose mark is
//! older than the garbage-collection window, after checking again in the same transaction, and then the bytes. Orphan
//! clean-up lists the stores and puts BLOBs into quarantine that no database knows. A collection that would delete an
//! implausibly large share of the BLOBs stops with an error.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use blobs::{BlobStore, CompactLimits, Entry};
use database::content::blob;
use database::content::deletion_queue::{self, ReclaimRow};
use database::{Reader, Transaction};
use model::{
    Code, Digest, Error, ErrorKind, Id, JobPhase, ReclaimReason, ReclaimState, Result, Timestamp, counted, grouped,
    readable_size,
};
use repository::{CollectWork, DATABASE_STORE, Storage, StorageDatabase};
use serde::{Deserialize, Serialize};

use super::delete_copies;
use super::running_job::{Halt, JobResult, RunningJob};
use super::throttle::Throttle;

/// Below this number of BLOBs, no share counts as implausibly large.
const MIN_FOR_SHARE: u64 = 50;
/// Number of references per page of the scan.
const SCAN: usize = 4_000;
/// Number of references per deletion transaction.
const PAGE: usize = 256;
/// Number of BLOBs per page of a store's listing.
const LISTING_PAGE: usize = 1_000;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Phase {
    #[default]
    Scan,
    Delete,
    Orphans,
    #[serde(rename = "release")]
    EmptyQuarantine,
    Compact,
}

/// Position from which a collection resumes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursor {
    phase: Phase,
    /// Database or store in progress.
    #[serde(rename = "place")]
    database_or_store: i64,
    /// Last reference processed in the database.
    after: i64,
    /// Position in the listing of the store.
    digest: String,
}

struct Collection<'a> {
    job: &'a RunningJob,
    storage: Storage,
    work: &'a CollectWork,
    throttle: Throttle,
    until: Option<Instant>,
    started: Timestamp,
    /// Start time minus detected forward clock jumps, so that nothing is deleted too early.
    settled: Timestamp,
    /// Number and bytes of BLOBs that a dry run would have marked, by database.
    would_mark: HashMap<Id, (u64, u64)>,
}

pub(super) async fn run(job: &RunningJob, work: &CollectWork) -> JobResult<String> {
    let storage = job.storage().refreshed().await?;
    // With a database missing, the BLOBs that only this database needs would look unreferenced.
    storage.all_databases()?;
    let until = work.time_limit.map(|seconds| Instant::now() + Duration::from_secs(seconds));
    let throttle = Throttle::new(work.rate);
    let (started, settled, would_mark) = (Timestamp::now(), storage.settled_now().await?, HashMap::new());
    let mut collection = Collection { job, storage, work, throttle, until, started, settled, would_mark };
    collection.run().await?;
    job.update_progress(|progress| {
        progress.phase = String::new();
        progress.cursor = serde_json::Value::Null;
    });
    let results = job.progress().results;
    let of = |name: &str| results.get(name).copied().unwrap_or(0);
    if work.dry_run {
        return Ok(format!(
            "{} ({}) would be marked, {} ({}) deleted, {} ({}) put into quarantine",
            counted(of("would_mark_blobs"), "BLOB"),
            readable_size(of("would_mark_bytes")),
            grouped(of("would_delete_blobs")),
            readable_size(of("would_delete_bytes")),
            grouped(of("would_quarantine_blobs")),
            readable_size(of("would_quarantine_bytes")),
        ));
    }
    Ok(format!(
        "{} marked as unreferenced, {} ({}) deleted, {} put into quarantine",
        counted(of("marked_blobs"), "BLOB"),
        grouped(of("deleted_blobs")),
        readable_size(of("deleted_bytes")),
        grouped(of("quarantined_blobs")),
    ))
}

impl Collection<'_> {
    async fn run(&mut self) -> JobResult<()> {
        let progress = self.job.progress();
        if progress.cursor.is_null() {
            // Start from the beginning, possibly a repeated one: earlier failures are retried.
            self.job.forget_failures();
            if self.work.dry_run {
                self.job.update_progress(|progress| progress.results.clear());
            }
        }
        let cursor: Cursor = serde_json::from_value(progress.cursor).unwrap_or_default();
        if !self.work.dry_run {
            // Interrupted deletions are completed first, because uploads of the same bytes are refused until then.
            let never = Timestamp::from_micros(0);
            delete_copies::delete_quarantined(self.job, &mut self.throttle, never, never).await?;
        }
        if cursor.phase <= Phase::Scan {
            self.begin(Phase::Scan, JobPhase::Marking);
            self.scan(&cursor).await?;
        }
        if cursor.phase <= Phase::Delete {
            self.begin(Phase::Delete, JobPhase::DeletingMarked);
            self.delete_marked().await?;
        }
        if cursor.phase <= Phase::Orphans {
            self.begin(Phase::Orphans, JobPhase::FindingOrphans);
            self.orphans(&cursor).await?;
        }
        if cursor.phase <= Phase::EmptyQuarantine {
            self.begin(Phase::EmptyQuarantine, JobPhase::EmptyingQuarantine);
            self.empty_quarantine().await?;
        }
        if !self.work.dry_run {
            self.begin(Phase::Compact, JobPhase::ReleasingSpace);
            self.compact().await?;
        }
        Ok(())
    }

    fn begin(&self, phase: Phase, shown: JobPhase) {
        self.save_position(Cursor { phase, ..Cursor::default() });
        self.job.update_progress(|progress| progress.begin(shown));
    }

    fn save_position(&self, cursor: Cursor) {
        self.job.update_progress(|progress| progress.cursor = serde_json::to_value(cursor).unwrap_or_default());
    }

    fn ago(&self, seconds: u64) -> Timestamp {
        self.settled.before(Duration::from_secs(seconds))
    }

    /// Stops with an error when a stop was requested or the time limit has passed.
    fn go_on(&self) -> JobResult<()> {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            return Err(Halt::Stopped);
        }
        self.job.check_stop()
    }

    /// Runs the reference scan.
    async fn scan(&mut self, cursor: &Cursor) -> JobResult<()> {
        for database in self.storage.all_databases()? {
            if cursor.phase == Phase::Scan && database.id.get() < cursor.database_or_store {
                continue;
            }
            let here = cursor.phase == Phase::Scan && database.id.get() == cursor.database_or_store;
            let mut after = if here { Id::new(cursor.after) } else { Id::NONE };
            if !self.work.dry_run {
                database.database.write_vital(blob::unmark_used).await?;
            }
            loop {
                self.go_on()?;
                let read = move |reader: &mut Reader<'_>| {
                    let Some(last) = blob::last_of_page(reader, after, SCAN)? else { return Ok(None) };
                    blob::count_unmarked(reader, after, last).map(|counts| Some((last, counts)))
                };
                let Some((last, (count, bytes))) = database.database.read_long(read).await? else { break };
                if self.work.dry_run {
                    let (count, bytes) = (count.max(0) as u64, bytes.max(0) as u64);
                    self.job.count("would_mark_blobs", count);
                    self.job.count("would_mark_bytes", bytes);
                    let marked = self.would_mark.entry(database.id).or_default();
                    *marked = (marked.0 + count, marked.1 + bytes);
                } else if count > 0 {
                    let now = Timestamp::now();
                    let mark = move |transaction: &mut Transaction<'_>| blob::mark(transaction, after, last, now);
                    self.job.count("marked_blobs", database.database.write_vital(mark).await?);
                }
                after = last;
                self.save_position(Cursor {
                    database_or_store: database.id.get(),
                    after: after.get(),
                    ..Cursor::default()
                });
                self.throttle.after(self.job, 0).await?;
            }
        }
        Ok(())
    }

    /// Runs delete propagation.
    async fn delete_marked(&mut self) -> JobResult<()> {
        let window = u64::from(self.work.window_days) * 24 * 3600;
        // Without a window, the marks of this run are included.
        let wanted = if window == 0 { Timestamp::now().after(Duration::from_secs(1)) } else { self.ago(window) };
        let before = delete_copies::cutoff(&self.storage, wanted).await?;
        for database in self.storage.all_databases()? {
            let (mut due, mut due_bytes, all) = self.due(&database, before).await?;
            // References marked in this run are deleted in it, unless a window or a backup retains them.
            if let Some((count, bytes)) = self.would_mark.get(&database.id).filter(|_| before >= self.started) {
                (due, due_bytes) = (due + count, due_bytes + bytes);
            }
            if self.work.dry_run {
                self.job.count("would_delete_blobs", due);
                self.job.count("would_delete_bytes", due_bytes);
            }
            self.require_plausible_share(
                due,
                all,
                &format!("references of the content database \"{}\"", database.name),
            )?;
            if self.work.dry_run {
                continue;
            }
            let mut after = Id::NONE;
            loop {
                self.go_on()?;
                let deletion_lock = self.job.deletion_lock().await?;
                let read = move |reader: &mut Reader<'_>| blob::marked_before(reader, before, after, PAGE);
                let page = database.database.read(read).await?;
                let Some(last) = page.last() else { break };
                after = last.id;
                let bytes = page.iter().map(|row| row.size.max(0) as u64).sum();
                let take = move |transaction: &mut Transaction<'_>| {
                    let mut taken = Vec::with_capacity(page.len());
                    for row in &page {
                        if blob::delete_marked(transaction, row.id, before)? {
                            let row = waiting(row.store_id, row.digest, row.size, ReclaimReason::Deleted);
                            deletion_queue::begin(transaction, &row)?;
                            taken.push(row);
                        }
                    }
                    Ok(taken)
                };
                let taken = database.database.write_vital(take).await?;
                delete_copies::delete(self.job, &deletion_lock, &self.storage, &database, taken).await?;
                drop(deletion_lock);
                self.throttle.after(self.job, bytes).await?;
            }
        }
        Ok(())
    }

    /// Returns number and bytes of the references whose mark is older than `before`, and the number of all references.
    async fn due(&self, database: &StorageDatabase, before: Timestamp) -> Result<(u64, u64, u64)> {
        let count = move |reader: &mut Reader<'_>| {
            let (due, bytes) = blob::count_marked_before(reader, before)?;
            let all: i64 = blob::totals(reader)?.iter().map(|(_, count, _)| count).sum();
            Ok((due.max(0) as u64, bytes.max(0) as u64, all.max(0) as u64))
        };
        database.database.read_long(count).await
    }

    fn require_plausible_share(&self, due: u64, all: u64, what: &str) -> JobResult<()> {
        if due <= MIN_FOR_SHARE || due * 100 <= all * u64::from(self.work.share) {
            return Ok(());
        }
        Err(Halt::Fault(
            Error::conflict(format!(
                "{due} of {all} {what} would be deleted, which is more than {} percent: make sure that no database was \
                 restored to an older state, then collect with a larger share",
                self.work.share
            ))
            .with_code(Code::UnlikelyShare),
        ))
    }

    /// Runs orphan clean-up.
    async fn orphans(&mut self, cursor: &Cursor) -> JobResult<()> {
        let databases = self.storage.all_databases()?;
        for (row, store) in self.storage.clone().stores() {
            match store {
                Some(store) => match self.list_store(cursor, row.id, store, &databases).await {
                    Err(Halt::Fault(error)) if error.kind() == ErrorKind::Unavailable => {
                        self.leave_out(&row.name, &error)
                    }
                    listed => listed?,
                },
                None if row.id == DATABASE_STORE => {
                    for database in &databases {
                        let only = std::slice::from_ref(database);
                        self.list_store(cursor, row.id, &database.own_store, only).await?;
                    }
                }
                None => self.leave_out(&row.name, &Error::unavailable("it is not available")),
            }
        }
        Ok(())
    }

    fn leave_out(&mut self, store: &str, error: &Error) {
        let told = Error::unavailable(format!("it was skipped: {}", error.message()));
        self.job.fail(format!("store {store}"), &told);
    }

    async fn list_store(
        &mut self,
        cursor: &Cursor,
        id: Id,
        store: &BlobStore,
        databases: &[StorageDatabase],
    ) -> JobResult<()> {
        let Some(first) = databases.first() else { return Ok(()) };
        let database_or_store = if id == DATABASE_STORE { first.id.get() } else { id.get() };
        let here = cursor.phase == Phase::Orphans && cursor.database_or_store == database_or_store;
        let mut after: Option<Digest> = if here { cursor.digest.parse().ok() } else { None };
        let before = self.ago(u64::from(self.work.orphan_hours) * 3600);
        loop {
            self.go_on()?;
            let page = store.enumerate(after, LISTING_PAGE).await?;
            let old: Vec<Entry> = page.entries.into_iter().filter(|entry| entry.stored_at < before).collect();
            let unknown = unneeded(&self.storage, databases, id, old).await?;
            let (count, bytes) = (unknown.len() as u64, unknown.iter().map(|entry| entry.size).sum());
            if self.work.dry_run {
                self.job.count("would_quarantine_blobs", count);
                self.job.count("would_quarantine_bytes", bytes);
            } else if count > 0 {
                let aside = move |transaction: &mut Transaction<'_>| {
                    let mut fresh = 0;
                    for entry in &unknown {
                        let size = i64::try_from(entry.size).unwrap_or(i64::MAX);
                        let row = waiting(id, entry.digest, size, ReclaimReason::Orphan);
                        fresh += u64::from(deletion_queue::quarantine(transaction, &row)?);
                    }
                    Ok(fresh)
                };
                self.job.count("quarantined_blobs", first.database.write_vital(aside).await?);
            }
            let Some(next) = page.next else { return Ok(()) };
            after = Some(next);
            self.save_position(Cursor {
                phase: Phase::Orphans,
                database_or_store,
                digest: next.to_string(),
                ..Cursor::default()
            });
            self.throttle.after(self.job, 0).await?;
        }
    }

    /// Deletes BLOBs whose quarantine has expired.
    async fn empty_quarantine(&mut self) -> JobResult<()> {
        let quarantine = u64::from(self.work.quarantine_days) * 24 * 3600;
        let now = Timestamp::now().after(Duration::from_secs(1));
        let orphans_before = if quarantine == 0 { now } else { self.ago(quarantine) };
        let mut due = 0;
        for database in self.storage.all_databases()? {
            let read = move |reader: &mut Reader<'_>| deletion_queue::count_orphans(reader, orphans_before);
            due += database.database.read_long(read).await?.max(0) as u64;
        }
        if due > MIN_FOR_SHARE {
            let mut all = 0;
            for (_, store) in self.storage.stores() {
                // Leaving out an unresponsive store only makes the share larger.
                if let Some(store) = store
                    && let Ok(usage) = store.usage().await
                {
                    all += usage.blobs;
                }
            }
            for database in self.storage.all_databases()? {
                all += database.own_store.usage().await?.blobs;
            }
            self.require_plausible_share(due, all, "BLOBs of all stores (those that no database knows)")?;
        }
        match self.work.dry_run {
            true => delete_copies::count_due(self.job, now, orphans_before).await,
            false => delete_copies::delete_quarantined(self.job, &mut self.throttle, now, orphans_before).await,
        }
    }

    async fn compact(&mut self) -> JobResult<()> {
        for database in self.storage.all_databases()? {
            self.go_on()?;
            self.job.count("freed_bytes", database.database.free_blob_space().await?);
        }
        for (row, store) in self.storage.clone().stores() {
            self.go_on()?;
            let Some(store) = store else { continue };
            match store.compact(CompactLimits::default()).await {
                Ok(report) => self.job.count("freed_bytes", report.freed_bytes),
                // Another collection is compacting the store.
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                Err(error) => self.job.fail(format!("store {}", row.name), &error),
            }
        }
        Ok(())
    }
}

fn waiting(store: Id, digest: Digest, size: i64, reason: ReclaimReason) -> ReclaimRow {
    let (state, since) = (ReclaimState::Quarantined, Timestamp::now());
    ReclaimRow { store_id: store, digest, size, reason, state, since }
}

/// Census: returns those of the BLOBs of a store that no database needs there.
pub(super) async fn unneeded(
    storage: &Storage,
    databases: &[StorageDatabase],
    store: Id,
    entries: Vec<Entry>,
) -> Result<Vec<Entry>> {
    let mut entries = entries;
    // Current list of stores. A reference to a store that is not listed keeps a BLOB of the same digest: the store was
    // forgotten, or it is so new that its BLOBs are still kept elsewhere.
    let known = storage.stores_now().await?;
    for database in databases {
        if entries.is_empty() {
            break;
        }
        let known = known.clone();
        let ask = move |reader: &mut Reader<'_>| {
            let mut unknown = Vec::new();
            for entry in entries {
                if !blob::needs(reader, &entry.digest, store, &known)? {
                    unknown.push(entry);
                }
            }
            Ok(unknown)
        };
        entries = database.database.read_long(ask).await?;
    }
    Ok(entries)
}

//! A part of a migration: the move of BLOBs from one store of a content database to another, page by page.

use std::pin::pin;

use async_recursion::async_recursion as boxed;
use blobs::{BlobStore, Stored};
use database::content::blob::{self, BlobRow, Selection};
use database::content::deletion_queue::{self, DeletionState, ReclaimRow};
use database::content::fault;
use database::content::progress::{self, Moved};
use database::{Reader, Transaction};
use futures_util::StreamExt;
use model::{Code, Digest, Error, ErrorKind, Id, ReclaimReason, ReclaimState, Result, Timestamp};
use repository::{DATABASE_STORE, MigrateWork, StorageDatabase, note_unreadable};
use serde::{Deserialize, Serialize};

use crate::jobs::delete_copies;
use crate::jobs::running_job::{JobResult, RunningJob};
use crate::jobs::throttle::Throttle;

use super::copying;

/// Number of BLOBs per transaction, and the smaller number when a rate limit delays each transaction.
const PAGE: usize = 256;
const PAGE_AT_RATE: usize = 8;

/// Name of the result that counts references to lost bytes.
pub(super) const LOST: &str = "accepted_losses";

/// Position from which a migration resumes.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// Identifiers of the content database and the source store in progress.
    pub database: i64,
    pub store: i64,
    /// Last reference processed.
    pub after: i64,
}

/// A part of a migration: the move from one store of a database to another.
pub(super) struct StoreMove<'a> {
    pub job: &'a RunningJob,
    pub database: &'a StorageDatabase,
    pub from: (Id, BlobStore),
    pub to: (Id, BlobStore),
    pub which: Selection,
}

impl StoreMove<'_> {
    /// Moves all selected BLOBs after `after`. Returns false when the limit was reached.
    #[boxed]
    pub async fn run(&self, mut after: Id, work: &MigrateWork, throttle: &mut Throttle) -> JobResult<bool> {
        let page = if work.rate.is_some() { PAGE_AT_RATE } else { PAGE };
        loop {
            self.job.check_stop()?;
            let left = work.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.job.progress().items));
            let size = page.min(usize::try_from(left).unwrap_or(page));
            if size == 0 {
                return Ok(false);
            }
            let which = self.which;
            let read = move |reader: &mut Reader<'_>| blob::select(reader, &which, after, size);
            let page = self.database.database.read_long(read).await?;
            let Some(last) = page.last().map(|row| row.id) else { return Ok(true) };
            let bytes = page.iter().map(|row| row.size.max(0) as u64).sum();
            let done = self.page(page, throttle.is_busy()).await?;
            after = last;
            // The whole progress changes at once, so that it is saved together.
            let cursor = Cursor { database: self.database.id.get(), store: self.from.0.get(), after: after.get() };
            self.job.update_progress(|progress| {
                progress.cursor = serde_json::to_value(cursor).unwrap_or_default();
                progress.items += (done.moved.blobs + done.moved.lost) as u64 + done.failed.len() as u64;
                progress.bytes += done.moved.bytes as u64;
                if done.moved.lost > 0 {
                    *progress.results.entry(LOST.to_owned()).or_default() += done.moved.lost as u64;
                }
            });
            for (digest, error) in &done.failed {
                self.job.fail(digest.to_string(), error);
            }
            metrics::counter!("strongroom_blobs_migrated_total").increment(done.moved.blobs as u64);
            // Old copies in the content database are deleted page by page, to keep its file from growing during the
            // migration.
            if self.from.0 == DATABASE_STORE {
                delete_copies::delete_quarantined(self.job, throttle, Timestamp::now(), Timestamp::from_micros(0))
                    .await?;
            }
            throttle.after(self.job, bytes).await?;
        }
    }

    async fn page(&self, page: Vec<BlobRow>, gently: bool) -> JobResult<PageOutcome> {
        let mut copies = pin!(copying::copy(&self.from.1, &self.to.1, self.to.0, page, gently));
        let (mut copied, mut done) = (Vec::new(), PageOutcome::default());
        while let Some((row, outcome)) = copies.next().await {
            match outcome {
                Ok(stored) => copied.push((row, Some(stored))),
                // The store is full or unavailable, so the next BLOB would fail too.
                Err(error) if is_store_wide(&error) => return Err(error.into()),
                Err(error) if error.code() == Code::BlobNotWhole && self.is_accepted(&row).await? => {
                    copied.push((row, None))
                }
                // Another job has moved it meanwhile, or nothing refers to it any more.
                Err(error) if error.code() == Code::BlobNotWhole && !self.is_needed(&row).await? => {}
                Err(error) if error.code() == Code::BlobNotWhole => {
                    self.record_fault(&row).await?;
                    done.failed.push((row.digest, error));
                }
                Err(error) => done.failed.push((row.digest, error)),
            }
        }
        self.redirect(copied, &mut done).await?;
        Ok(done)
    }

    /// Returns whether the content database still needs these bytes in the source.
    async fn is_needed(&self, row: &BlobRow) -> Result<bool> {
        let (digest, from) = (row.digest, self.from.0);
        let present = self.database.database.read(move |reader| blob::find(reader, &digest)).await?;
        Ok(present.is_some_and(|present| present.store_id == from))
    }

    /// Returns whether these bytes are on record as lost, with the loss accepted.
    async fn is_accepted(&self, row: &BlobRow) -> Result<bool> {
        let (digest, from) = (row.digest, self.from.0);
        let faults = self.database.database.read(move |reader| fault::find(reader, &digest)).await?;
        Ok(faults.iter().any(|fault| fault.store_id == from && fault.accepted_at.is_some()))
    }

    /// Records the fault that a check would find.
    async fn record_fault(&self, row: &BlobRow) -> Result<()> {
        let (from, blob) = ((self.from.0, &self.from.1), (row.digest, row.size.max(0) as u64));
        match note_unreadable(&self.database.database, from, blob).await {
            // If the source has become unavailable, reading the next BLOB reports it.
            Err(error) if error.kind() == ErrorKind::Unavailable => Ok(()),
            noted => noted.map(drop),
        }
    }

    /// Redirects references to their copies and puts the old copies into quarantine. A copy that existed before, or
    /// whose digest was deleted recently, may be gone. Such a copy is confirmed while this job holds the deletion lock,
    /// so that it cannot be deleted before the reference points to it.
    async fn redirect(&self, copied: Vec<Copied>, done: &mut PageOutcome) -> JobResult<()> {
        let existed = |copied: &Copied| copied.1.is_some_and(|stored| stored.existed);
        let (mut uncertain, fresh): (Vec<_>, Vec<_>) = copied.into_iter().partition(existed);
        uncertain.extend(self.redirect_in_transaction(fresh, false, done).await?);
        if !uncertain.is_empty() {
            let _alone = self.job.deletion_lock().await?;
            let mut there = Vec::with_capacity(uncertain.len());
            for (row, stored) in uncertain {
                match self.to.1.ensure_present(row.digest, row.size.max(0) as u64).await {
                    Ok(()) => there.push((row, stored)),
                    Err(error) if is_store_wide(&error) => return Err(error.into()),
                    Err(error) => done.failed.push((row.digest, error)),
                }
            }
            self.redirect_in_transaction(there, true, done).await?;
        }
        Ok(())
    }

    /// Redirects references to their copies in one transaction, which also counts them. Returns the references that
    /// were left unchanged because their copy may be gone. `found` means that all copies have been confirmed. For an
    /// accepted loss there is no copy; the record of the loss moves to the destination store.
    async fn redirect_in_transaction(
        &self,
        copied: Vec<Copied>,
        found: bool,
        done: &mut PageOutcome,
    ) -> Result<Vec<Copied>> {
        let (from, to, job) = (self.from.0, self.to.0, self.job.id);
        let write = move |transaction: &mut Transaction<'_>| {
            let (mut refused, mut uncertain, mut count) = (Vec::new(), Vec::new(), Moved::default());
            for (row, stored) in &copied {
                match deletion_queue::require_not_deleting(transaction, to, &row.digest) {
                    Ok(DeletionState::DeletedLately) if !found && stored.is_some() => {
                        uncertain.push((row.clone(), *stored));
                        continue;
                    }
                    Ok(_) => {}
                    Err(error) if error.code() == Code::BlobBeingDeleted => {
                        refused.push((row.digest, error.message().to_owned()));
                        continue;
                    }
                    Err(error) => return Err(error),
                }
                let locator = stored.as_ref().map(|stored| stored.locator.as_bytes());
                let unneeded = match (blob::relocate(transaction, row.id, from, to, locator)?, stored) {
                    (true, Some(_)) => {
                        fault::remove(transaction, from, &row.digest)?;
                        count = Moved { blobs: count.blobs + 1, bytes: count.bytes + row.size, ..count };
                        quarantine_entry(row, from, ReclaimReason::Moved)
                    }
                    (true, None) => {
                        fault::move_to_store(transaction, from, to, &row.digest)?;
                        count.lost += 1;
                        quarantine_entry(row, from, ReclaimReason::Moved)
                    }
                    // If the reference was changed meanwhile, the new copy is the unneeded one.
                    (false, Some(_)) => quarantine_entry(row, to, ReclaimReason::Orphan),
                    (false, None) => continue,
                };
                deletion_queue::quarantine(transaction, &unneeded)?;
            }
            progress::add(transaction, job, count)?;
            Ok((refused, uncertain, count))
        };
        let (refused, uncertain, count) = self.database.database.write_vital(write).await?;
        let refused = refused.into_iter().map(|(digest, message)| (digest, Error::unavailable(message)));
        done.failed.extend(refused);
        done.moved.blobs += count.blobs;
        done.moved.bytes += count.bytes;
        done.moved.lost += count.lost;
        Ok(uncertain)
    }
}

/// A reference and its new copy. None for bytes that are lost with the loss accepted.
type Copied = (BlobRow, Option<Stored>);

/// Result of a page.
#[derive(Default)]
struct PageOutcome {
    moved: Moved,
    failed: Vec<(Digest, Error)>,
}

/// Returns the quarantine entry of a BLOB copy, dated now.
fn quarantine_entry(row: &BlobRow, store: Id, reason: ReclaimReason) -> ReclaimRow {
    ReclaimRow {
        store_id: store,
        digest: row.digest,
        size: row.size,
        reason,
        state: ReclaimState::Quarantined,
        since: Timestamp::now(),
    }
}

/// Returns whether an error concerns the whole store rather than one BLOB.
fn is_store_wide(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Exhausted | ErrorKind::Unavailable)
}

//! Moving BLOBs from store to store, in any direction, while people work.
//!
//! Each BLOB is copied, read back from its new place, and only then does its reference lead there; the old copy goes into
//! quarantine in the same transaction and is deleted afterwards. A reader that is in the middle of the old copy goes on in the
//! new one. A job that was cut short goes on behind the last page that was written down; what it copied twice is found to be
//! there already.

use blobs::{BlobHasher, BlobStore, Stored};
use database::content::blob::{self, BlobRow, Selection};
use database::content::reclaim::{self, ReclaimRow, Standing, reason};
use database::{Reader, Transaction};
use futures_util::stream::{self, StreamExt};
use model::{Error, ErrorKind, Id, Result, Timestamp, counted};
use repository::{DATABASE_STORE, MigrateWork, Storage, StorageDatabase};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::reclaim as release;
use super::throttle::Throttle;
use super::ticket::{Flow, Ticket};

/// BLOBs of one transaction, and of one that a rate makes wait for the next.
const PAGE: usize = 256;
const PAGE_AT_RATE: usize = 8;
/// BLOBs that are on their way at once, and how many bytes of them into a content database: uploads stand in the same line.
const AT_ONCE: usize = 32;
const BYTES_AT_ONCE: u32 = 4 << 20;
/// Microseconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// Where a migration goes on.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursor {
    /// Identifiers of the content database and the source store that are being worked on.
    database: i64,
    store: i64,
    /// The last reference that was dealt with.
    after: i64,
}

/// One leg: from one store of one database to another.
struct Leg<'a> {
    ticket: &'a Ticket,
    database: &'a StorageDatabase,
    from: (Id, BlobStore),
    to: (Id, BlobStore),
    which: Selection,
}

pub(super) async fn run(ticket: &Ticket, work: &MigrateWork) -> Flow<String> {
    let storage = ticket.storage().refreshed().await?;
    let mut throttle = Throttle::new(&storage, work.rate);
    let databases: Vec<StorageDatabase> = storage
        .databases()?
        .into_iter()
        .filter(|database| work.database.as_ref().is_none_or(|name| *name == database.name))
        .collect();
    let mut legs = Vec::new();
    for database in &databases {
        legs.extend(plan(ticket, &storage, database, work)?);
    }
    let cursor: Cursor = serde_json::from_value(ticket.figures().cursor).unwrap_or_default();
    let again = work.limit.is_none() && cursor.after == i64::MAX;
    if again {
        // Asked to go on after its end: what could not be moved is tried again.
        ticket.forget_failures();
        ticket.note(|figures| figures.cursor = serde_json::Value::Null);
    }
    let cursor = if again { Cursor::default() } else { cursor };
    measure(ticket, &legs, &cursor, work).await?;
    let mut is_before = cursor.after != 0;
    for leg in &legs {
        let here = leg.database.id.get() == cursor.database && leg.from.0.get() == cursor.store;
        if is_before && !here {
            continue;
        }
        let after = if is_before { Id::new(cursor.after) } else { Id::NONE };
        is_before = false;
        if !leg.run(after, work, &mut throttle).await? {
            break;
        }
    }
    // The last copies wait for whoever read the old place a moment ago and for nothing else.
    ticket.note(|figures| figures.phase = "deleting old copies".to_owned());
    release::release(ticket, &mut throttle, Timestamp::now(), Timestamp::from_micros(0)).await?;
    ticket.note(|figures| figures.phase = "giving space back".to_owned());
    for database in &databases {
        ticket.go_on()?;
        ticket.count("freed_bytes", database.database.give_back().await?);
    }
    ticket.note(|figures| {
        figures.phase = String::new();
        let end = Cursor { after: i64::MAX, ..Cursor::default() };
        figures.cursor = serde_json::to_value(end).unwrap_or_default();
    });
    let figures = ticket.figures();
    let moved = figures.items - figures.failed.min(figures.items);
    let mut message = format!("{} {} moved", counted(moved, "BLOB"), if moved == 1 { "was" } else { "were" });
    if figures.failed > 0 {
        message.push_str(&format!(", {} could not be", figures.failed));
    }
    let held = release::held_copies(&storage).await?;
    if held > 0 {
        let (copies, them) = if held == 1 { ("copy stays", "it") } else { ("copies stay", "them") };
        message.push_str(&format!(
            "; {held} old {copies} as long as a backup that runs, or has no copy of its own, needs {them}"
        ));
    }
    Ok(message)
}

/// The legs of one database.
fn plan<'a>(
    ticket: &'a Ticket,
    storage: &Storage,
    database: &'a StorageDatabase,
    work: &MigrateWork,
) -> Result<Vec<Leg<'a>>> {
    let to = match &work.to {
        Some(name) => storage.store_named(name)?.id,
        None => database.active_store,
    };
    let only = work.from.as_ref().map(|name| storage.store_named(name)).transpose()?.map(|row| row.id);
    let mut legs = Vec::new();
    for (row, _) in storage.stores() {
        if row.id == to || only.is_some_and(|only| only != row.id) {
            continue;
        }
        let least = if row.id == DATABASE_STORE { database.minimum_size } else { 0 };
        // What is uploaded from now on is left where the policy put it: a migration beside people at work comes to an end.
        let now = Timestamp::now();
        let days_ago =
            |days: Option<u32>| now.before(std::time::Duration::from_secs(u64::from(days.unwrap_or(0)) * DAY));
        legs.push(Leg {
            ticket,
            database,
            from: (row.id, storage.store(row.id, database)?),
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
    Ok(legs)
}

/// Counts what there is to do, at the first start and whenever the job goes on.
async fn measure(ticket: &Ticket, legs: &[Leg<'_>], cursor: &Cursor, work: &MigrateWork) -> Flow<()> {
    ticket.note(|figures| figures.phase = "counting".to_owned());
    let (mut items, mut bytes) = (0, 0);
    let mut is_before = cursor.after != 0;
    for leg in legs {
        ticket.go_on()?;
        let here = leg.database.id.get() == cursor.database && leg.from.0.get() == cursor.store;
        if is_before && !here {
            continue;
        }
        let after = if is_before { Id::new(cursor.after) } else { Id::NONE };
        is_before = false;
        let which = leg.which;
        let read = move |reader: &mut Reader<'_>| blob::count(reader, &which, after);
        let (count, sum) = leg.database.database.read_long(read).await?;
        items += count.max(0) as u64;
        bytes += sum.max(0) as u64;
    }
    ticket.note(|figures| {
        figures.phase = "moving".to_owned();
        figures.total_items = figures.items + items.min(work.limit.unwrap_or(u64::MAX));
        figures.total_bytes = figures.bytes + bytes;
    });
    Ok(())
}

impl Leg<'_> {
    /// Moves everything behind `after`; false when the limit was reached.
    async fn run(&self, mut after: Id, work: &MigrateWork, throttle: &mut Throttle) -> Flow<bool> {
        let page = if work.rate.is_some() { PAGE_AT_RATE } else { PAGE };
        loop {
            self.ticket.go_on()?;
            let left = work.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.ticket.figures().items));
            let size = page.min(usize::try_from(left).unwrap_or(page));
            if size == 0 {
                return Ok(false);
            }
            let which = self.which;
            let read = move |reader: &mut Reader<'_>| blob::select(reader, &which, after, size);
            let page = self.database.database.read_long(read).await?;
            let Some(last) = page.last().map(|row| row.id) else { return Ok(true) };
            let bytes = self.page(page, throttle).await?;
            after = last;
            let cursor = Cursor { database: self.database.id.get(), store: self.from.0.get(), after: after.get() };
            self.ticket.note(|figures| figures.cursor = serde_json::to_value(cursor).unwrap_or_default());
            throttle.after(self.ticket, bytes).await?;
        }
    }

    async fn page(&self, page: Vec<BlobRow>, throttle: &mut Throttle) -> Flow<u64> {
        let room = &Semaphore::new(BYTES_AT_ONCE as usize);
        let mut copies = stream::iter(page)
            .map(|row| async move {
                let part = u32::try_from(row.size).map_or(BYTES_AT_ONCE, |size| size.min(BYTES_AT_ONCE));
                let part = if self.to.0 == DATABASE_STORE { part } else { 0 };
                let _part = room.acquire_many(part).await;
                let copied = self.copy(&row).await;
                (row, copied)
            })
            .buffer_unordered(AT_ONCE);
        let (mut copied, mut bytes) = (Vec::new(), 0);
        while let Some((row, outcome)) = copies.next().await {
            let size = row.size.max(0) as u64;
            bytes += size;
            match outcome {
                Ok(stored) => copied.push((row, stored)),
                // The whole store is full or away: the next BLOB would fare no better.
                Err(error) if ends_all(&error) => return Err(error.into()),
                Err(error) => {
                    self.ticket.fail(row.digest.to_string(), &error);
                    self.ticket.note(|figures| figures.items += 1);
                }
            }
        }
        drop(copies);
        self.redirect(copied).await?;
        // Old copies in the content database are deleted page by page, so that its file does not grow meanwhile.
        if self.from.0 == DATABASE_STORE {
            release::release(self.ticket, throttle, Timestamp::now(), Timestamp::from_micros(0)).await?;
        }
        Ok(bytes)
    }

    /// Copies one BLOB and reads it back.
    async fn copy(&self, row: &BlobRow) -> Result<Stored> {
        let size = row.size.max(0) as u64;
        let locator = row.locator.as_deref().map(blobs::Locator::from_bytes).transpose()?;
        let mut source = self.from.1.open(row.digest, size, locator.as_ref()).await.map_err(|error| {
            if error.kind() != ErrorKind::NotFound {
                return error;
            }
            Error::corrupt("its bytes are missing where they should be: run `strongroom blobs check`")
                .with_source(error)
        })?;
        let mut writer = self.to.1.writer(Some(size)).await?;
        while let Some(bytes) = source.next_chunk().await? {
            writer.write(bytes).await?;
        }
        let stored = writer.finish().await?;
        if stored.digest != row.digest {
            return Err(Error::corrupt("its bytes are not those that were stored: run `strongroom blobs check`"));
        }
        let mut copy = self.to.1.open(row.digest, size, Some(&stored.locator)).await?;
        let mut hasher = BlobHasher::new();
        while let Some(bytes) = copy.next_chunk().await? {
            hasher.update(&bytes);
        }
        if hasher.finish() != row.digest {
            return Err(Error::corrupt("its copy was not read back as it was written"));
        }
        Ok(stored)
    }

    /// Leads references to their copies and puts the old ones into quarantine. A copy that was there before, or whose like was
    /// deleted a short time ago, may be gone: it is looked for while nobody deletes copies, and then stays there.
    async fn redirect(&self, copied: Vec<(BlobRow, Stored)>) -> Flow<()> {
        let (count, bytes) = (copied.len() as u64, copied.iter().map(|(row, _)| row.size.max(0) as u64).sum::<u64>());
        let (mut uncertain, fresh): (Vec<_>, Vec<_>) = copied.into_iter().partition(|(_, stored)| stored.existed);
        uncertain.extend(self.lead(fresh, false).await?);
        if !uncertain.is_empty() {
            let _alone = self.ticket.deleting().await?;
            let mut there = Vec::with_capacity(uncertain.len());
            for (row, stored) in uncertain {
                match self.to.1.confirm(row.digest, stored.size).await {
                    Ok(()) => there.push((row, stored)),
                    Err(error) if ends_all(&error) => return Err(error.into()),
                    Err(error) => self.ticket.fail(row.digest.to_string(), &error),
                }
            }
            self.lead(there, true).await?;
        }
        self.ticket.note(|figures| {
            figures.items += count;
            figures.bytes += bytes;
        });
        metrics::counter!("strongroom_blobs_migrated_total").increment(count);
        Ok(())
    }

    /// Leads references to copies in one transaction, and answers with those that were left where they are because their copy may be
    /// gone. `found` says that all of them were looked for.
    async fn lead(&self, copied: Vec<(BlobRow, Stored)>, found: bool) -> Result<Vec<(BlobRow, Stored)>> {
        let (from, to) = (self.from.0, self.to.0);
        let write = move |transaction: &mut Transaction<'_>| {
            let (mut refused, mut uncertain) = (Vec::new(), Vec::new());
            for (row, stored) in &copied {
                match reclaim::require_not_deleting(transaction, to, &row.digest) {
                    Ok(Standing::DeletedLately) if !found => {
                        uncertain.push((row.clone(), *stored));
                        continue;
                    }
                    Ok(_) => {}
                    Err(error) if error.code() == reclaim::BEING_DELETED => {
                        refused.push((row.digest, error.message().to_owned()));
                        continue;
                    }
                    Err(error) => return Err(error),
                }
                let moved = blob::relocate(transaction, row.id, from, to, Some(stored.locator.as_bytes()))?;
                // When the reference went elsewhere meanwhile, it is the new copy that nobody needs.
                let unneeded = if moved { aside(row, from, reason::MOVED) } else { aside(row, to, reason::ORPHAN) };
                reclaim::quarantine(transaction, &unneeded)?;
            }
            Ok((refused, uncertain))
        };
        let (refused, uncertain) = self.database.database.write_vital(write).await?;
        for (digest, message) in refused {
            self.ticket.fail(digest.to_string(), &Error::unavailable(message));
        }
        Ok(uncertain)
    }
}

/// A copy of a BLOB that is put into quarantine now.
fn aside(row: &BlobRow, store: Id, why: &str) -> ReclaimRow {
    ReclaimRow {
        store_id: store,
        digest: row.digest,
        size: row.size,
        reason: why.to_owned(),
        deleting: false,
        since: Timestamp::now(),
    }
}

/// Whether an error is about a whole store and not about one BLOB.
fn ends_all(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Exhausted | ErrorKind::Unavailable)
}

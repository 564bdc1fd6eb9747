//! Moving BLOBs from store to store, in any direction, while people work.
//!
//! Each BLOB is copied, read back from its new place, and only then does its reference lead there; the old copy goes into
//! quarantine in the same transaction and is deleted afterwards. A reader that is in the middle of the old copy goes on in the
//! new one. A job that was cut short goes on behind the last page that was written down; what it copied twice is found to be
//! there already.

use std::pin::pin;

use blobs::{BlobStore, Stored};
use database::configuration::job;
use database::content::blob::{self, BlobRow, Selection};
use database::content::fault;
use database::content::progress::{self, Moved};
use database::content::reclaim::{self, ReclaimRow, Standing, reason};
use database::{Reader, Transaction};
use futures_util::StreamExt;
use model::{Digest, Error, ErrorKind, Id, Result, Timestamp, counted};
use repository::{DATABASE_STORE, Figures, MigrateWork, Storage, StorageDatabase, note_unreadable};
use serde::{Deserialize, Serialize};

use super::copying::{self, NOT_WHOLE};
use super::reclaim as release;
use super::throttle::Throttle;
use super::ticket::{Flow, Ticket};

/// BLOBs of one transaction, and of one that a rate makes wait for the next.
const PAGE: usize = 256;
const PAGE_AT_RATE: usize = 8;
/// Seconds of a day.
const DAY: u64 = 24 * 60 * 60;

/// The result that counts references to lost bytes.
const LOST: &str = "accepted_losses";
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
    let mut throttle = Throttle::new(work.rate);
    let databases: Vec<StorageDatabase> = storage
        .databases()?
        .into_iter()
        .filter(|database| work.database.as_ref().is_none_or(|name| *name == database.name))
        .collect();
    let cursor = begin(ticket, &databases, work).await?;
    let mut legs = Vec::new();
    for database in &databases {
        legs.extend(plan(ticket, &storage, database, work, cursor.after == 0)?);
    }
    let is_here = |leg: &Leg<'_>| leg.database.id.get() == cursor.database && leg.from.0.get() == cursor.store;
    if !matches!(cursor.after, 0 | i64::MAX) && !legs.iter().any(is_here) {
        return Err(Error::unavailable("the store that BLOBs were being moved out of gives no answer").into());
    }
    measure(ticket, &legs, &cursor, work).await?;
    let mut is_before = cursor.after != 0;
    for leg in &legs {
        if is_before && !is_here(leg) {
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
    let moved = moved_by(&figures);
    let mut message = format!("{} {} moved", counted(moved, "BLOB"), if moved == 1 { "was" } else { "were" });
    match figures.results.get(LOST) {
        None | Some(0) => {}
        Some(1) => message.push_str("; the reference to 1 more, whose loss was accepted, left its store too"),
        Some(lost) => {
            message.push_str(&format!("; the references to {lost} more, whose loss was accepted, left their store too"))
        }
    }
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

/// Where to begin, with figures that fit.
async fn begin(ticket: &Ticket, databases: &[StorageDatabase], work: &MigrateWork) -> Result<Cursor> {
    let cursor: Cursor = serde_json::from_value(ticket.figures().cursor).unwrap_or_default();
    recount(ticket, databases).await?;
    if work.limit.is_some() || cursor.after != i64::MAX {
        return Ok(cursor);
    }
    // Asked to go on after its end: what could not be moved is tried again.
    let failed = ticket.figures().failed;
    ticket.forget_failures();
    ticket.note(|figures| {
        figures.cursor = serde_json::Value::Null;
        (figures.items, figures.failed) = (figures.items.saturating_sub(failed), 0);
    });
    Ok(Cursor::default())
}

/// BLOBs that a job has moved by its figures.
fn moved_by(figures: &Figures) -> u64 {
    figures.items.saturating_sub(figures.failed + figures.results.get(LOST).copied().unwrap_or(0))
}

/// Brings the figures up to what the databases say was moved: a job that was killed did not write its last pages down. Forgets what jobs
/// did that the farm does not know any more.
async fn recount(ticket: &Ticket, databases: &[StorageDatabase]) -> Result<()> {
    let job = ticket.id;
    let mut sum = Moved::default();
    for database in databases {
        let (of_this, known) =
            database.database.read(move |reader| Ok((progress::find(reader, job)?, progress::jobs(reader)?))).await?;
        sum.blobs += of_this.blobs;
        sum.bytes += of_this.bytes;
        sum.lost += of_this.lost;
        for other in known {
            if ticket.storage().configuration().read(move |reader| job::find(reader, other)).await?.is_none() {
                database.database.write_vital(move |transaction| progress::forget(transaction, other)).await?;
            }
        }
    }
    let failed = ticket.figures().failed;
    ticket.note(|figures| {
        let moved = moved_by(figures).max(sum.blobs.max(0) as u64);
        let lost = figures.results.get(LOST).copied().unwrap_or(0).max(sum.lost.max(0) as u64);
        figures.items = moved + lost + failed;
        figures.bytes = figures.bytes.max(sum.bytes.max(0) as u64);
        if lost > 0 {
            figures.results.insert(LOST.to_owned(), lost);
        }
    });
    Ok(())
}

/// The legs of one database. A store that gives no answer is noted when the job begins, and left out, unless it alone is meant.
fn plan<'a>(
    ticket: &'a Ticket,
    storage: &Storage,
    database: &'a StorageDatabase,
    work: &MigrateWork,
    begins: bool,
) -> Result<Vec<Leg<'a>>> {
    let to = match &work.to {
        Some(name) => storage.store_named(name)?.id,
        None => database.active_store,
    };
    let only = work.from.as_ref().map(|name| storage.store_named(name)).transpose()?.map(|row| row.id);
    let mut legs = Vec::new();
    for (row, _) in storage.stores() {
        if row.id == to || only.is_some_and(|only| only != row.id) || work.not_from.contains(&row.name) {
            continue;
        }
        let source = match storage.store(row.id, database) {
            Ok(source) => source,
            Err(error) if only.is_some() => return Err(error),
            Err(_) if begins => {
                let error = Error::unavailable("it gives no answer, so that nothing was moved out of it");
                ticket.fail(format!("store {} for {}", row.name, database.name), &error);
                ticket.note(|figures| figures.items += 1);
                continue;
            }
            Err(_) => continue,
        };
        let least = if row.id == DATABASE_STORE { database.minimum_size } else { 0 };
        // What is uploaded from now on is left where the policy put it: a migration beside people at work comes to an end.
        let now = Timestamp::now();
        let days_ago =
            |days: Option<u32>| now.before(std::time::Duration::from_secs(u64::from(days.unwrap_or(0)) * DAY));
        legs.push(Leg {
            ticket,
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
            let bytes = page.iter().map(|row| row.size.max(0) as u64).sum();
            let done = self.page(page).await?;
            after = last;
            // All at once, so that whatever is written down goes together.
            let cursor = Cursor { database: self.database.id.get(), store: self.from.0.get(), after: after.get() };
            self.ticket.note(|figures| {
                figures.cursor = serde_json::to_value(cursor).unwrap_or_default();
                figures.items += (done.moved.blobs + done.moved.lost) as u64 + done.failed.len() as u64;
                figures.bytes += done.moved.bytes as u64;
                if done.moved.lost > 0 {
                    *figures.results.entry(LOST.to_owned()).or_default() += done.moved.lost as u64;
                }
            });
            for (digest, error) in &done.failed {
                self.ticket.fail(digest.to_string(), error);
            }
            metrics::counter!("strongroom_blobs_migrated_total").increment(done.moved.blobs as u64);
            // Old copies in the content database are deleted page by page, so that its file does not grow meanwhile.
            if self.from.0 == DATABASE_STORE {
                release::release(self.ticket, throttle, Timestamp::now(), Timestamp::from_micros(0)).await?;
            }
            throttle.after(self.ticket, bytes).await?;
        }
    }

    async fn page(&self, page: Vec<BlobRow>) -> Flow<Done> {
        let mut copies = pin!(copying::copy(&self.from.1, &self.to.1, self.to.0, page));
        let (mut copied, mut done) = (Vec::new(), Done::default());
        while let Some((row, outcome)) = copies.next().await {
            match outcome {
                Ok(stored) => copied.push((row, Some(stored))),
                // The whole store is full or away: the next BLOB would fare no better.
                Err(error) if ends_all(&error) => return Err(error.into()),
                Err(error) if error.code() == NOT_WHOLE && self.is_accepted(&row).await? => copied.push((row, None)),
                Err(error) if error.code() == NOT_WHOLE => {
                    self.note(&row).await?;
                    done.failed.push((row.digest, error));
                }
                Err(error) => done.failed.push((row.digest, error)),
            }
        }
        self.redirect(copied, &mut done).await?;
        Ok(done)
    }

    /// Whether it is on record that these bytes are lost, and that somebody accepted it.
    async fn is_accepted(&self, row: &BlobRow) -> Result<bool> {
        let (digest, from) = (row.digest, self.from.0);
        let faults = self.database.database.read(move |reader| fault::find(reader, &digest)).await?;
        Ok(faults.iter().any(|fault| fault.store_id == from && fault.accepted_at.is_some()))
    }

    /// Puts on record what a check would find too.
    async fn note(&self, row: &BlobRow) -> Result<()> {
        let (from, blob) = ((self.from.0, &self.from.1), (row.digest, row.size.max(0) as u64));
        match note_unreadable(&self.database.database, from, blob).await {
            // A source that is away now is told of when the next BLOB is read.
            Err(error) if error.kind() == ErrorKind::Unavailable => Ok(()),
            noted => noted.map(drop),
        }
    }

    /// Leads references to their copies and puts the old ones into quarantine. A copy that was there before, or whose like was
    /// deleted a short time ago, may be gone: it is looked for while nobody deletes copies, and then stays there.
    async fn redirect(&self, copied: Vec<Copied>, done: &mut Done) -> Flow<()> {
        let existed = |copied: &Copied| copied.1.is_some_and(|stored| stored.existed);
        let (mut uncertain, fresh): (Vec<_>, Vec<_>) = copied.into_iter().partition(existed);
        uncertain.extend(self.lead(fresh, false, done).await?);
        if !uncertain.is_empty() {
            let _alone = self.ticket.deleting().await?;
            let mut there = Vec::with_capacity(uncertain.len());
            for (row, stored) in uncertain {
                match self.to.1.confirm(row.digest, row.size.max(0) as u64).await {
                    Ok(()) => there.push((row, stored)),
                    Err(error) if ends_all(&error) => return Err(error.into()),
                    Err(error) => done.failed.push((row.digest, error)),
                }
            }
            self.lead(there, true, done).await?;
        }
        Ok(())
    }

    /// Leads references to copies in one transaction, which counts them too, and answers with those that were left where they are because
    /// their copy may be gone. `found` says that all of them were looked for. Where there is no copy, because the bytes are lost and
    /// that was accepted, the record of the loss goes along.
    async fn lead(&self, copied: Vec<Copied>, found: bool, done: &mut Done) -> Result<Vec<Copied>> {
        let (from, to, job) = (self.from.0, self.to.0, self.ticket.id);
        let write = move |transaction: &mut Transaction<'_>| {
            let (mut refused, mut uncertain, mut count) = (Vec::new(), Vec::new(), Moved::default());
            for (row, stored) in &copied {
                match reclaim::require_not_deleting(transaction, to, &row.digest) {
                    Ok(Standing::DeletedLately) if !found && stored.is_some() => {
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
                let locator = stored.as_ref().map(|stored| stored.locator.as_bytes());
                let unneeded = match (blob::relocate(transaction, row.id, from, to, locator)?, stored) {
                    (true, Some(_)) => {
                        fault::remove(transaction, from, &row.digest)?;
                        count = Moved { blobs: count.blobs + 1, bytes: count.bytes + row.size, ..count };
                        aside(row, from, reason::MOVED)
                    }
                    (true, None) => {
                        fault::lead(transaction, from, to, &row.digest)?;
                        count.lost += 1;
                        aside(row, from, reason::MOVED)
                    }
                    // When the reference went elsewhere meanwhile, it is the new copy that nobody needs.
                    (false, Some(_)) => aside(row, to, reason::ORPHAN),
                    (false, None) => continue,
                };
                reclaim::quarantine(transaction, &unneeded)?;
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

/// A reference and the copy that it is to lead to; none where the bytes are lost, and that was accepted.
type Copied = (BlobRow, Option<Stored>);

/// What became of a page.
#[derive(Default)]
struct Done {
    moved: Moved,
    failed: Vec<(Digest, Error)>,
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

//! Removal of data that is no longer needed: expired entries of recycle bins, storage policies of deleted libraries,
//! and site collections whose creation was interrupted.

use std::sync::atomic::Ordering;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use database::configuration::{farm, password_link, site_collection};
use database::content::recycle::{self, RecycledRow};
use database::content::{collection, displaced, event, idempotency, lock, node, scope, tree};
use database::{Reader, Transaction};
use model::{Id, Result, Timestamp};

use crate::Session;
use crate::content::permanent_delete;
use crate::farm::registry::ContentDatabase;
use crate::farm::repository::Repository;

/// Default retention of deleted items in the recycle bins, in days.
pub const RECYCLE_DAYS: u32 = 93;
/// Page size for expired entries.
const PAGE: usize = 100;

/// Age from which a site collection that is missing in the farm's registry will certainly no longer be entered,
/// whatever the clocks of the farm's servers show.
const UNLISTED_AFTER: Duration = Duration::from_secs(2 * 60 * 60);

/// Counts of what a clean-up removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CleanedUp {
    /// Entries of recycle bins, of both stages.
    pub recycled: u64,
    /// Site collections that were never entered in the farm's registry, because their creation was interrupted.
    pub unlisted: u64,
}

impl Session {
    /// Permanently deletes items that were deleted longer ago than `recycle_kept`, and removes the storage policies of
    /// libraries that are gone for good. Safe to run concurrently with every
    /// other operation and on several servers. A database that fails does not keep the others from being cleaned up.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; otherwise the first error of a database, after all the
    /// others were cleaned up.
    #[boxed]
    pub async fn clean_up(&self, recycle_kept: Duration) -> Result<CleanedUp> {
        self.require_farm_administrator("clean up")?;
        let registry = self.registry().await?;
        let mut cleaned = CleanedUp::default();
        let mut failed = None;
        for content in &registry.databases {
            if let Err(error) = self.clean_up_database(content, recycle_kept, &mut cleaned).await {
                let (database, text) = (&content.row.name, error.report());
                tracing::warn!(database, error = text, "a content database could not be cleaned up");
                failed.get_or_insert(error);
            }
        }
        self.remove_orphaned_policies().await;
        failed.map_or(Ok(cleaned), Err)
    }

    async fn clean_up_database(
        &self,
        content: &ContentDatabase,
        recycle_kept: Duration,
        cleaned: &mut CleanedUp,
    ) -> Result<()> {
        let now = self.repository.settled_now().await?;
        cleaned.recycled += self.purge_expired(content, now.before(recycle_kept)).await?;
        cleaned.unlisted += self.remove_unlisted(content).await?;
        Ok(())
    }

    /// Removes site collections that are not in the farm's registry, provided that they hold nothing.
    async fn remove_unlisted(&self, content: &ContentDatabase) -> Result<u64> {
        let (registry, before) = (self.registry().await?, self.repository.old_enough(UNLISTED_AFTER).await?);
        let find = move |reader: &mut Reader<'_>| {
            let mut found = Vec::new();
            for id in collection::created_before(reader, before)? {
                if registry.collection(id).is_err() && holds_nothing(reader, id)? {
                    found.push(id);
                }
            }
            Ok(found)
        };
        let mut found = content.database.read_long(find).await?;
        if found.is_empty() {
            return Ok(0);
        }
        // The registry in memory may be stale. A concurrent creation is either entered before this, or finds that it is
        // too late.
        let listed = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            site_collection::list(transaction)
        };
        let listed = self.repository.inner.configuration.write_vital(listed).await?;
        found.retain(|id| listed.iter().all(|row| row.id != *id));
        let count = found.len() as u64;
        let remove = move |transaction: &mut Transaction<'_>| {
            for id in &found {
                if collection::lock(transaction, *id)?.is_some() && holds_nothing(transaction, *id)? {
                    tree::delete(transaction, *id)?;
                    collection::delete(transaction, *id)?;
                }
            }
            Ok(())
        };
        content.database.write_vital(remove).await?;
        Ok(count)
    }

    async fn purge_expired(&self, content: &ContentDatabase, before: Timestamp) -> Result<u64> {
        let mut removed = 0;
        loop {
            let page = content.database.read(move |reader| recycle::expired(reader, before, PAGE)).await?;
            let is_last = page.len() < PAGE;
            for entry in page {
                let actor = self.principal.id;
                let item = entry.node_id;
                let condemn = move |transaction: &mut Transaction<'_>| condemn(transaction, actor, &entry);
                if content.database.write_vital(condemn).await? {
                    permanent_delete::delete_detached(self, content, item).await?;
                    removed += 1;
                }
            }
            if is_last {
                // Items left over from an earlier, interrupted removal.
                permanent_delete::delete_all_detached(self, content).await?;
                return Ok(removed);
            }
        }
    }
}

/// Returns whether a site collection consists only of its root site.
#[expect(clippy::disallowed_methods, reason = "nobody asked for it, and nobody is told")]
fn holds_nothing(reader: &mut Reader<'_>, collection: Id) -> Result<bool> {
    Ok(!tree::has_more(reader, collection, 1)? && recycle::of_site(reader, collection, None, 1)?.is_empty())
}

/// Detaches one entry with everything below it; returns false when it has been purged or restored meanwhile.
fn condemn(transaction: &mut Transaction<'_>, actor: Id, entry: &RecycledRow) -> Result<bool> {
    // The lock serialises this with a concurrent restore: the restore either comes first or fails.
    let item = node::lock(transaction, entry.node_id)?;
    let Some(item) = item.filter(|item| item.parent_id == entry.id) else { return Ok(false) };
    permanent_delete::detach(transaction, &item)?;
    recycle::delete(transaction, entry.id)?;
    let row = event::EventRow {
        sequence: 0,
        at: Timestamp::now(),
        actor_id: actor,
        collection_id: entry.collection_id,
        node_id: entry.node_id,
        action: "recycle.expire".to_owned(),
        detail: entry.path.clone(),
    };
    event::insert(transaction, &row)?;
    Ok(true)
}

/// Minimum time for which idempotency keys are kept.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Time for which expired locks and grants are kept. When a clock that was ahead is set back, they are valid again.
const ENDED: Duration = Duration::from_secs(24 * 60 * 60);

impl Repository {
    /// Sets the retention of deleted items in the recycle bins, in days, for clean-ups and health rules of this
    /// process. A farm is opened with [`RECYCLE_DAYS`].
    pub fn keep_recycled(&self, days: u32) {
        self.inner.recycle_days.store(days, Ordering::Relaxed);
    }

    /// Returns the retention of deleted items in the recycle bins, in days.
    pub fn recycle_days(&self) -> u32 {
        self.inner.recycle_days.load(Ordering::Relaxed)
    }

    /// Deletes idempotency keys older than seven days, and locks, grants and links for new passwords that ended long
    /// ago. A database that fails does not keep the others from being cleaned up.
    ///
    /// # Errors
    /// The first error of a database.
    #[boxed]
    pub async fn forget_repetitions(&self) -> Result<()> {
        let (limit, ended) = (self.old_enough(REMEMBERED).await?, self.old_enough(ENDED).await?);
        let forget = move |transaction: &mut Transaction<'_>| {
            password_link::purge(transaction, ended)?;
            idempotency::purge(transaction, limit).map(drop)
        };
        let mut done = self.inner.configuration.write_vital(forget).await;
        for content in &self.registry().await?.databases {
            let purge = move |transaction: &mut Transaction<'_>| {
                lock::purge(transaction, ended)?;
                scope::purge(transaction, ended)?;
                displaced::purge(transaction, limit)?;
                idempotency::purge(transaction, limit).map(drop)
            };
            done = done.and(content.database.write_vital(purge).await);
        }
        done
    }
}

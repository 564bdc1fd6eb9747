//! Activates, closes and removes the BLOB stores of the farm.
//!
//! A removal has a number, which stays in the configuration database until the store has been removed. Activating the
//! store, or beginning another removal, deletes that number first. A removal whose number is gone removes nothing. An
//! interrupted removal is continued by another removal, or cancelled by activating the store.

use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use blobs::{BlobStore, Page};
use database::configuration::farm::{self, StoreRow};
use database::configuration::{event, policy};
use database::content::{blob, deletion_queue};
use database::{ExclusiveRight, Reader, Transaction};
use model::{Code, Error, Id, Result, StorageRules, StoreState, Timestamp, counted};
use tracing::Instrument;

use crate::Session;
use crate::farm::registry::Registry;
use crate::storage::built_in::{DATABASE_STORE, FILES_STORE};
use crate::storage::policies::users_of;

/// Name of the lock for activating, closing and removing stores.
pub(crate) const STORES_LOCK: &str = "stores";
/// Longest wait for that lock. A removal holds the lock until it ends, which includes waiting for the store.
const WAITS: Duration = Duration::from_secs(3);
/// Delay between two attempts to take the lock.
const LOCK_RETRY_DELAY: Duration = Duration::from_millis(50);
/// Time within which a store must report during a removal whether it is empty. No other store can be changed meanwhile.
const ANSWERS: Duration = Duration::from_secs(30);

/// A running removal.
struct Removal {
    number: Id,
    row: StoreRow,
}

impl Session {
    /// Sets whether a store takes new BLOBs.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`; `Conflict` when a policy still sends new
    /// BLOBs to a store that is to be closed, naming the policies; `Conflict` with code `store_busy` while a store is
    /// being removed or its state changed; `Unavailable` with code `database_away` when the store is to be activated
    /// and a content database is absent.
    #[boxed]
    pub async fn set_store_state(&self, name: &str, state: StoreState) -> Result<()> {
        self.require_farm_administrator("change BLOB stores")?;
        let stores_lock = self.lock_stores(name).await?;
        let (session, name) = (self.clone(), name.to_owned());
        run_detached(async move {
            let changed = session.change_state(&stores_lock, &name, state).await;
            stores_lock.release().await;
            changed?;
            session.repository.refresh_registry().await
        })
        .await
    }

    async fn change_state(&self, stores_lock: &ExclusiveRight, name: &str, state: StoreState) -> Result<()> {
        self.repository.refresh_registry().await?;
        self.remove_orphaned_policies().await;
        let registry = self.repository.registry().await?;
        let row = registry.store_named(name)?;
        if state != StoreState::Active {
            if row.id == DATABASE_STORE {
                return Err(Error::conflict(
                    "the content databases always take BLOBs smaller than the minimum size of their policy: set the \
                     minimum size to 0 to keep new BLOBs out of them",
                )
                .with_code(Code::StoreInUse));
            }
            let users = users_of(&registry, row.id);
            if !users.is_empty() {
                return Err(Error::conflict(format!(
                    "new BLOBs go to \"{name}\" by the policy of {}: name another store there first",
                    users.join(", ")
                ))
                .with_code(Code::StoreInUse));
            }
        }
        let (id, subject, actor) = (row.id, row.name.clone(), self.principal.id);
        if state == StoreState::Active {
            // An absent database would continue to refuse references to the store.
            registry.require_all()?;
            let called = subject.clone();
            // An interrupted removal may have closed the store. If that removal is still running after all, it must not
            // complete.
            let call_off = move |transaction: &mut Transaction<'_>| {
                farm::change_directory(transaction)?;
                if farm::stores(transaction)?.iter().all(|row| row.id != id) {
                    return Err(forgotten(&called));
                }
                farm::end_removal(transaction, id)
            };
            self.repository.inner.configuration.write(call_off).await?;
            reopen_store(stores_lock, &registry, id).await?;
        }
        let change = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            if state != StoreState::Active && is_named(transaction, id)? {
                return Err(named_meanwhile(&subject));
            }
            if !farm::set_store_state(transaction, id, state)? {
                return Err(forgotten(&subject));
            }
            event::record(transaction, Timestamp::now(), actor, "store.state", &subject, state.as_str())
        };
        self.repository.inner.configuration.write(change).await
    }

    /// Removes a store from the farm. Its bytes stay where they are. An interrupted removal is continued.
    ///
    /// # Errors
    /// `Forbidden` unless the caller is a farm administrator; `NotFound`; `Conflict` while the store is active, while
    /// documents refer to BLOBs in it, while a policy names it, or, unless `force` is set, while it holds BLOBs that
    /// nothing refers to; `Conflict` with code `store_busy` while a store is being removed or its state changed.
    #[boxed]
    pub async fn remove_store(&self, name: &str, force: bool) -> Result<()> {
        self.require_farm_administrator("remove BLOB stores")?;
        let stores_lock = self.lock_stores(name).await?;
        let (session, name) = (self.clone(), name.to_owned());
        run_detached(async move {
            let removed = session.remove_alone(&stores_lock, &name, force).await;
            stores_lock.release().await;
            let store = removed?;
            session.repository.refresh_registry().await?;
            if let Some(store) = store {
                store.close().await;
            }
            Ok(())
        })
        .await
    }

    async fn remove_alone(&self, stores_lock: &ExclusiveRight, name: &str, force: bool) -> Result<Option<BlobStore>> {
        self.repository.refresh_registry().await?;
        self.remove_orphaned_policies().await;
        let registry = self.repository.registry().await?;
        let row = registry.store_named(name)?.clone();
        if row.id == DATABASE_STORE || row.id == FILES_STORE {
            return Err(Error::conflict(format!("the store \"{name}\" belongs to every farm and cannot be removed"))
                .with_code(Code::StoreInUse));
        }
        if row.state == StoreState::Active {
            return Err(still_active(name));
        }
        registry.require_all()?;
        let removal = self.begin_removal(row).await?;
        match self.delete_store(stores_lock, &registry, &removal, force).await {
            // The store may have been removed.
            Err(error) if error.code() == Code::OutcomeUnknown => Err(error),
            Err(error) => {
                if let Err(closed) = self.abandon_removal(stores_lock, &registry, &removal).await {
                    let told = closed.report();
                    tracing::warn!(
                        store = name,
                        error = told,
                        "a store that could not be removed takes no BLOBs until it is activated"
                    );
                }
                Err(error)
            }
            removed => removed,
        }
    }

    /// Records the start of a removal, which cancels an interrupted one.
    async fn begin_removal(&self, row: StoreRow) -> Result<Removal> {
        let removal = Removal { number: self.repository.next_id(), row };
        let (number, row) = (removal.number, removal.row.clone());
        let begin = move |transaction: &mut Transaction<'_>| {
            // Serialises this with changes of policies and stores, on other servers too.
            farm::change_directory(transaction)?;
            require_unused(transaction, &row)?;
            farm::begin_removal(transaction, row.id, number)
        };
        self.repository.inner.configuration.write(begin).await?;
        Ok(removal)
    }

    /// Deletes a store to which nothing refers, and to which no running upload can refer any more. Returns it, if it is
    /// open.
    async fn delete_store(
        &self,
        stores_lock: &ExclusiveRight,
        registry: &Registry,
        removal: &Removal,
        force: bool,
    ) -> Result<Option<BlobStore>> {
        let (id, name) = (removal.row.id, removal.row.name.clone());
        for content in &registry.databases {
            stores_lock.require().await?;
            content.database.write(move |transaction| deletion_queue::close_store(transaction, id)).await?;
            content.database.write(deletion_queue::wait_for_references).await?;
            let totals = content.database.read_long(blob::totals).await?;
            if let Some((_, count, _)) = totals.iter().find(|(known, ..)| *known == id) {
                return Err(Error::conflict(format!(
                    "\"{name}\" still holds {} of the content database \"{}\": drain it first",
                    counted(model::unsigned(*count), "BLOB"),
                    content.row.name
                ))
                .with_code(Code::StoreInUse));
            }
        }
        let store = registry.stores.iter().find(|(known, _)| known.id == id).and_then(|(_, store)| store.clone());
        if !force {
            let store = store.as_ref().ok_or_else(|| silent(&name))?;
            require_empty(store.enumerate(None, 1), &name, ANSWERS).await?;
        }
        let asked: Vec<Id> = registry.databases.iter().map(|content| content.row.id).collect();
        // Prevents deletions of copies in the store while it is removed. A later deletion finds that the store is gone.
        let deleting = self.repository.inner.lock_deletions("no BLOB store can be removed").await?;
        stores_lock.require().await?;
        deleting.require().await?;
        let (number, actor, row) = (removal.number, self.principal.id, removal.row.clone());
        let remove = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            require_current_removal(transaction, &row, number, &asked)?;
            farm::delete_store(transaction, row.id)?;
            event::record(transaction, Timestamp::now(), actor, "store.remove", &row.name, &row.location)
        };
        self.repository.inner.configuration.write(remove).await?;
        deleting.release().await;
        // Pending deletions that are left over here are dropped when deletions are next resumed.
        for content in &registry.databases {
            if let Err(error) =
                content.database.write(move |transaction| deletion_queue::remove_store(transaction, id)).await
            {
                let (database, error) = (&content.row.name, error.report());
                tracing::warn!(
                    store = name,
                    database,
                    error,
                    "pending deletions in a removed store are not dropped yet"
                );
            }
        }
        Ok(store)
    }

    /// Reopens a store whose removal failed, unless another process has taken it over meanwhile.
    async fn abandon_removal(
        &self,
        stores_lock: &ExclusiveRight,
        registry: &Registry,
        removal: &Removal,
    ) -> Result<()> {
        let (number, id) = (removal.number, removal.row.id);
        let give_up = move |transaction: &mut Transaction<'_>| {
            farm::change_directory(transaction)?;
            let ours = farm::removal(transaction, id)? == Some(number)
                && farm::stores(transaction)?.iter().any(|row| row.id == id);
            if ours {
                farm::end_removal(transaction, id)?;
            }
            Ok(ours)
        };
        match self.repository.inner.configuration.write_vital(give_up).await? {
            true => reopen_store(stores_lock, registry, id).await,
            false => Ok(()),
        }
    }

    /// Takes the lock for changes of stores, which one process of the farm holds at a time.
    async fn lock_stores(&self, name: &str) -> Result<ExclusiveRight> {
        let begun = Instant::now();
        loop {
            if let Some(stores_lock) = self.repository.inner.configuration.try_exclusive(STORES_LOCK).await? {
                return Ok(stores_lock);
            }
            if begun.elapsed() > WAITS {
                return Err(Error::conflict(format!(
                    "\"{name}\" was not changed, because a BLOB store is being removed or its state is being changed: \
                     try again when that is done"
                ))
                .with_code(Code::StoreBusy));
            }
            // sleep: the other process sends no notification when it has finished
            tokio::time::sleep(LOCK_RETRY_DELAY).await;
        }
    }
}

/// Runs work on a store in a task of its own. If the caller is cancelled, the work still completes, and the lock is not
/// released before.
async fn run_detached(work: impl Future<Output = Result<()>> + Send + 'static) -> Result<()> {
    let done = tokio::spawn(work.in_current_span()).await;
    done.unwrap_or_else(|error| Err(Error::unavailable("work with a BLOB store was interrupted").with_source(error)))
}

/// Makes the content databases accept references to a store again.
async fn reopen_store(stores_lock: &ExclusiveRight, registry: &Registry, id: Id) -> Result<()> {
    for content in &registry.databases {
        stores_lock.require().await?;
        content.database.write_vital(move |transaction| deletion_queue::reopen_store(transaction, id)).await?;
    }
    Ok(())
}

/// Refuses to remove a store that holds BLOBs, or that does not respond in time.
async fn require_empty(listing: impl Future<Output = Result<Page>>, name: &str, within: Duration) -> Result<()> {
    let listed = tokio::time::timeout(within, listing).await;
    match listed.map_err(|_| silent(name))??.entries.first() {
        None => Ok(()),
        Some(entry) => Err(Error::conflict(format!(
            "\"{name}\" contains BLOBs that nothing refers to, such as {}: collect them first, or force the removal \
             and leave them where they are",
            entry.digest
        ))
        .with_code(Code::StoreNotEmpty)),
    }
}

/// Refuses to remove a store that is active, that a policy names, or that the farm no longer knows.
fn require_unused(reader: &mut Reader<'_>, row: &StoreRow) -> Result<()> {
    let stores = farm::stores(reader)?;
    let now = stores.iter().find(|now| now.id == row.id).ok_or_else(|| forgotten(&row.name))?;
    if now.state == StoreState::Active {
        return Err(still_active(&row.name));
    }
    if is_named(reader, row.id)? {
        return Err(named_meanwhile(&row.name));
    }
    Ok(())
}

/// Refuses to remove a store unless it is as the removal found it, and every present content database was queried.
fn require_current_removal(reader: &mut Reader<'_>, row: &StoreRow, number: Id, asked: &[Id]) -> Result<()> {
    require_unused(reader, row)?;
    if farm::removal(reader, row.id)? != Some(number) {
        return Err(Error::conflict(format!(
            "\"{}\" was not removed: it was activated, or another removal of it began, in the meantime",
            row.name
        ))
        .with_code(Code::StoreBusy));
    }
    if let Some(added) = farm::databases(reader)?.iter().find(|database| !asked.contains(&database.id)) {
        return Err(Error::conflict(format!(
            "\"{}\" was not removed: the content database \"{}\" was added in the meantime. Try again",
            row.name, added.name
        ))
        .with_code(Code::StoreBusy));
    }
    Ok(())
}

/// Returns whether a content database or any other policy names a store.
fn is_named(reader: &mut Reader<'_>, store: Id) -> Result<bool> {
    if farm::databases(reader)?.iter().any(|row| row.active_store_id == store) {
        return Ok(true);
    }
    for row in policy::list(reader)? {
        let tiers = StorageRules::from_text(&row.rules)?.tiers.unwrap_or_default();
        if row.store_id == Some(store) || tiers.iter().any(|tier| tier.store == store) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn silent(name: &str) -> Error {
    Error::unavailable(format!(
        "\"{name}\" does not answer, so it is unknown whether BLOBs are in it: try again, or force the removal"
    ))
}

fn still_active(name: &str) -> Error {
    Error::conflict(format!("\"{name}\" still takes new BLOBs: make it read-only or drain it first"))
        .with_code(Code::StoreInUse)
}

fn named_meanwhile(name: &str) -> Error {
    Error::conflict(format!("new BLOBs go to \"{name}\" by a storage policy: name another store there first"))
        .with_code(Code::StoreInUse)
}

fn forgotten(name: &str) -> Error {
    Error::not_found(format!("the BLOB store \"{name}\" was removed"))
}

#[cfg(test)]
mod tests;

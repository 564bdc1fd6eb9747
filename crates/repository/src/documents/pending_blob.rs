//! Bytes on their way into a document, and the reference that points to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blobs::{BlobStore, Stored};
use bytes::Bytes;
use database::Transaction;
use database::content::blob::{self, BlobRow};
use database::content::deletion_queue::{self, DeletionState};
use database::content::{fault, stored};
use model::{Code, Digest, Error, Id, Result, Timestamp};

use crate::farm::registry::ContentDatabase;
use crate::session::guard::Guard;
use crate::storage::built_in::DATABASE_STORE;
use crate::storage::database_store;
use crate::storage::placement::{StorageChoice, pin_existing, pin_if_existing};
use crate::storage::redaction::{for_users, unreadable_after_write};

/// Time limit for another store to confirm that it has equal bytes. After that, the bytes just stored are used.
const CONFIRM_TIMEOUT: Duration = Duration::from_secs(10);

/// Limit on attempts at a transaction when the same bytes are moved or deleted meanwhile.
pub(crate) const MAX_ATTEMPTS: u32 = 16;
/// Delay before each retry while an unused copy of the same bytes is being deleted.
const BEING_DELETED: Duration = Duration::from_millis(50);

/// Returns whether a transaction was refused until [`PendingBlob::ensure_referenced`] has made sure of the bytes.
pub(crate) fn needs_confirmation(error: &Error) -> bool {
    matches!(error.code(), Code::BlobDeletedLately | Code::BlobElsewhere)
}

/// Bytes that are on their way into a document.
#[derive(Clone)]
pub(crate) struct PendingBlob {
    location: PendingLocation,
    /// Set once equal bytes were confirmed to be present in another store.
    confirmed_elsewhere: Arc<AtomicBool>,
}

#[derive(Clone)]
enum PendingLocation {
    /// Small enough for the content database. The transaction that stores the document also stores these bytes.
    Inline { id: Id, digest: Digest, checksum: [u8; 16], bytes: Bytes },
    /// Durable in a BLOB store.
    External { store: Id, blobs: BlobStore, stored: Stored },
}

impl PendingBlob {
    /// Bytes for the content database, under the identifier `id`. Hashes them here, so that the single writer thread
    /// need not.
    pub(crate) fn inline(id: Id, digest: Digest, bytes: Bytes) -> Self {
        let checksum = database_store::checksum(id, 0, &bytes);
        Self { location: PendingLocation::Inline { id, digest, checksum, bytes }, confirmed_elsewhere: Arc::default() }
    }

    /// Makes bytes ready for a transaction: durable in their store, unless the transaction itself stores them.
    pub(crate) async fn put(
        guard: &Guard,
        content: &ContentDatabase,
        placement: &StorageChoice,
        bytes: Bytes,
    ) -> Result<Self> {
        let size = bytes.len() as u64;
        if size < placement.inline_limit() {
            let digest = Digest::new(*blake3::hash(&bytes).as_bytes());
            return Ok(Self::inline(guard.next_id(), digest, bytes));
        }
        let (id, store) = placement.store_for(Some(size));
        let mut writer = store.writer(Some(size)).await.map_err(for_users)?;
        writer.write(bytes).await.map_err(for_users)?;
        let stored = writer.finish().await.map_err(for_users)?;
        pin_if_existing(content, (id, store), &stored, guard.next_id()).await?;
        Ok(Self::external(id, store.clone(), stored))
    }

    /// Bytes that are durable in a store.
    pub(crate) fn external(store: Id, blobs: BlobStore, stored: Stored) -> Self {
        Self { location: PendingLocation::External { store, blobs, stored }, confirmed_elsewhere: Arc::default() }
    }

    pub(crate) fn is_inline(&self) -> bool {
        matches!(self.location, PendingLocation::Inline { .. })
    }

    pub(crate) fn digest(&self) -> Digest {
        match &self.location {
            PendingLocation::Inline { digest, .. } => *digest,
            PendingLocation::External { stored, .. } => stored.digest,
        }
    }

    pub(crate) fn size(&self) -> i64 {
        match &self.location {
            PendingLocation::Inline { bytes, .. } => bytes.len() as i64,
            PendingLocation::External { stored, .. } => i64::try_from(stored.size).unwrap_or(i64::MAX),
        }
    }

    /// Returns whether a transaction that was refused may be tried again, after making sure of the bytes.
    pub(crate) async fn may_retry(
        &self,
        error: &Error,
        attempt: u32,
        guard: &Guard,
        content: &ContentDatabase,
    ) -> Result<bool> {
        if attempt >= MAX_ATTEMPTS {
            return Ok(false);
        }
        if needs_confirmation(error) {
            self.ensure_referenced(guard, content).await?;
            return Ok(true);
        }
        // Bytes held in memory can be written a moment later.
        let is_being_deleted = error.code() == Code::BlobBeingDeleted && self.is_inline();
        if is_being_deleted {
            tokio::time::sleep(BEING_DELETED).await;
        }
        Ok(is_being_deleted)
    }

    /// Makes sure that the bytes are present at the location that their reference names. Called after a transaction was
    /// refused with an error for which [`needs_confirmation`] is true, before the transaction is retried. If there is
    /// no reference, adds one that no version uses yet. If the reference points to a store that does not have the
    /// bytes, redirects it.
    pub(crate) async fn ensure_referenced(&self, guard: &Guard, content: &ContentDatabase) -> Result<()> {
        if let PendingLocation::External { store, blobs, stored } = &self.location {
            pin_existing(content, (*store, blobs), stored, guard.next_id()).await?;
        }
        let digest = self.digest();
        let find =
            move |reader: &mut database::Reader<'_>| Ok((blob::find(reader, &digest)?, fault::find(reader, &digest)?));
        let (Some(existing), faults) = content.database.read(find).await? else { return Ok(()) };
        if existing.store_id == self.store() {
            return Ok(());
        }
        let faulty = faults.iter().any(|fault| fault.store_id == existing.store_id);
        if !faulty && is_there(guard, content, &existing).await {
            self.confirmed_elsewhere.store(true, Ordering::Relaxed);
            return Ok(());
        }
        self.redirect(content, existing).await
    }

    fn store(&self) -> Id {
        match &self.location {
            PendingLocation::Inline { .. } => DATABASE_STORE,
            PendingLocation::External { store, .. } => *store,
        }
    }

    /// Redirects a reference from a store that does not have the bytes to the bytes just stored.
    async fn redirect(&self, content: &ContentDatabase, existing: BlobRow) -> Result<()> {
        let (to, blobs, stored) = match &self.location {
            PendingLocation::External { store, blobs, stored } => (*store, blobs, *stored),
            PendingLocation::Inline { digest, bytes, .. } => {
                let stored = content.own_store.put(*digest, bytes.clone()).await.map_err(for_users)?;
                (DATABASE_STORE, &content.own_store, stored)
            }
        };
        let (digest, from, locator) = (stored.digest, existing.store_id, stored.locator);
        let redirect = move |transaction: &mut Transaction<'_>| {
            deletion_queue::require_not_deleting(transaction, to, &digest)?;
            blob::relocate(transaction, existing.id, from, to, Some(locator.as_bytes())).map(drop)
        };
        content.database.write(redirect).await?;
        // The bytes are safe from deletion only since the reference points to them, so they are confirmed now.
        blobs.ensure_present(digest, stored.size).await.map_err(unreadable_after_write)?;
        let settle = move |transaction: &mut Transaction<'_>| fault::remove(transaction, from, &digest);
        content.database.write(settle).await?;
        tracing::warn!(%digest, "an upload of the same bytes restored a BLOB that was missing from its store");
        Ok(())
    }

    /// Writes the reference, and the bytes when they stay in the database.
    pub(crate) fn reference(&self, transaction: &mut Transaction<'_>, new: Id, now: Timestamp) -> Result<BlobRow> {
        let (id, locator) = match &self.location {
            PendingLocation::Inline { id, .. } => (*id, None),
            PendingLocation::External { stored, .. } => (new, Some(stored.locator.as_bytes().to_vec())),
        };
        let row = BlobRow { id, digest: self.digest(), size: self.size(), store_id: self.store(), locator };
        let (present, deletion) = deletion_queue::add_reference(transaction, &row, now)?;
        if present.store_id != row.store_id && !self.confirmed_elsewhere.load(Ordering::Relaxed) {
            return Err(
                Error::unavailable("the same bytes are in another store: try again").with_code(Code::BlobElsewhere)
            );
        }
        if deletion == DeletionState::DeletedLately && !self.is_inline() {
            return Err(Error::unavailable("an unused copy of the same bytes has just been deleted: try again")
                .with_code(Code::BlobDeletedLately));
        }
        if let PendingLocation::External { store, stored, .. } = &self.location
            && present.id != id
            && present.store_id == *store
        {
            // A store that takes the same bytes again replaces its missing or damaged copy with them.
            fault::remove(transaction, *store, &stored.digest)?;
        }
        if let PendingLocation::Inline { digest, checksum, bytes, .. } = &self.location
            && present.id == id
            && stored::insert(transaction, id, Some(*digest), present.size, now)?
            && !bytes.is_empty()
        {
            stored::insert_chunk(transaction, id, 0, checksum, bytes)?;
        }
        Ok(present)
    }
}

/// Returns whether the store that a reference points to has the bytes. A store that does not answer counts as not
/// having them: this deletes nothing, and equal bytes are at hand.
async fn is_there(guard: &Guard, content: &ContentDatabase, existing: &BlobRow) -> bool {
    let Ok(store) = guard.registry().store(existing.store_id, content) else { return false };
    let size = u64::try_from(existing.size).unwrap_or_default();
    matches!(tokio::time::timeout(CONFIRM_TIMEOUT, store.ensure_present(existing.digest, size)).await, Ok(Ok(())))
}

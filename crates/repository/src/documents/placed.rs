//! Bytes on their way into a document, and the reference that points to them.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use blobs::{BlobStore, Stored};
use bytes::Bytes;
use database::Transaction;
use database::content::blob::{self, BlobRow};
use database::content::reclaim::{self, DeletionState};
use database::content::{fault, stored};
use model::{Code, Digest, Error, Id, Result, Timestamp};

use crate::farm::registry::ContentDatabase;
use crate::session::guard::Guard;
use crate::storage::built_in::DATABASE_STORE;
use crate::storage::database_store;
use crate::storage::placement::pin_existing;
use crate::storage::redaction::{for_users, unreadable_after_write};

/// Time limit for another store to confirm that it has equal bytes. After that, the bytes just stored are used.
const PATIENCE: Duration = Duration::from_secs(10);

/// Returns whether a transaction was refused until [`Placed::hold`] has made sure of the bytes.
pub(crate) fn is_unsure(error: &Error) -> bool {
    matches!(error.code(), Code::BlobDeletedLately | Code::BlobElsewhere)
}

/// Bytes that are on their way into a document.
#[derive(Clone)]
pub(crate) struct Placed {
    place: Place,
    /// Set once equal bytes were confirmed to be present in another store.
    confirmed_elsewhere: Arc<AtomicBool>,
}

#[derive(Clone)]
enum Place {
    /// Small enough for the content database. The transaction that stores the document also stores these bytes.
    Inline { id: Id, digest: Digest, checksum: [u8; 16], bytes: Bytes },
    /// Durable in a BLOB store.
    External { store: Id, blobs: BlobStore, stored: Stored },
}

impl Placed {
    /// Bytes for the content database, under the identifier `id`. Hashes them here, so that the single writer thread
    /// need not.
    pub(crate) fn inline(id: Id, digest: Digest, bytes: Bytes) -> Self {
        let checksum = database_store::checksum(id, 0, &bytes);
        Self { place: Place::Inline { id, digest, checksum, bytes }, confirmed_elsewhere: Arc::default() }
    }

    /// Bytes that are durable in a store.
    pub(crate) fn external(store: Id, blobs: BlobStore, stored: Stored) -> Self {
        Self { place: Place::External { store, blobs, stored }, confirmed_elsewhere: Arc::default() }
    }

    pub(crate) fn is_inline(&self) -> bool {
        matches!(self.place, Place::Inline { .. })
    }

    pub(crate) fn digest(&self) -> Digest {
        match &self.place {
            Place::Inline { digest, .. } => *digest,
            Place::External { stored, .. } => stored.digest,
        }
    }

    pub(crate) fn size(&self) -> i64 {
        match &self.place {
            Place::Inline { bytes, .. } => bytes.len() as i64,
            Place::External { stored, .. } => i64::try_from(stored.size).unwrap_or(i64::MAX),
        }
    }

    /// Makes sure that the bytes are present at the location that their reference names. Called after a transaction was
    /// refused with an error for which [`is_unsure`] is true, before the transaction is retried. If there is no
    /// reference, adds one that no version uses yet. If the reference points to a store that does not have the bytes,
    /// redirects it.
    pub(crate) async fn hold(&self, guard: &Guard, content: &ContentDatabase) -> Result<()> {
        if let Place::External { store, blobs, stored } = &self.place {
            pin_existing(content, (*store, blobs), stored, guard.next_id()).await?;
        }
        let digest = self.digest();
        let find =
            move |reader: &mut database::Reader<'_>| Ok((blob::find(reader, &digest)?, fault::find(reader, &digest)?));
        let (Some(standing), faults) = content.database.read(find).await? else { return Ok(()) };
        if standing.store_id == self.store() {
            return Ok(());
        }
        let faulty = faults.iter().any(|fault| fault.store_id == standing.store_id);
        if !faulty && is_there(guard, content, &standing).await {
            self.confirmed_elsewhere.store(true, Ordering::Relaxed);
            return Ok(());
        }
        self.redirect(content, standing).await
    }

    fn store(&self) -> Id {
        match &self.place {
            Place::Inline { .. } => DATABASE_STORE,
            Place::External { store, .. } => *store,
        }
    }

    /// Redirects a reference from a store that does not have the bytes to the bytes just stored.
    async fn redirect(&self, content: &ContentDatabase, standing: BlobRow) -> Result<()> {
        let (to, blobs, stored) = match &self.place {
            Place::External { store, blobs, stored } => (*store, blobs, *stored),
            Place::Inline { digest, bytes, .. } => (
                DATABASE_STORE,
                &content.own_store,
                content.own_store.put(*digest, bytes.clone()).await.map_err(for_users)?,
            ),
        };
        let (digest, from, locator) = (stored.digest, standing.store_id, stored.locator);
        let turn = move |transaction: &mut Transaction<'_>| {
            reclaim::require_not_deleting(transaction, to, &digest)?;
            blob::relocate(transaction, standing.id, from, to, Some(locator.as_bytes())).map(drop)
        };
        content.database.write(turn).await?;
        // The bytes are safe from deletion only since the reference points to them, so they are confirmed now.
        blobs.ensure_present(digest, stored.size).await.map_err(unreadable_after_write)?;
        let settle = move |transaction: &mut Transaction<'_>| fault::remove(transaction, from, &digest);
        content.database.write(settle).await?;
        tracing::warn!(%digest, "an upload of the same bytes restored a BLOB that was missing from its store");
        Ok(())
    }

    /// Writes the reference, and the bytes when they stay in the database.
    pub(crate) fn reference(&self, transaction: &mut Transaction<'_>, new: Id, now: Timestamp) -> Result<BlobRow> {
        let (id, locator) = match &self.place {
            Place::Inline { id, .. } => (*id, None),
            Place::External { stored, .. } => (new, Some(stored.locator.as_bytes().to_vec())),
        };
        let row = BlobRow { id, digest: self.digest(), size: self.size(), store_id: self.store(), locator };
        let (present, standing) = reclaim::add_reference(transaction, &row, now)?;
        if present.store_id != row.store_id && !self.confirmed_elsewhere.load(Ordering::Relaxed) {
            return Err(
                Error::unavailable("the same bytes are in another store: try again").with_code(Code::BlobElsewhere)
            );
        }
        if standing == DeletionState::DeletedLately && !self.is_inline() {
            return Err(Error::unavailable("an unused copy of the same bytes has just been deleted: try again")
                .with_code(Code::BlobDeletedLately));
        }
        if let Place::External { store, stored, .. } = &self.place
            && present.id != id
            && present.store_id == *store
        {
            // A store that takes the same bytes again replaces its missing or damaged copy with them.
            fault::remove(transaction, *store, &stored.digest)?;
        }
        if let Place::Inline { digest, checksum, bytes, .. } = &self.place
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
async fn is_there(guard: &Guard, content: &ContentDatabase, standing: &BlobRow) -> bool {
    let Ok(store) = guard.registry().store(standing.store_id, content) else { return false };
    let size = u64::try_from(standing.size).unwrap_or_default();
    matches!(tokio::time::timeout(PATIENCE, store.ensure_present(standing.digest, size)).await, Ok(Ok(())))
}

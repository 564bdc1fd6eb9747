//! Placement of a new document's bytes: the policy of its content database, overridden by those of its site collection
//! and its library.

use std::time::Duration;

use blobs::{BlobStore, Stored};
use database::content::blob::{self, BlobRow};
use database::content::deletion_queue;
use database::{Reader, Transaction};
use model::{Code, Error, ErrorKind, Id, Result, StorageRules, Timestamp, unsigned};

use crate::farm::registry::{ContentDatabase, Registry};
use crate::storage::built_in::DATABASE_STORE;
use crate::storage::database_store::PART;
use crate::storage::redaction::unreadable_after_write;

/// Time for which a reference without a document is protected. A document's transaction follows its bytes within this
/// time.
const PINNED: Duration = Duration::from_secs(600);

/// The policy that applies to a library, site collection or content database.
#[derive(Clone, Debug)]
pub(crate) struct EffectivePolicy {
    pub(crate) store: Id,
    pub(crate) minimum_size: u64,
    pub(crate) rules: StorageRules,
}

impl Registry {
    /// Returns the policy that applies in a library of a site collection; with [`Id::NONE`] for either, the one that
    /// applies above it.
    pub(crate) fn effective_policy(&self, content: &ContentDatabase, collection: Id, library: Id) -> EffectivePolicy {
        let row = &content.row;
        let mut effective = EffectivePolicy {
            store: row.active_store_id,
            minimum_size: unsigned(row.minimum_size),
            rules: StorageRules::default(),
        };
        if self.policies.is_empty() {
            return effective;
        }
        for policy in [row.id, collection, library].iter().filter_map(|target| self.policies.get(target)) {
            effective.store = policy.store.unwrap_or(effective.store);
            effective.minimum_size = policy.minimum_size.map_or(effective.minimum_size, unsigned);
            effective.rules = policy.rules.or(&effective.rules);
        }
        effective
    }
}

/// The target of one document's bytes.
#[derive(Clone)]
pub(crate) struct StorageChoice {
    store: (Id, BlobStore),
    own: BlobStore,
    /// Size below which BLOBs stay in the content database.
    external_from: u64,
}

impl StorageChoice {
    /// Decides the placement of a document called `name` in a library.
    ///
    /// # Errors
    /// `Unavailable` when the store is not attached, or takes no new BLOBs.
    pub(crate) fn decide(
        registry: &Registry,
        content: &ContentDatabase,
        collection: Id,
        library: Id,
        name: &str,
    ) -> Result<StorageChoice> {
        let effective = registry.effective_policy(content, collection, library);
        let store = registry.writable_store(effective.store, content)?.clone();
        let outside = effective.rules.goes_outside(name);
        Ok(StorageChoice {
            store: (effective.store, store),
            own: content.own_store.clone(),
            external_from: if outside { effective.minimum_size } else { u64::MAX },
        })
    }

    /// Returns the size below which a BLOB is written by the transaction that creates its document.
    pub(crate) fn inline_limit(&self) -> u64 {
        self.external_from.min(PART as u64)
    }

    /// Returns the store for a BLOB that is not written inline; `announced` is its size if known.
    pub(crate) fn store_for(&self, announced: Option<u64>) -> (Id, &BlobStore) {
        let stays = match announced {
            Some(size) => size < self.external_from,
            None => self.external_from == u64::MAX,
        };
        if stays { (DATABASE_STORE, &self.own) } else { (self.store.0, &self.store.1) }
    }
}

/// Ensures that bytes which a store already had remain until a document refers to them, whatever a garbage collection
/// decided before.
///
/// # Errors
/// `Unavailable` with code `blob_being_deleted` when the bytes are being deleted: storing them again a moment later
/// succeeds. `Unavailable` with code `store_unreadable` when the store cannot read them.
pub(crate) async fn pin_if_existing(
    content: &ContentDatabase,
    store: (Id, &BlobStore),
    stored: &Stored,
    new_row: Id,
) -> Result<()> {
    if stored.existed { pin_existing(content, store, stored, new_row).await } else { Ok(()) }
}

/// Adds a reference that no document uses yet, and then verifies that the bytes are present.
///
/// # Errors
/// Those of [`pin_if_existing`].
pub(crate) async fn pin_existing(
    content: &ContentDatabase,
    store: (Id, &BlobStore),
    stored: &Stored,
    new_row: Id,
) -> Result<()> {
    let digest = stored.digest;
    let find = move |reader: &mut Reader<'_>| blob::find(reader, &digest);
    let row = BlobRow {
        id: new_row,
        digest,
        size: i64::try_from(stored.size).unwrap_or(i64::MAX),
        store_id: store.0,
        locator: Some(stored.locator.as_bytes().to_vec()),
    };
    let known = content.database.read(find).await?;
    let standing = match known {
        // The document will use the bytes in the other store. The copy just found is left to the garbage collector.
        Some(known) if known.store_id != store.0 => return Ok(()),
        _ => {
            let pin = move |transaction: &mut Transaction<'_>| {
                deletion_queue::require_not_deleting(transaction, row.store_id, &row.digest)?;
                let now = Timestamp::now();
                blob::pin(transaction, &row, now, now.after(PINNED))
            };
            content.database.write(pin).await?
        }
    };
    if standing.store_id != store.0 {
        return Ok(());
    }
    // The reference exists now, so bytes that are present remain.
    match store.1.ensure_present(digest, stored.size).await {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(Error::unavailable("an unused copy of the same bytes has just been deleted: try again")
                .with_code(Code::BlobBeingDeleted)
                .with_source(error))
        }
        Err(error) => Err(unreadable_after_write(error)),
    }
}

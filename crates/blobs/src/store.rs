//! The facade that callers use.

use std::path::Path;
use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Digest, Result, StoreKind};

use crate::cache::{CacheOptions, CachedProvider};
use crate::directory::{DirectoryOptions, DirectoryProvider};
use crate::locator::Locator;
use crate::marker::{HasMarker, Owner};
use crate::metrics::Metrics;
use crate::object::{ObjectOptions, ObjectProvider, ObjectSecrets};
use crate::outcome::CheckOutcome;
use crate::ownership::{ExclusiveProvider, Ownership};
use crate::provider::{BlobInMemory, CompactLimits, CompactReport, Consent, Entry, Page, Provider, Stored, Usage};
use crate::reader::BlobReader;
use crate::verification::Verification;
use crate::writer::BlobWriter;

/// A BLOB store. Cheap to clone; all clones share one store.
#[derive(Clone)]
pub struct BlobStore {
    provider: Arc<dyn Provider>,
    /// `None` for a store that a single restoration of a farm can reach.
    ownership: Option<Arc<Ownership>>,
    metrics: Metrics,
}

impl BlobStore {
    /// Opens the store in a directory and, if `options.create` is set, creates it where it is absent. Recovers the
    /// segments and uploads that a crashed process left. Fails with `Conflict` when the directory belongs to another
    /// farm or holds something else.
    #[boxed]
    pub async fn open_directory(path: &Path, owner: &Owner, options: DirectoryOptions) -> Result<BlobStore> {
        let provider = DirectoryProvider::open(path, owner, options).await?;
        Ok(Self::owned(provider, owner))
    }

    /// Opens the store in a bucket of an object store and creates it on first use. Fails with `Conflict` when the
    /// location belongs to another farm or holds something else, with `Invalid` when the options cannot work, and with
    /// `Unavailable` when the service does not answer or refuses the credential.
    #[boxed]
    pub async fn open_object(options: &ObjectOptions, secrets: &ObjectSecrets, owner: &Owner) -> Result<BlobStore> {
        let provider = ObjectProvider::open(options, secrets, owner).await?;
        Ok(Self::owned(provider, owner))
    }

    /// Returns an existing store in a bucket. The service is contacted when the store is first used and has ten seconds
    /// to answer; after a failure it is contacted at most every five seconds. Fails with `Invalid` when the options
    /// cannot work.
    pub fn expect_object(options: &ObjectOptions, secrets: &ObjectSecrets, owner: &Owner) -> Result<BlobStore> {
        let provider = ObjectProvider::expect(options, secrets, owner)?;
        Ok(Self::owned(provider, owner))
    }

    /// Wraps a provider of any kind. The result has no holder, even if the provider comes from a store that has one.
    pub fn from_provider(provider: Arc<dyn Provider>) -> BlobStore {
        let metrics = Metrics::of(provider.kind());
        Self { provider, ownership: None, metrics }
    }

    /// Wraps a provider that accepts writes only while `owner` holds the store.
    fn owned(provider: impl Provider + HasMarker, owner: &Owner) -> Self {
        let provider = Arc::new(provider);
        let ownership = Arc::new(Ownership::new(provider.clone(), owner));
        let exclusive = ExclusiveProvider::new(provider, ownership.clone());
        Self { ownership: Some(ownership), ..Self::from_provider(Arc::new(exclusive)) }
    }

    /// Returns this store with a cache in front, including the files that earlier processes left in the cache.
    ///
    /// # Errors
    /// Failures of the cache's directory.
    #[boxed]
    pub async fn cached(&self, options: CacheOptions) -> Result<BlobStore> {
        let cached = CachedProvider::open(self.provider.clone(), options).await?;
        Ok(Self { provider: Arc::new(cached), ..self.clone() })
    }

    /// Returns the provider behind the facade, for wrapping it.
    pub fn provider(&self) -> Arc<dyn Provider> {
        self.provider.clone()
    }

    /// The kind of store.
    pub fn kind(&self) -> StoreKind {
        self.provider.kind()
    }

    /// Stores a BLOB that is in memory, durably. `digest` is trusted in release builds (hashing again would halve the
    /// rate of small uploads) and checked in debug builds; [`Self::writer`] computes it itself.
    ///
    /// `existed` means that the store already had the bytes. The caller must then make sure that a garbage collection
    /// that decided earlier does not delete them.
    #[boxed]
    pub async fn put(&self, digest: Digest, bytes: Bytes) -> Result<Stored> {
        let whole = BlobInMemory { digest, size: bytes.len() as u64, pieces: vec![bytes] };
        self.metrics.timed_put(self.provider.put(whole)).await
    }

    /// Begins a BLOB whose bytes are still arriving, in bounded memory. `announced` is its length, if known; any other
    /// length is refused.
    #[boxed]
    pub async fn writer(&self, announced: Option<u64>) -> Result<BlobWriter> {
        BlobWriter::begin(self.provider.clone(), self.metrics.clone(), announced).await
    }

    /// Opens a BLOB for reading. Fails with `NotFound` only when it is definitely absent.
    #[boxed]
    pub async fn open(&self, digest: Digest, size: u64, locator: Option<&Locator>) -> Result<BlobReader> {
        let source = self.metrics.timed_open(self.provider.open(digest, size, locator.copied())).await?;
        Ok(BlobReader::new(digest, size, source))
    }

    /// Makes sure that a BLOB exists at this moment, whatever other processes did. [`open`](Self::open) does not: it
    /// also finds a BLOB that this process remembers and another one has just deleted. Fails with `NotFound` when it is
    /// definitely absent.
    #[boxed]
    pub async fn ensure_present(&self, digest: Digest, size: u64) -> Result<()> {
        self.provider.confirm(digest, size).await
    }

    /// Removes a BLOB, durably. Removing an absent BLOB succeeds.
    #[boxed]
    pub async fn delete(&self, digest: Digest) -> Result<()> {
        self.provider.delete(digest).await
    }

    /// Removes several BLOBs like [`delete`](Self::delete) and returns the outcome of each. Asks for `consent`,
    /// possibly many times, right before it deletes.
    ///
    /// # Errors
    /// Failures that prevent the removal of all of them.
    #[boxed]
    pub async fn delete_all(&self, digests: Vec<Digest>, consent: &dyn Consent) -> Result<Vec<(Digest, Result<()>)>> {
        self.provider.delete_all(digests, consent).await
    }

    /// Checks with the smallest possible request that the store answers.
    ///
    /// # Errors
    /// The failure of that request.
    #[boxed]
    pub async fn ping(&self) -> Result<()> {
        self.enumerate(None, 1).await.map(drop)
    }

    /// Lists BLOBs in ascending order of digests, from just above `after`, at most `limit` at a time.
    #[boxed]
    pub async fn enumerate(&self, after: Option<Digest>, limit: usize) -> Result<Page> {
        self.provider.enumerate(after, limit.max(1)).await
    }

    /// Reads a listed BLOB to its end, bypassing caches, and returns its state.
    #[boxed]
    pub async fn reread(&self, entry: Entry) -> Result<CheckOutcome> {
        self.provider.reread(entry).await
    }

    /// Starts to read everything again. The result is a stream of findings; their sizes add up to the content bytes of
    /// [`usage`](Self::usage), which allows a progress bar.
    pub fn verify(&self) -> Verification {
        Verification::start(self.provider.clone())
    }

    /// Examines the regions of the store's files that hold no BLOBs. Returns a description of each damaged one, for the
    /// administrator.
    #[boxed]
    pub async fn look_over(&self) -> Result<Vec<String>> {
        self.provider.look_over().await
    }

    /// Computes the contents and disk usage of the store.
    #[boxed]
    pub async fn usage(&self) -> Result<Usage> {
        self.provider.usage().await
    }

    /// Reclaims the space of deleted BLOBs where that is worthwhile.
    #[boxed]
    pub async fn compact(&self, limits: CompactLimits) -> Result<CompactReport> {
        self.provider.compact(limits).await
    }

    /// Fails unless the store's owner may write to it. A store without holders never fails.
    ///
    /// # Errors
    /// `Unavailable` with code `store_taken_over` when another restoration of the farm holds it; failures of the store.
    #[boxed]
    pub async fn held(&self) -> Result<()> {
        match &self.ownership {
            Some(ownership) => ownership.require().await,
            None => Ok(()),
        }
    }

    /// Makes `holder` (a restoration of the farm; `None` for the farm as it was first created) the one that may write
    /// to the store. Returns the previous holder, which notices within [`HAND_OVER_GRACE`](crate::HAND_OVER_GRACE). A
    /// store without holders changes nothing and returns `holder`.
    ///
    /// # Errors
    /// Failures of the store.
    #[boxed]
    pub async fn hand_over(&self, holder: Option<String>) -> Result<Option<String>> {
        match &self.ownership {
            Some(ownership) => ownership.hand_over(holder).await,
            None => Ok(holder),
        }
    }

    /// Finishes pending work and releases all resources. Later writes fail. A store that is dropped instead is
    /// recovered by the next process that opens it.
    #[boxed]
    pub async fn close(&self) {
        if let Err(error) = self.provider.close().await {
            tracing::warn!(kind = self.kind().as_str(), error = error.report(), "a BLOB store was not closed cleanly");
        }
    }
}

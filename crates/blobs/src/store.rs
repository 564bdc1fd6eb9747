//! The facade that callers hold.

use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use model::{Digest, Result};

use crate::directory::{DirectoryOptions, DirectoryProvider};
use crate::held::HeldProvider;
use crate::locator::Locator;
use crate::mark::Owner;
use crate::metrics::Metrics;
use crate::object::{ObjectOptions, ObjectProvider, ObjectSecrets};
use crate::outcome::Outcome;
use crate::provider::{CompactLimits, CompactReport, Consent, Entry, Page, Provider, Stored, Usage, Whole};
use crate::reader::BlobReader;
use crate::verification::Verification;
use crate::writer::BlobWriter;

/// A BLOB store. Cheap to clone; all clones are one store.
#[derive(Clone)]
pub struct BlobStore {
    provider: Arc<dyn Provider>,
    metrics: Metrics,
}

impl BlobStore {
    /// Opens the store in a directory, creating it at first use. Recovers what a crashed process left; `Conflict` when
    /// the directory belongs to another farm or holds something else.
    pub async fn open_directory(path: &Path, owner: &Owner, options: DirectoryOptions) -> Result<BlobStore> {
        let provider = DirectoryProvider::open(path, owner, options).await?;
        Ok(Self::from_provider(Arc::new(HeldProvider::new(provider, owner))))
    }

    /// Opens the store in a bucket of an object store, making it one at first use. `Conflict` when it belongs to another farm or holds
    /// something else, `Invalid` when the options cannot work, `Unavailable` when the service does not answer or refuses the credential.
    pub async fn open_object(options: &ObjectOptions, secrets: &ObjectSecrets, owner: &Owner) -> Result<BlobStore> {
        let provider = ObjectProvider::open(options, secrets, owner).await?;
        Ok(Self::from_provider(Arc::new(HeldProvider::new(provider, owner))))
    }

    /// A store in a bucket that was made one before: the service is asked when the store is first used, and at most every five seconds
    /// while it gives no answer within ten. `Invalid` when the options cannot work.
    pub fn expect_object(options: &ObjectOptions, secrets: &ObjectSecrets, owner: &Owner) -> Result<BlobStore> {
        let provider = ObjectProvider::expect(options, secrets, owner)?;
        Ok(Self::from_provider(Arc::new(HeldProvider::new(provider, owner))))
    }

    /// A store of any kind.
    pub fn from_provider(provider: Arc<dyn Provider>) -> BlobStore {
        let metrics = Metrics::of(provider.kind());
        Self { provider, metrics }
    }

    /// What is behind the facade, for wrapping it.
    pub fn provider(&self) -> Arc<dyn Provider> {
        self.provider.clone()
    }

    /// The kind of store: `directory`, `database`, ...
    pub fn kind(&self) -> &'static str {
        self.provider.kind()
    }

    /// Stores a BLOB that is in memory; durable when it answers. `digest` is trusted in release builds (hashing again would
    /// halve the rate of small uploads) and checked in debug builds; [`Self::writer`] computes it itself.
    ///
    /// `existed` says that the store had the bytes before. The caller must then make sure that no collection that decided earlier
    /// still deletes them.
    pub async fn put(&self, digest: Digest, bytes: Bytes) -> Result<Stored> {
        let whole = Whole { digest, size: bytes.len() as u64, pieces: vec![bytes] };
        self.metrics.timed_put(self.provider.put(whole)).await
    }

    /// Begins a BLOB whose bytes are still coming, in bounded memory. `announced` is its length, if known; another length is
    /// refused.
    pub async fn writer(&self, announced: Option<u64>) -> Result<BlobWriter> {
        BlobWriter::begin(self.provider.clone(), self.metrics.clone(), announced).await
    }

    /// Opens a BLOB for reading. `NotFound` only when it is definitely absent.
    pub async fn open(&self, digest: Digest, size: u64, locator: Option<&Locator>) -> Result<BlobReader> {
        let source = self.metrics.timed_open(self.provider.open(digest, size, locator.copied())).await?;
        Ok(BlobReader::new(digest, size, source))
    }

    /// Makes sure that a BLOB is there at this moment, whatever other processes did, as [`open`](Self::open) does not: that also
    /// finds what this process remembers and another has just deleted. `NotFound` when it is definitely absent.
    pub async fn confirm(&self, digest: Digest, size: u64) -> Result<()> {
        self.provider.confirm(digest, size).await
    }

    /// Removes a BLOB; durable when it answers. Removing what is not there succeeds.
    pub async fn delete(&self, digest: Digest) -> Result<()> {
        self.provider.delete(digest).await
    }

    /// Removes several BLOBs like [`delete`](Self::delete), and says of each what became of it. Asks for `consent`
    /// again and again, right before it deletes.
    ///
    /// Errors: why none of them could be removed.
    pub async fn delete_all(&self, digests: Vec<Digest>, consent: &dyn Consent) -> Result<Vec<(Digest, Result<()>)>> {
        self.provider.delete_all(digests, consent).await
    }

    /// Asks for as little as can be asked, to see whether the store answers.
    ///
    /// Errors: why it does not.
    pub async fn answers(&self) -> Result<()> {
        self.enumerate(None, 1).await.map(drop)
    }

    /// Lists BLOBs in rising order of digests, from just above `after`, at most `limit` at a time.
    pub async fn enumerate(&self, after: Option<Digest>, limit: usize) -> Result<Page> {
        self.provider.enumerate(after, limit.max(1)).await
    }

    /// Reads a BLOB that was listed to its end, from where it is kept for good, and tells whether it is whole.
    pub async fn reread(&self, entry: Entry) -> Result<Outcome> {
        self.provider.reread(entry).await
    }

    /// Starts re-reading everything. The findings stream out of the answer; their sizes sum up to what
    /// [`usage`](Self::usage) calls content, which makes a progress bar.
    pub fn verify(&self) -> Verification {
        Verification::start(self.provider.clone())
    }

    /// Looks over what lies around the BLOBs in the store's files. Tells of each place that is not as it must be, for a person.
    pub async fn look_over(&self) -> Result<Vec<String>> {
        self.provider.look_over().await
    }

    /// What the store holds and takes.
    pub async fn usage(&self) -> Result<Usage> {
        self.provider.usage().await
    }

    /// Gives the space of deleted BLOBs back where that is worth it.
    pub async fn compact(&self, limits: CompactLimits) -> Result<CompactReport> {
        self.provider.compact(limits).await
    }

    /// Whether its owner may write to it.
    ///
    /// Errors: `Unavailable` with code `store_taken_over` when another restoration of the farm holds it; why it does not answer.
    pub async fn held(&self) -> Result<()> {
        self.provider.held().await
    }

    /// Makes `holder` (a restoration of the farm; none for the farm as it was first made) the one who may write to it. Answers with who
    /// held it before, who learns of it within [`HANDED_OVER`](crate::HANDED_OVER).
    ///
    /// Errors: why the store does not answer.
    pub async fn hand_over(&self, holder: Option<String>) -> Result<Option<String>> {
        self.provider.hand_over(holder).await
    }

    /// Finishes what waits and lets go of everything. Later writes fail. A store that is dropped instead is tidied up by
    /// the next one that opens it.
    pub async fn close(&self) {
        if let Err(error) = self.provider.close().await {
            tracing::warn!(kind = self.kind(), error = error.report(), "a BLOB store was not closed cleanly");
        }
    }
}

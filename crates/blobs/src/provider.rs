//! The contract between the facade and a kind of BLOB store.
//!
//! `provider_contract!` (feature `testing`) tests the MUST and MAY requirements below on every implementation. Who may
//! write to a store is not part of this contract: a store that several restorations of a farm can reach also implements
//! `HasMarker`.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use model::{Digest, Error, Result, StoreKind, Timestamp};

use crate::locator::Locator;
use crate::outcome::{CheckOutcome, Checked, Reporter};

/// Number of concurrent deletions where each BLOB is deleted individually.
const DELETED_AT_ONCE: usize = 16;

/// A future of a provider, boxed so that [`Provider`] is object-safe.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A whole BLOB in memory, in pieces as they arrived.
#[derive(Clone, Debug)]
pub struct BlobInMemory {
    /// The digest of all pieces in order.
    pub digest: Digest,
    /// Total length of the pieces in bytes.
    pub size: u64,
    /// The bytes.
    pub pieces: Vec<Bytes>,
}

impl BlobInMemory {
    /// Returns whether digest and size are those of the bytes.
    pub(crate) fn has_digest(&self) -> bool {
        let mut hasher = crate::BlobHasher::new();
        self.pieces.iter().for_each(|piece| hasher.update(piece));
        hasher.finish() == self.digest && self.pieces.iter().map(|piece| piece.len() as u64).sum::<u64>() == self.size
    }
}

/// The result of storing a BLOB durably.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// The BLOB's identity.
    pub digest: Digest,
    /// Length in bytes.
    pub size: u64,
    /// Its current location.
    pub locator: Locator,
    /// Set when the store already had an undamaged copy.
    pub existed: bool,
}

/// One BLOB in an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The BLOB's identity.
    pub digest: Digest,
    /// Length in bytes. A guess while the store cannot read its own record of it.
    pub size: u64,
    /// Time at which the store received it, by the clock of the receiving server.
    pub stored_at: Timestamp,
}

/// A page of an enumeration, in ascending order of digests.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The entries; each digest once.
    pub entries: Vec<Entry>,
    /// Value of `after` for the next page; `None` after the last one.
    pub next: Option<Digest>,
}

/// The contents and disk usage of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of BLOBs.
    pub blobs: u64,
    /// Sum of their lengths in bytes.
    pub content_bytes: u64,
    /// Bytes taken from the disk (or the storage behind the store), including reserved and dead space.
    pub disk_bytes: u64,
    /// Bytes of deleted BLOBs that compaction would free.
    pub reclaimable_bytes: u64,
    /// Bytes that can still be stored, if the store knows.
    pub free_bytes: Option<u64>,
}

/// Limits that decide when compaction is worthwhile.
#[derive(Clone, Copy, Debug)]
pub struct CompactLimits {
    /// Minimum share of dead bytes (0.0 to 1.0) from which on a container is rewritten.
    pub dead_share: f64,
    /// Number of copied bytes after which compaction stops.
    pub copy_at_most: u64,
}

impl Default for CompactLimits {
    fn default() -> Self {
        Self { dead_share: 0.3, copy_at_most: u64::MAX }
    }
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Number of containers that were removed: segments after rewriting, or orphaned data objects.
    pub removed: u64,
    /// Number of bytes of live BLOBs that were copied.
    pub copied_bytes: u64,
    /// Number of disk bytes that were freed.
    pub freed_bytes: u64,
    /// Number of containers left alone because something in them is damaged.
    pub damaged: u64,
}

/// Consent to a deletion. It can be withdrawn at any time, because the right to delete can be lost.
pub trait Consent: Send + Sync {
    /// Succeeds while deletion is allowed. Called right before a deletion.
    fn ask(&self) -> BoxFuture<'_, ()>;
}

/// Always consents.
impl Consent for () {
    fn ask(&self) -> BoxFuture<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// A kind of BLOB store.
///
/// - Several instances in several processes MAY use one store concurrently; an instance MUST NOT depend on another
///   being alive.
/// - A BLOB MUST be durable when `put` or `Upload::finish` returns, and MUST be readable from then on until it is
///   deleted.
/// - BLOBs are immutable. Storing the same bytes again MUST return `existed` and MUST NOT disturb readers; when the
///   stored copy is damaged it MUST be replaced.
/// - Only a definite absence MUST be reported as `ErrorKind::NotFound`; any other failure has another kind.
/// - Bytes that do not match the digest MUST NOT be delivered: an `ErrorKind::Corrupt` error names the BLOB instead.
/// - A full store MUST return `ErrorKind::Exhausted`, and reads and deletions MUST continue to work.
/// - After a failed write, no caller that waited for it MUST be given success, and a later write MUST NOT rely on it.
/// - Dropping any future or object MUST be safe at any time. A BLOB whose operation did not return MAY be stored or
///   not, but never in part.
/// - A provider that wraps another one MUST decide on every method, also on those with a default: its `impl` carries
///   `#[deny(clippy::missing_trait_methods)]`.
pub trait Provider: Send + Sync + 'static {
    /// The kind of store.
    fn kind(&self) -> StoreKind;

    /// Size up to which a writer gathers a BLOB in memory and passes it to `put`; larger BLOBs go through `upload`.
    fn put_limit(&self) -> u64;

    /// Stores a BLOB of any size that is in memory. The digest MUST be checked in debug builds and MAY be trusted in
    /// release builds.
    fn put(&self, blob: BlobInMemory) -> BoxFuture<'_, Stored>;

    /// Begins a BLOB of unknown digest whose bytes are still arriving; `announced` is its length if known. MUST fail
    /// with `Exhausted` when `announced` bytes certainly do not fit.
    fn upload(&self, announced: Option<u64>) -> BoxFuture<'_, Box<dyn Upload>>;

    /// Opens a BLOB for reading. `size` is the size that the caller expects; a store that knows another size MUST fail
    /// with `Corrupt`.
    fn open(&self, digest: Digest, size: u64, locator: Option<Locator>) -> BoxFuture<'_, Box<dyn Source>>;

    /// Succeeds only if an undeleted BLOB exists at this moment, whatever other processes did. It MUST NOT rely on
    /// anything that this process remembers of the store. The default opens the BLOB and reads a byte, for stores that
    /// remember nothing.
    fn confirm(&self, digest: Digest, size: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut source = self.open(digest, size, None).await?;
            if size > 0 { source.read(0, 1).await.map(drop) } else { Ok(()) }
        })
    }

    /// Removes a BLOB; the removal MUST be durable on return. Removing an absent BLOB MUST succeed. Readers that have
    /// it open MAY continue.
    fn delete(&self, digest: Digest) -> BoxFuture<'_, ()>;

    /// Removes several BLOBs like [`delete`](Self::delete) and returns the outcome of each. MUST ask for `consent`
    /// after everything it has to wait for, and right before it deletes. The default deletes some concurrently and asks
    /// before each; a store overrides it where looking up many at once is cheaper.
    fn delete_all<'a>(
        &'a self,
        digests: Vec<Digest>,
        consent: &'a dyn Consent,
    ) -> BoxFuture<'a, Vec<(Digest, Result<()>)>> {
        Box::pin(async move {
            let deletions = digests.into_iter().map(|digest| async move {
                let deletion = async {
                    consent.ask().await?;
                    self.delete(digest).await
                };
                (digest, deletion.await)
            });
            Ok(stream::iter(deletions).buffer_unordered(DELETED_AT_ONCE).collect().await)
        })
    }

    /// Lists BLOBs with a digest above `after`, in ascending order, at most `limit` (which is at least 1), in bounded
    /// memory. A BLOB that exists from the first page to the last MUST be listed exactly once, whatever else happens.
    fn enumerate(&self, after: Option<Digest>, limit: usize) -> BoxFuture<'_, Page>;

    /// Reads a BLOB that `enumerate` listed to its end and compares its digest. Copies in a cache MUST NOT be read
    /// instead.
    fn reread(&self, entry: Entry) -> BoxFuture<'_, CheckOutcome> {
        Box::pin(async move { reread(self.open(entry.digest, entry.size, None).await, entry).await })
    }

    /// Reads everything again and reports each BLOB. The default reads the BLOBs that `enumerate` lists; a store that
    /// can detect more (damage that hides a BLOB from enumeration) MUST report that too.
    fn verify(&self, reporter: Reporter) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let mut after = None;
            loop {
                let page = self.enumerate(after, 512).await?;
                for entry in page.entries {
                    let outcome = self.reread(entry).await?;
                    reporter.report(Checked { digest: Some(entry.digest), size: entry.size, outcome }).await?;
                }
                match page.next {
                    Some(next) => after = Some(next),
                    None => return Ok(()),
                }
            }
        })
    }

    /// Returns a description, for the administrator, of each damaged region in the store's files that holds no BLOB.
    /// Reads no BLOBs.
    fn look_over(&self) -> BoxFuture<'_, Vec<String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// Computes the contents and disk usage. MAY take long on a large store.
    fn usage(&self) -> BoxFuture<'_, Usage>;

    /// Reclaims the space of deleted BLOBs. MUST be safe beside every other operation and if a crash occurs at any
    /// moment.
    fn compact(&self, limits: CompactLimits) -> BoxFuture<'_, CompactReport> {
        let _ = limits;
        Box::pin(async { Ok(CompactReport::default()) })
    }

    /// Finishes pending work and releases all resources. Later writes MUST fail with `Unavailable`.
    fn close(&self) -> BoxFuture<'_, ()>;
}

/// A BLOB being uploaded. Dropping it aborts the upload: nothing of it MUST remain except what the next start removes.
pub trait Upload: Send {
    /// Takes the next piece. MUST bound its memory by making the caller wait.
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, ()>;

    /// Makes the BLOB durable under the digest that the caller computed over the pieces.
    fn finish(self: Box<Self>, digest: Digest, size: u64) -> BoxFuture<'static, Stored>;
}

/// An open BLOB. All bytes that it delivers are verified.
pub trait Source: Send {
    /// Returns between 1 and `limit` bytes from `offset` on if that needs no waiting and no I/O, otherwise `None`.
    /// `offset` is inside the BLOB and `limit` at least 1. A caller that requests all bytes of a small BLOB SHOULD get
    /// them at once.
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>>;

    /// Like [`Self::try_read`], but waits as long as necessary.
    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes>;
}

/// Reads an opened BLOB to its end and compares the digest. Errors that say nothing about the BLOB itself end the
/// verification.
pub(crate) async fn reread(opened: Result<Box<dyn Source>>, entry: Entry) -> Result<CheckOutcome> {
    use model::ErrorKind::{Corrupt, NotFound};
    let damaged = |error: Error| CheckOutcome::Damaged { place: String::new(), what: error.message().to_owned() };
    let mut source = match opened {
        Ok(source) => source,
        Err(error) if error.kind() == NotFound => return Ok(CheckOutcome::Missing { place: String::new() }),
        Err(error) if error.kind() == Corrupt => return Ok(damaged(error)),
        Err(error) => return Err(error),
    };
    let mut hasher = crate::BlobHasher::new();
    let mut at = 0;
    while at < entry.size {
        let limit = (entry.size - at).min(256 * 1024) as usize;
        match source.read(at, limit).await {
            Ok(bytes) => {
                hasher.update(&bytes);
                at += bytes.len() as u64;
            }
            Err(error) if error.kind() == Corrupt => return Ok(damaged(error)),
            Err(error) => return Err(error),
        }
    }
    if hasher.finish() == entry.digest {
        return Ok(CheckOutcome::Intact);
    }
    Ok(damaged(Error::corrupt("the bytes do not match the BLOB's digest")))
}

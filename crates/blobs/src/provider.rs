//! The contract between the facade and a kind of BLOB store.
//!
//! The words MUST and MAY below are tested by `testing::contract` on every implementation.

use std::future::Future;
use std::pin::Pin;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use model::{Digest, Error, Result, Timestamp};

use crate::locator::Locator;
use crate::outcome::{Checked, Outcome, Reporter};

/// Deletions that a store is asked for at once, where each is asked for by itself.
const DELETED_AT_ONCE: usize = 16;

/// A future of a provider, boxed so that [`Provider`] is object-safe.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A whole BLOB in memory, in pieces as they arrived.
#[derive(Clone, Debug)]
pub struct Whole {
    /// The digest of all pieces in order.
    pub digest: Digest,
    /// Total length of the pieces in bytes.
    pub size: u64,
    /// The bytes.
    pub pieces: Vec<Bytes>,
}

/// What a store answers when a BLOB is durable.
#[derive(Clone, Copy, Debug)]
pub struct Stored {
    /// The BLOB's identity.
    pub digest: Digest,
    /// Length in bytes.
    pub size: u64,
    /// Where it lies now.
    pub locator: Locator,
    /// Whether the store had an undamaged copy already.
    pub existed: bool,
}

/// One BLOB in an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The BLOB's identity.
    pub digest: Digest,
    /// Length in bytes.
    pub size: u64,
    /// When the store received it, by the clock of the receiving server.
    pub stored_at: Timestamp,
}

/// A page of an enumeration, in rising order of digests.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The entries; each digest once.
    pub entries: Vec<Entry>,
    /// Pass this as `after` for the next page; `None` after the last one.
    pub next: Option<Digest>,
}

/// What a store holds and what it takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of BLOBs.
    pub blobs: u64,
    /// Sum of their lengths in bytes.
    pub content_bytes: u64,
    /// Bytes taken from the disk (or whatever carries the store), preparation and dead space included.
    pub disk_bytes: u64,
    /// Bytes of deleted BLOBs that compaction would free.
    pub reclaimable_bytes: u64,
    /// Bytes that can still be stored, where the store knows.
    pub free_bytes: Option<u64>,
}

/// When compaction is worth its writing.
#[derive(Clone, Copy, Debug)]
pub struct CompactLimits {
    /// Rewrite what has at least this share of dead bytes (0.0 to 1.0).
    pub dead_share: f64,
    /// Stop after this many bytes were copied.
    pub copy_at_most: u64,
}

impl Default for CompactLimits {
    fn default() -> Self {
        Self { dead_share: 0.3, copy_at_most: u64::MAX }
    }
}

/// What compaction did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CompactReport {
    /// Containers (segments) that were rewritten and removed.
    pub removed: u64,
    /// Bytes of live BLOBs that were copied.
    pub copied_bytes: u64,
    /// Bytes of disk that were freed.
    pub freed_bytes: u64,
    /// Containers left alone because a BLOB in them is damaged.
    pub damaged: u64,
}

/// Consent to a deletion. It can be withdrawn at any moment, since the right to delete can be lost.
pub trait Consent: Send + Sync {
    /// Answers without error while deleting is allowed. Asked right before something is deleted.
    fn ask(&self) -> Pending<'_, ()>;
}

/// Consents always.
impl Consent for () {
    fn ask(&self) -> Pending<'_, ()> {
        Box::pin(async { Ok(()) })
    }
}

/// A kind of BLOB store.
///
/// - Several instances in several processes MAY use one store at once; none MUST need another to be alive.
/// - A BLOB MUST be durable when `put` or `Upload::finish` answers, and MUST resolve from then on until it is deleted.
/// - BLOBs are immutable. Storing the same bytes again MUST answer `existed` and MUST NOT disturb readers; when the stored
///   copy is damaged it MUST be replaced.
/// - Only a definite absence MUST be answered with `ErrorKind::NotFound`; any other trouble is another kind.
/// - Bytes that are not those of the digest MUST NOT be delivered: `ErrorKind::Corrupt` names the BLOB instead.
/// - A full store MUST answer `ErrorKind::Exhausted`, and reads and deletes MUST go on.
/// - After a failed write nothing that waited for it MUST be answered with success, and a later write MUST NOT rely on it.
/// - Dropping any future or object MUST be safe at any time; what was not answered MAY be stored or not, never in part.
pub trait Provider: Send + Sync + 'static {
    /// The kind's name, such as `directory`.
    fn kind(&self) -> &'static str;

    /// Up to this many bytes a writer gathers in memory and hands over by `put`; more goes through `upload`.
    fn put_limit(&self) -> u64;

    /// Stores a BLOB of any size that is in memory. The digest MUST be checked in debug builds and MAY be trusted in release builds.
    fn put(&self, blob: Whole) -> Pending<'_, Stored>;

    /// Begins a BLOB of unknown digest whose bytes are still coming; `announced` is its length if known. MUST answer
    /// `Exhausted` when `announced` bytes certainly do not fit.
    fn upload(&self, announced: Option<u64>) -> Pending<'_, Box<dyn Upload>>;

    /// Opens a BLOB for reading. `size` is what the caller believes; a store that knows better MUST answer `Corrupt`.
    fn open(&self, digest: Digest, size: u64, locator: Option<Locator>) -> Pending<'_, Box<dyn Source>>;

    /// Answers without error only when an undeleted BLOB is there at this moment, whatever other processes did: nothing that this process
    /// remembers of the store may stand for it. The default opens it and reads a byte, for stores that remember nothing.
    fn confirm(&self, digest: Digest, size: u64) -> Pending<'_, ()> {
        Box::pin(async move {
            let mut source = self.open(digest, size, None).await?;
            if size > 0 { source.read(0, 1).await.map(drop) } else { Ok(()) }
        })
    }

    /// Removes a BLOB; MUST be durable when it answers. Removing what is not there MUST succeed. Readers that have it open
    /// MAY go on.
    fn delete(&self, digest: Digest) -> Pending<'_, ()>;

    /// Removes several BLOBs like [`delete`](Self::delete), and says of each what became of it. MUST ask for
    /// `consent` after whatever it has to wait for, and right before it deletes. The default removes some at once and
    /// asks before each; a store overrides it where looking for many at once is cheaper.
    fn delete_all<'a>(
        &'a self,
        digests: Vec<Digest>,
        consent: &'a dyn Consent,
    ) -> Pending<'a, Vec<(Digest, Result<()>)>> {
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

    /// Lists BLOBs with a digest above `after`, in rising order, at most `limit` (which is at least 1), in bounded memory. A BLOB that
    /// is there from the first page to the last MUST be listed exactly once, whatever else happens.
    fn enumerate(&self, after: Option<Digest>, limit: usize) -> Pending<'_, Page>;

    /// Reads a BLOB that `enumerate` listed to its end and compares its digest. Copies that are kept elsewhere for faster reading MUST NOT
    /// stand for it.
    fn reread(&self, entry: Entry) -> Pending<'_, Outcome> {
        Box::pin(async move { reread(self.open(entry.digest, entry.size, None).await, entry).await })
    }

    /// Re-reads everything and reports each BLOB. The default reads what `enumerate` lists; a store that can see more
    /// (damage that hides a BLOB from enumeration) MUST report that too.
    fn verify(&self, reporter: Reporter) -> Pending<'_, ()> {
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

    /// Tells of each place in the store's files that is not as it must be although no BLOB lies there, for a person. Reads no BLOBs.
    fn look_over(&self) -> Pending<'_, Vec<String>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What the store holds. MAY take long on a large store.
    fn usage(&self) -> Pending<'_, Usage>;

    /// Gives space of deleted BLOBs back. MUST be safe beside every other operation and at any crash.
    fn compact(&self, limits: CompactLimits) -> Pending<'_, CompactReport> {
        let _ = limits;
        Box::pin(async { Ok(CompactReport::default()) })
    }

    /// Whether whoever opened the store may write to it; only stores that several restorations of a farm can reach ask themselves.
    fn held(&self) -> Pending<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Makes `holder` the one who may write to it; answers with the one before. Stores without holders change nothing.
    fn hand_over(&self, holder: Option<String>) -> Pending<'_, Option<String>> {
        Box::pin(async { Ok(holder) })
    }

    /// Finishes what waits and lets go of everything held. Later calls that write MUST answer `Unavailable`.
    fn close(&self) -> Pending<'_, ()>;
}

/// A BLOB on its way in. Dropping it aborts: nothing of it MUST stay, or only what the next start removes.
pub trait Upload: Send {
    /// Takes the next piece. MUST bound its memory by making the caller wait.
    fn write(&mut self, bytes: Bytes) -> Pending<'_, ()>;

    /// Makes the BLOB durable under the digest that the caller computed over the pieces.
    fn finish(self: Box<Self>, digest: Digest, size: u64) -> Pending<'static, Stored>;
}

/// An open BLOB. All bytes that it delivers are verified.
pub trait Source: Send {
    /// Between 1 and `limit` bytes from `offset` if that needs no waiting and no I/O, else `None`. `offset` is inside
    /// the BLOB and `limit` at least 1. A caller that asks for all bytes of a small BLOB SHOULD get them at once.
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>>;

    /// The same, waiting as long as it takes.
    fn read(&mut self, offset: u64, limit: usize) -> Pending<'_, Bytes>;
}

/// Reads an opened BLOB to its end and compares the digest. Errors other than the BLOB's own state end the verification.
pub(crate) async fn reread(opened: Result<Box<dyn Source>>, entry: Entry) -> Result<Outcome> {
    use model::ErrorKind::{Corrupt, NotFound};
    let damaged = |error: Error| Outcome::Damaged { place: String::new(), what: error.message().to_owned() };
    let mut source = match opened {
        Ok(source) => source,
        Err(error) if error.kind() == NotFound => return Ok(Outcome::Missing { place: String::new() }),
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
        return Ok(Outcome::Intact);
    }
    Ok(damaged(Error::corrupt("the bytes do not have the BLOB's digest")))
}

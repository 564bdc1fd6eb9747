//! A guard that prevents writing to or deleting from a store that another restoration of the same farm has taken over.
//! Each restoration would take for orphans the BLOBs that only the other one needs.
//! `docs/decisions/0023-a-store-has-one-holder.md` explains the decision.

use std::sync::Arc;
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use model::{Code, Digest, Error, Result, StoreKind};

use crate::locator::Locator;
use crate::marker::{self, HasMarker, Owner};
use crate::outcome::{CheckOutcome, Reporter};
use crate::provider::{
    BlobInMemory, BoxFuture, CompactLimits, CompactReport, Consent, Entry, Page, Provider, Source, Stored, Upload,
    Usage,
};
use crate::single_flight::CachedCheck;

/// Lifetime of a successful check of the marker.
const CHECK_LIFETIME: Duration = Duration::from_secs(5);
/// Time after a hand-over by which the previous holder has noticed it and the deletions it had begun are done. A BLOB
/// found in the store after that time stays.
pub const HAND_OVER_GRACE: Duration = Duration::from_secs(6);

/// The right of an owner to write to a store, read from the marker of the store.
pub struct Ownership {
    store: Arc<dyn HasMarker>,
    owner: Owner,
    check: CachedCheck,
}

impl Ownership {
    pub fn new(store: Arc<dyn HasMarker>, owner: &Owner) -> Self {
        Self { store, owner: owner.clone(), check: CachedCheck::new(Some(CHECK_LIFETIME), Duration::ZERO) }
    }

    /// Fails unless the owner holds the store.
    ///
    /// # Errors
    /// `Unavailable` with code `store_taken_over` when another restoration of the farm holds the store; the errors of
    /// reading its marker.
    #[boxed]
    pub async fn require(&self) -> Result<()> {
        self.check.ensure(|| self.ask()).await
    }

    /// Makes `holder` the one that may write to the store and returns the previous one.
    ///
    /// # Errors
    /// The errors of changing the marker.
    #[boxed]
    pub async fn hand_over(&self, holder: Option<String>) -> Result<Option<String>> {
        self.store.set_holder(holder).await
    }

    async fn ask(&self) -> Result<()> {
        let text = self.store.read_marker().await?;
        if marker::holder(&text).as_deref() == self.owner.holder() {
            return Ok(());
        }
        Err(Error::unavailable(format!(
            "{} was taken over by another restoration of this farm and no longer accepts anything from this one: each \
             of the two would delete BLOBs that only the other needs. If the other one is gone for good, see \
             `strongroom blobs stores take-over`",
            self.store.label()
        ))
        .with_code(Code::StoreTakenOver))
    }
}

/// Combined consent: that of the caller that deletes, and the check that the owner still holds the store.
struct CombinedConsent<'a> {
    ownership: &'a Ownership,
    other: &'a dyn Consent,
}

impl Consent for CombinedConsent<'_> {
    fn ask(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.ownership.require().await?;
            self.other.ask().await?;
            // The other consent may have taken long.
            self.ownership.require().await
        })
    }
}

/// A store that accepts writes only while its owner holds it.
pub struct ExclusiveProvider {
    inner: Arc<dyn Provider>,
    ownership: Arc<Ownership>,
}

impl ExclusiveProvider {
    pub fn new(inner: Arc<dyn Provider>, ownership: Arc<Ownership>) -> Self {
        Self { inner, ownership }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Provider for ExclusiveProvider {
    fn kind(&self) -> StoreKind {
        self.inner.kind()
    }

    fn put_limit(&self) -> u64 {
        self.inner.put_limit()
    }

    fn put(&self, blob: BlobInMemory) -> BoxFuture<'_, Stored> {
        if self.ownership.check.is_valid() {
            return self.inner.put(blob);
        }
        Box::pin(async move {
            self.ownership.require().await?;
            self.inner.put(blob).await
        })
    }

    fn upload(&self, announced: Option<u64>) -> BoxFuture<'_, Box<dyn Upload>> {
        Box::pin(async move {
            self.ownership.require().await?;
            self.inner.upload(announced).await
        })
    }

    fn open(&self, digest: Digest, size: u64, locator: Option<Locator>) -> BoxFuture<'_, Box<dyn Source>> {
        self.inner.open(digest, size, locator)
    }

    fn confirm(&self, digest: Digest, size: u64) -> BoxFuture<'_, ()> {
        self.inner.confirm(digest, size)
    }

    fn delete(&self, digest: Digest) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            // A store may wait long before it deletes, and only `delete_all` checks after that wait.
            let outcomes = self.delete_all(vec![digest], &()).await?;
            outcomes.into_iter().try_for_each(|(_, outcome)| outcome)
        })
    }

    fn delete_all<'a>(
        &'a self,
        digests: Vec<Digest>,
        consent: &'a dyn Consent,
    ) -> BoxFuture<'a, Vec<(Digest, Result<()>)>> {
        Box::pin(async move {
            let both = CombinedConsent { ownership: &self.ownership, other: consent };
            self.inner.delete_all(digests, &both).await
        })
    }

    fn enumerate(&self, after: Option<Digest>, limit: usize) -> BoxFuture<'_, Page> {
        self.inner.enumerate(after, limit)
    }

    fn reread(&self, entry: Entry) -> BoxFuture<'_, CheckOutcome> {
        self.inner.reread(entry)
    }

    fn verify(&self, reporter: Reporter) -> BoxFuture<'_, ()> {
        self.inner.verify(reporter)
    }

    fn look_over(&self) -> BoxFuture<'_, Vec<String>> {
        self.inner.look_over()
    }

    fn usage(&self) -> BoxFuture<'_, Usage> {
        self.inner.usage()
    }

    fn compact(&self, limits: CompactLimits) -> BoxFuture<'_, CompactReport> {
        Box::pin(async move {
            self.ownership.require().await?;
            self.inner.compact(limits).await
        })
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

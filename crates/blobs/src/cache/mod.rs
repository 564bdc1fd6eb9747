//! A cache of BLOBs on a local disk, in front of a remote store.
//!
//! Each BLOB is a file in the format of the directory provider's large BLOBs, checksums included. So everything
//! delivered is verified, and a damaged file is no worse than an absent one. The cache never holds the only copy of
//! anything: writes, deletions, listings and verification pass through to the store.

mod files;
mod filling;

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Digest, ErrorKind, Result, StoreKind};

pub(crate) use self::files::CacheFiles;
pub use self::files::CacheOptions;
use self::filling::FillingSource;
use crate::blocking::blocking;
use crate::directory::LargeSource;
use crate::locator::Locator;
use crate::outcome::{CheckOutcome, Reporter};
use crate::provider::{
    BlobInMemory, BoxFuture, CompactLimits, CompactReport, Consent, Entry, Page, Provider, Source, Stored, Upload,
    Usage,
};

/// A provider with a cache in front. It caches BLOBs that are read from beginning to end and evicts the least recently
/// used ones first. A BLOB that another process deleted from the store may still be read from the cache until it is
/// evicted.
pub struct CachedProvider {
    inner: Arc<dyn Provider>,
    files: Arc<CacheFiles>,
}

impl CachedProvider {
    /// Opens the cache, including the files that earlier processes left in it.
    #[boxed]
    pub async fn open(inner: Arc<dyn Provider>, options: CacheOptions) -> Result<Self> {
        let files = blocking(move || CacheFiles::open(options)).await?;
        Ok(Self { inner, files: Arc::new(files) })
    }

    async fn find(&self, digest: Digest, size: u64, locator: Option<Locator>) -> Result<Box<dyn Source>> {
        let files = self.files.clone();
        let cached = blocking(move || Ok(files.find(&digest, size))).await?;
        if let Some(file) = cached {
            metrics::counter!("strongroom_blob_cache_hits_total").increment(1);
            let (inner, files) = (self.inner.clone(), self.files.clone());
            let file = LargeSource::new(Arc::new(file), None);
            return Ok(Box::new(CachedSource {
                file: Some(file),
                fallback: None,
                inner,
                files,
                digest,
                size,
                locator,
            }));
        }
        metrics::counter!("strongroom_blob_cache_misses_total").increment(1);
        if size > self.files.largest() {
            return self.inner.open(digest, size, locator).await;
        }
        let deleted = self.files.announce(&digest);
        let source = self.inner.open(digest, size, locator).await?;
        Ok(Box::new(FillingSource::new(source, self.files.clone(), deleted, digest, size)))
    }

    /// Removes BLOBs that the store has deleted from the cache.
    async fn forget(&self, digests: Vec<Digest>) -> Result<()> {
        let files = self.files.clone();
        blocking(move || {
            digests.iter().for_each(|digest| files.deleted(digest));
            Ok(())
        })
        .await
    }
}

#[deny(clippy::missing_trait_methods)]
impl Provider for CachedProvider {
    fn kind(&self) -> StoreKind {
        self.inner.kind()
    }

    fn put_limit(&self) -> u64 {
        self.inner.put_limit()
    }

    fn put(&self, blob: BlobInMemory) -> BoxFuture<'_, Stored> {
        self.inner.put(blob)
    }

    fn upload(&self, announced: Option<u64>) -> BoxFuture<'_, Box<dyn Upload>> {
        self.inner.upload(announced)
    }

    fn open(&self, digest: Digest, size: u64, locator: Option<Locator>) -> BoxFuture<'_, Box<dyn Source>> {
        Box::pin(self.find(digest, size, locator))
    }

    fn confirm(&self, digest: Digest, size: u64) -> BoxFuture<'_, ()> {
        self.inner.confirm(digest, size)
    }

    fn delete(&self, digest: Digest) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.inner.delete(digest).await?;
            self.forget(vec![digest]).await
        })
    }

    fn delete_all<'a>(
        &'a self,
        digests: Vec<Digest>,
        consent: &'a dyn Consent,
    ) -> BoxFuture<'a, Vec<(Digest, Result<()>)>> {
        Box::pin(async move {
            let outcomes = self.inner.delete_all(digests, consent).await?;
            let deleted = outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).map(|(digest, _)| *digest);
            self.forget(deleted.collect()).await?;
            Ok(outcomes)
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
        self.inner.compact(limits)
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.inner.close()
    }
}

/// A BLOB in the cache. If its file turns out to be damaged, the remaining bytes come from the store.
struct CachedSource {
    file: Option<LargeSource>,
    fallback: Option<Box<dyn Source>>,
    inner: Arc<dyn Provider>,
    files: Arc<CacheFiles>,
    digest: Digest,
    size: u64,
    locator: Option<Locator>,
}

impl CachedSource {
    async fn next(&mut self, offset: u64, limit: usize) -> Result<Bytes> {
        if let Some(file) = &mut self.file {
            match file.read(offset, limit).await {
                Ok(bytes) => return Ok(bytes),
                Err(error) => {
                    tracing::warn!(digest = %self.digest, error = error.report(),
                        "a file of the BLOB cache is not usable");
                    self.file = None;
                    let (files, digest) = (self.files.clone(), self.digest);
                    let forget = move || {
                        files.forget(&digest);
                        Ok(())
                    };
                    blocking(forget).await?;
                }
            }
        }
        let source = match &mut self.fallback {
            Some(source) => source,
            None => self.fallback.insert(self.inner.open(self.digest, self.size, self.locator).await?),
        };
        source.read(offset, limit).await
    }
}

impl Source for CachedSource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        match &mut self.file {
            // `read`, which may block, examines a damaged file again and falls back to the store.
            Some(file) => match file.try_read(offset, limit) {
                Some(Err(error)) if error.kind() == ErrorKind::Corrupt => None,
                answer => answer,
            },
            None => self.fallback.as_mut()?.try_read(offset, limit),
        }
    }

    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes> {
        Box::pin(self.next(offset, limit))
    }
}

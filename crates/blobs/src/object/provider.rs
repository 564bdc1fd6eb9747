//! The provider contract, implemented on a bucket: storing, and delegation to the other modules.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result, StoreKind};

use super::gate::StoreCheck;
use super::opening::Opened;
use super::options::{ObjectOptions, ObjectSecrets};
use super::reading::{LargeSource, WholeSource};
use super::store::Store;
use super::upload::ObjectUpload;
use super::{listing, sweeping};
use crate::blocking::blocking;
use crate::coding::{CHUNK, Encoder, encode, is_enveloped};
use crate::locator::Locator;
use crate::marker::{HasMarker, Owner};
use crate::outcome::Reporter;
use crate::provider::{
    BlobInMemory, BoxFuture, CompactLimits, CompactReport, Page, Provider, Source, Stored, Upload, Usage,
};

/// A store in a bucket.
pub struct ObjectProvider(Arc<Store>);

impl ObjectProvider {
    /// Opens the store for `owner`; an empty location becomes a store.
    ///
    /// # Errors
    /// Those of [`Self::expect`] and [`Store::ready`].
    #[boxed]
    pub async fn open(options: &ObjectOptions, secrets: &ObjectSecrets, owner: &Owner) -> Result<Self> {
        let provider = Self::new(options, secrets, StoreCheck::new(owner, true))?;
        provider.0.ready().await?;
        Ok(provider)
    }

    /// Returns a store that `owner` created earlier. The service is contacted on first use.
    ///
    /// # Errors
    /// `Invalid` when the options cannot work.
    pub fn expect(options: &ObjectOptions, secrets: &ObjectSecrets, owner: &Owner) -> Result<Self> {
        Self::new(options, secrets, StoreCheck::new(owner, false))
    }

    fn new(options: &ObjectOptions, secrets: &ObjectSecrets, gate: StoreCheck) -> Result<Self> {
        Store::new(options, secrets, gate).map(|store| Self(Arc::new(store)))
    }
}

impl Store {
    async fn put(self: &Arc<Self>, blob: BlobInMemory) -> Result<Stored> {
        self.writable().await?;
        let BlobInMemory { digest, size, pieces } = blob;
        if cfg!(debug_assertions) {
            let mut hasher = crate::BlobHasher::new();
            pieces.iter().for_each(|piece| hasher.update(piece));
            assert_eq!(hasher.finish(), digest, "a BLOB was put under the digest of another one");
        }
        if size > self.options.put_limit {
            let mut upload = ObjectUpload::begin(self.clone(), Some(size))?;
            for piece in pieces {
                upload.write(piece).await?;
            }
            return Box::new(upload).finish(digest, size).await;
        }
        let object = self.form(digest, size, pieces).await?;
        let key = self.names.blob(&digest, size);
        for _ in 0..3 {
            if self.bucket.create(&key, &object).await? {
                return Ok(self.stored(digest, size, false));
            }
            match self.is_intact(digest, size).await {
                Ok(true) => return Ok(self.stored(digest, size, true)),
                Ok(false) => {
                    self.bucket.replace(&key, &object).await?;
                    return Ok(self.stored(digest, size, false));
                }
                // The BLOB was deleted between the two requests.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::unavailable(format!("BLOB {digest} is being deleted while it is stored: try again")))
    }

    /// Builds the object for a small BLOB.
    async fn form(self: &Arc<Self>, digest: Digest, size: u64, pieces: Vec<Bytes>) -> Result<Vec<Bytes>> {
        let mut start = Vec::new();
        pieces.iter().for_each(|piece| start.extend_from_slice(&piece[..piece.len().min(8 - start.len())]));
        if self.keys.is_empty() && self.options.compression.is_none() && !is_enveloped(&start) {
            return Ok(pieces);
        }
        let store = self.clone();
        blocking(move || {
            let mut encoder = Encoder::new(CHUNK, store.options.compression, store.newest_key())?;
            let mut out = vec![Bytes::new()];
            pieces.iter().try_for_each(|piece| encoder.push(piece, &mut out))?;
            let encoded = encoder.finish(&mut out)?;
            let head = encode(&encoded, &digest, size, None, &store.keys)?;
            let total = head.len() as u64 + encoded.stored;
            if store.keys.is_empty() && !is_enveloped(&start) && total + total / 15 >= size {
                return Ok(pieces);
            }
            out[0] = Bytes::from(head);
            Ok(out)
        })
        .await
    }
}

impl HasMarker for ObjectProvider {
    fn read_marker(&self) -> BoxFuture<'_, String> {
        Box::pin(self.0.read_marker())
    }

    fn set_holder(&self, holder: Option<String>) -> BoxFuture<'_, Option<String>> {
        Box::pin(self.0.set_holder(holder))
    }

    fn label(&self) -> String {
        self.0.bucket.label().to_owned()
    }
}

impl Provider for ObjectProvider {
    fn kind(&self) -> StoreKind {
        self.0.options.kind.into()
    }

    fn put_limit(&self) -> u64 {
        self.0.options.put_limit
    }

    fn put(&self, blob: BlobInMemory) -> BoxFuture<'_, Stored> {
        Box::pin(self.0.put(blob))
    }

    fn upload(&self, announced: Option<u64>) -> BoxFuture<'_, Box<dyn Upload>> {
        Box::pin(async move {
            self.0.writable().await?;
            Ok(Box::new(ObjectUpload::begin(self.0.clone(), announced)?) as Box<dyn Upload>)
        })
    }

    fn open(&self, digest: Digest, size: u64, _locator: Option<Locator>) -> BoxFuture<'_, Box<dyn Source>> {
        Box::pin(async move {
            self.0.ready().await?;
            Ok(match self.0.open(digest, size).await? {
                Opened::Whole(bytes) => Box::new(WholeSource(bytes)) as Box<dyn Source>,
                Opened::Large(envelope) => Box::new(LargeSource::new(self.0.clone(), envelope)),
            })
        })
    }

    fn delete(&self, digest: Digest) -> BoxFuture<'_, ()> {
        Box::pin(sweeping::delete(&self.0, digest))
    }

    fn enumerate(&self, after: Option<Digest>, limit: usize) -> BoxFuture<'_, Page> {
        Box::pin(async move {
            self.0.ready().await?;
            listing::page(&self.0, after, limit).await
        })
    }

    fn verify(&self, reporter: Reporter) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.0.ready().await?;
            listing::verify(&self.0, &reporter).await
        })
    }

    fn usage(&self) -> BoxFuture<'_, Usage> {
        Box::pin(async move {
            self.0.ready().await?;
            listing::usage(&self.0).await
        })
    }

    fn compact(&self, _limits: CompactLimits) -> BoxFuture<'_, CompactReport> {
        Box::pin(sweeping::compact(&self.0))
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        self.0.closed.store(true, Ordering::Release);
        Box::pin(async { Ok(()) })
    }
}

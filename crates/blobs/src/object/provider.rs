//! The provider's face: storing, and passing on what other modules do.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result};
use tokio::sync::Semaphore;

use super::bucket::Bucket;
use super::gate::Gate;
use super::names::Names;
use super::opening::Opened;
use super::options::{ObjectOptions, ObjectSecrets};
use super::reading::{LargeSource, WholeSource};
use super::upload::ObjectUpload;
use super::{listing, sweeping};
use crate::coding::{CHUNK, Encoder, StoreKey, encode, is_enveloped};
use crate::locator::Locator;
use crate::mark::{Marked, Owner};
use crate::provider::{CompactLimits, CompactReport, Page, Pending, Provider, Source, Stored, Upload, Usage, Whole};
use crate::verification::Reporter;

/// No BLOB above this many bytes becomes one object with its own key, whatever the options say.
pub const INLINE: u64 = 16 << 20;
/// Parts of all uploads together that are on their way at once have this many MiB; a longer part goes alone.
pub const SENDING: u32 = 128;
/// Pieces of all readers together that are read ahead have this many MiB.
const AHEAD: usize = 128;

/// A store in a bucket.
pub struct ObjectProvider(Arc<Store>);

/// What all parts of the provider share.
pub struct Store {
    pub bucket: Bucket,
    pub names: Names,
    pub keys: Vec<StoreKey>,
    pub options: ObjectOptions,
    /// MiB of parts that may still be sent.
    pub sending: Arc<Semaphore>,
    /// MiB that may still be read ahead.
    pub ahead: Arc<Semaphore>,
    closed: AtomicBool,
    pub gate: Gate,
}

impl ObjectProvider {
    /// Opens the store for `owner`; an empty place becomes one.
    ///
    /// Errors: those of [`Self::expect`] and [`Store::ready`].
    pub async fn open(options: &ObjectOptions, secrets: &ObjectSecrets, owner: &Owner) -> Result<Self> {
        let provider = Self::new(options, secrets, Gate::new(owner, true))?;
        provider.0.ready().await?;
        Ok(provider)
    }

    /// A store that `owner` has made before. The service is asked when it is first used.
    ///
    /// Errors: `Invalid` when the options cannot work.
    pub fn expect(options: &ObjectOptions, secrets: &ObjectSecrets, owner: &Owner) -> Result<Self> {
        Self::new(options, secrets, Gate::new(owner, false))
    }

    fn new(options: &ObjectOptions, secrets: &ObjectSecrets, gate: Gate) -> Result<Self> {
        let store = Store {
            bucket: Bucket::new(options, secrets)?,
            names: Names::new(&options.prefix),
            keys: secrets.encryption_keys.clone(),
            options: options.clone(),
            sending: Arc::new(Semaphore::new(SENDING as usize)),
            ahead: Arc::new(Semaphore::new(AHEAD)),
            closed: AtomicBool::new(false),
            gate,
        };
        Ok(Self(Arc::new(store)))
    }
}

impl Store {
    /// What every change begins with.
    pub async fn writable(&self) -> Result<()> {
        match self.closed.load(Ordering::Acquire) {
            true => Err(Error::unavailable("the BLOB store is closed")),
            false => self.ready().await,
        }
    }

    pub fn newest_key(&self) -> Option<&StoreKey> {
        self.keys.first()
    }

    pub fn orphan_window(&self) -> Duration {
        Duration::from_secs(self.options.orphan_seconds)
    }

    /// What an upload answers.
    pub fn stored(&self, digest: Digest, size: u64, existed: bool) -> Stored {
        // The key of a BLOB follows from its digest and size: there is nothing to remember.
        Stored { digest, size, locator: Locator::from_slice(&[1]), existed }
    }

    async fn put(self: &Arc<Self>, blob: Whole) -> Result<Stored> {
        self.writable().await?;
        let Whole { digest, size, pieces } = blob;
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
                // Deleted between the two requests.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::unavailable(format!("BLOB {digest} is being deleted while it is stored: try again")))
    }

    /// The object that a small BLOB becomes.
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

    /// Whether a BLOB that is there has all its bytes. `NotFound` when it is not there.
    pub async fn is_intact(self: &Arc<Self>, digest: Digest, size: u64) -> Result<bool> {
        let mut source = match self.open(digest, size).await {
            Ok(Opened::Whole(_)) => return Ok(true),
            Ok(Opened::Large(envelope)) => LargeSource::new(self.clone(), envelope),
            Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(false),
            Err(error) => return Err(error),
        };
        let mut at = 0;
        while at < size {
            match source.read(at, CHUNK as usize).await {
                Ok(bytes) => at += bytes.len() as u64,
                Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}

impl Marked for ObjectProvider {
    fn mark(&self) -> Pending<'_, String> {
        Box::pin(self.0.mark())
    }

    fn set_holder(&self, holder: Option<String>) -> Pending<'_, Option<String>> {
        Box::pin(self.0.set_holder(holder))
    }

    fn label(&self) -> String {
        self.0.bucket.label().to_owned()
    }
}

impl Provider for ObjectProvider {
    fn kind(&self) -> &'static str {
        self.0.options.kind.as_str()
    }

    fn put_limit(&self) -> u64 {
        self.0.options.put_limit
    }

    fn put(&self, blob: Whole) -> Pending<'_, Stored> {
        Box::pin(self.0.put(blob))
    }

    fn upload(&self, announced: Option<u64>) -> Pending<'_, Box<dyn Upload>> {
        Box::pin(async move {
            self.0.writable().await?;
            Ok(Box::new(ObjectUpload::begin(self.0.clone(), announced)?) as Box<dyn Upload>)
        })
    }

    fn open(&self, digest: Digest, size: u64, _locator: Option<Locator>) -> Pending<'_, Box<dyn Source>> {
        Box::pin(async move {
            self.0.ready().await?;
            Ok(match self.0.open(digest, size).await? {
                Opened::Whole(bytes) => Box::new(WholeSource(bytes)) as Box<dyn Source>,
                Opened::Large(envelope) => Box::new(LargeSource::new(self.0.clone(), envelope)),
            })
        })
    }

    fn delete(&self, digest: Digest) -> Pending<'_, ()> {
        Box::pin(sweeping::delete(&self.0, digest))
    }

    fn enumerate(&self, after: Option<Digest>, limit: usize) -> Pending<'_, Page> {
        Box::pin(async move {
            self.0.ready().await?;
            listing::page(&self.0, after, limit).await
        })
    }

    fn verify(&self, reporter: Reporter) -> Pending<'_, ()> {
        Box::pin(async move {
            self.0.ready().await?;
            listing::verify(&self.0, &reporter).await
        })
    }

    fn usage(&self) -> Pending<'_, Usage> {
        Box::pin(async move {
            self.0.ready().await?;
            listing::usage(&self.0).await
        })
    }

    fn compact(&self, _limits: CompactLimits) -> Pending<'_, CompactReport> {
        Box::pin(sweeping::compact(&self.0))
    }

    fn close(&self) -> Pending<'_, ()> {
        self.0.closed.store(true, Ordering::Release);
        Box::pin(async { Ok(()) })
    }
}

/// Runs work that takes the processor for a while on the blocking pool.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|error| Error::unavailable("the BLOB store was interrupted").with_source(error))?
}

//! The state shared by all parts of the provider.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_recursion::async_recursion as boxed;
use model::{Digest, Error, Result};
use tokio::sync::Semaphore;

use super::bucket::Bucket;
use super::gate::StoreCheck;
use super::names::Names;
use super::options::{ObjectOptions, ObjectSecrets};
use crate::coding::StoreKey;
use crate::locator::Locator;
use crate::provider::Stored;

/// Size above which no BLOB becomes one object under its own key, whatever the options say.
pub const INLINE: u64 = 16 << 20;
/// Limit, in MiB, on the parts in flight of all uploads together; a longer part is sent alone.
pub const SENDING: u32 = 128;
/// Limit, in MiB, on the prefetched pieces of all readers together.
const AHEAD: usize = 128;

/// A store in a bucket, shared by readers and writers.
pub struct Store {
    pub bucket: Bucket,
    pub names: Names,
    pub keys: Vec<StoreKey>,
    pub options: ObjectOptions,
    /// Permits for sending parts, one per MiB.
    pub sending: Arc<Semaphore>,
    /// Permits for prefetching, one per MiB.
    pub ahead: Arc<Semaphore>,
    pub closed: AtomicBool,
    gate: StoreCheck,
}

impl Store {
    pub fn new(options: &ObjectOptions, secrets: &ObjectSecrets, gate: StoreCheck) -> Result<Self> {
        Ok(Self {
            bucket: Bucket::new(options, secrets)?,
            names: Names::new(&options.prefix),
            keys: secrets.encryption_keys.clone(),
            options: options.clone(),
            sending: Arc::new(Semaphore::new(SENDING as usize)),
            ahead: Arc::new(Semaphore::new(AHEAD)),
            closed: AtomicBool::new(false),
            gate,
        })
    }

    /// Makes sure, once, that the location is a store of this farm.
    ///
    /// # Errors
    /// Those of [`StoreCheck::ready`].
    #[boxed]
    pub async fn ready(&self) -> Result<()> {
        self.gate.ready(&self.bucket, &self.names).await
    }

    /// Checks that the store is open and ready. Precedes every change.
    #[boxed]
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

    /// Builds the result of an upload.
    pub fn stored(&self, digest: Digest, size: u64, existed: bool) -> Stored {
        // The key of a BLOB follows from its digest and size, so the locator carries no information.
        Stored { digest, size, locator: Locator::from_slice(&[1]), existed }
    }

    /// Returns the text of the marker, if it belongs to this farm.
    ///
    /// # Errors
    /// Those of [`StoreCheck::read_marker`].
    #[boxed]
    pub async fn read_marker(&self) -> Result<String> {
        self.gate.read_marker(&self.bucket, &self.names).await
    }

    /// Writes another holder into the marker and returns the previous one.
    #[boxed]
    pub async fn set_holder(&self, holder: Option<String>) -> Result<Option<String>> {
        self.gate.set_holder(&self.bucket, &self.names, holder).await
    }
}

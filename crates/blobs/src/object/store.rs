//! The state that all parts of the provider share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use model::{Digest, Error, Result};
use tokio::sync::Semaphore;

use super::bucket::Bucket;
use super::gate::Gate;
use super::names::Names;
use super::options::{ObjectOptions, ObjectSecrets};
use crate::coding::StoreKey;
use crate::locator::Locator;
use crate::provider::Stored;

/// No BLOB above this many bytes becomes one object with its own key, whatever the options say.
pub const INLINE: u64 = 16 << 20;
/// Parts of all uploads together that are on their way at once have this many MiB; a longer part goes alone.
pub const SENDING: u32 = 128;
/// Pieces of all readers together that are read ahead have this many MiB.
const AHEAD: usize = 128;

/// A store in a bucket, for whoever reads or changes it.
pub struct Store {
    pub bucket: Bucket,
    pub names: Names,
    pub keys: Vec<StoreKey>,
    pub options: ObjectOptions,
    /// MiB of parts that may still be sent.
    pub sending: Arc<Semaphore>,
    /// MiB that may still be read ahead.
    pub ahead: Arc<Semaphore>,
    pub closed: AtomicBool,
    gate: Gate,
}

impl Store {
    pub fn new(options: &ObjectOptions, secrets: &ObjectSecrets, gate: Gate) -> Result<Self> {
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

    /// Makes sure, once, that the place is a store of this farm.
    ///
    /// Errors: those of [`Gate::ready`].
    pub async fn ready(&self) -> Result<()> {
        self.gate.ready(&self.bucket, &self.names).await
    }

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

    pub async fn mark(&self) -> Result<String> {
        self.gate.mark(&self.bucket, &self.names).await
    }

    /// Writes another holder into the marker; answers with the one before.
    pub async fn set_holder(&self, holder: Option<String>) -> Result<Option<String>> {
        self.gate.set_holder(&self.bucket, &self.names, holder).await
    }
}

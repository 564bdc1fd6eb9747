//! A provider that fails on purpose, for testing callers that must cope with failing stores.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result, StoreKind};

use crate::locator::Locator;
use crate::outcome::{CheckOutcome, Reporter};
use crate::provider::{
    BlobInMemory, BoxFuture, CompactLimits, CompactReport, Consent, Entry, Page, Provider, Source, Stored, Upload,
    Usage,
};

/// An operation that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The beginning of storing: nothing is stored.
    Store,
    /// The end of storing: the BLOB is stored, but the caller gets an error.
    Acknowledge,
    /// Opening a BLOB.
    Open,
    /// Reading from an open BLOB.
    Read,
    /// Deleting, before anything is removed.
    Delete,
    /// Listing.
    Enumerate,
}

/// One fault: the `after`-th call (0 is the next one) of `operation` and all later ones fail with `kind`.
#[derive(Clone, Copy, Debug)]
pub struct Fault {
    /// The operation whose calls fail.
    pub operation: Operation,
    /// Number of calls that still succeed.
    pub after: i64,
    /// Kind of the injected errors.
    pub kind: ErrorKind,
}

/// Wraps a provider and injects one fault at a time.
pub struct FaultyProvider {
    inner: Arc<dyn Provider>,
    plan: Arc<Plan>,
}

#[derive(Default)]
struct Plan {
    fault: Mutex<Option<Fault>>,
    left: AtomicI64,
}

impl Plan {
    fn check(&self, operation: Operation) -> Result<()> {
        let fault = *self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        match fault {
            Some(fault) if fault.operation == operation && self.left.fetch_sub(1, Ordering::SeqCst) <= 0 => {
                Err(Error::new(fault.kind, format!("injected fault: {operation:?}")))
            }
            _ => Ok(()),
        }
    }
}

impl FaultyProvider {
    /// Creates a wrapper that passes everything on until [`set`](Self::set) is called.
    pub fn new(inner: Arc<dyn Provider>) -> Self {
        Self { inner, plan: Arc::default() }
    }

    /// Starts to inject this fault; `None` stops.
    pub fn set(&self, fault: Option<Fault>) {
        self.plan.left.store(fault.map_or(0, |fault| fault.after), Ordering::SeqCst);
        *self.plan.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }
}

#[deny(clippy::missing_trait_methods)]
impl Provider for FaultyProvider {
    fn kind(&self) -> StoreKind {
        self.inner.kind()
    }

    fn put_limit(&self) -> u64 {
        self.inner.put_limit()
    }

    fn put(&self, blob: BlobInMemory) -> BoxFuture<'_, Stored> {
        Box::pin(async move {
            self.plan.check(Operation::Store)?;
            let stored = self.inner.put(blob).await?;
            self.plan.check(Operation::Acknowledge)?;
            Ok(stored)
        })
    }

    fn upload(&self, announced: Option<u64>) -> BoxFuture<'_, Box<dyn Upload>> {
        Box::pin(async move {
            self.plan.check(Operation::Store)?;
            let inner = self.inner.upload(announced).await?;
            Ok(Box::new(FaultyUpload { inner, plan: self.plan.clone() }) as Box<dyn Upload>)
        })
    }

    fn open(&self, digest: Digest, size: u64, locator: Option<Locator>) -> BoxFuture<'_, Box<dyn Source>> {
        Box::pin(async move {
            self.plan.check(Operation::Open)?;
            let inner = self.inner.open(digest, size, locator).await?;
            Ok(Box::new(FaultySource { inner, plan: self.plan.clone() }) as Box<dyn Source>)
        })
    }

    fn confirm(&self, digest: Digest, size: u64) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.plan.check(Operation::Open)?;
            self.inner.confirm(digest, size).await
        })
    }

    fn delete(&self, digest: Digest) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.plan.check(Operation::Delete)?;
            self.inner.delete(digest).await
        })
    }

    /// Each BLOB counts as a call of [`Operation::Delete`]. The ones that do not fail are deleted together.
    fn delete_all<'a>(
        &'a self,
        digests: Vec<Digest>,
        consent: &'a dyn Consent,
    ) -> BoxFuture<'a, Vec<(Digest, Result<()>)>> {
        Box::pin(async move {
            let (mut passed, mut outcomes) = (Vec::new(), Vec::new());
            for digest in digests {
                match self.plan.check(Operation::Delete) {
                    Ok(()) => passed.push(digest),
                    Err(error) => outcomes.push((digest, Err(error))),
                }
            }
            if !passed.is_empty() {
                outcomes.extend(self.inner.delete_all(passed, consent).await?);
            }
            Ok(outcomes)
        })
    }

    fn enumerate(&self, after: Option<Digest>, limit: usize) -> BoxFuture<'_, Page> {
        Box::pin(async move {
            self.plan.check(Operation::Enumerate)?;
            self.inner.enumerate(after, limit).await
        })
    }

    fn reread(&self, entry: Entry) -> BoxFuture<'_, CheckOutcome> {
        Box::pin(async move {
            self.plan.check(Operation::Open)?;
            self.inner.reread(entry).await
        })
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

struct FaultyUpload {
    inner: Box<dyn Upload>,
    plan: Arc<Plan>,
}

impl Upload for FaultyUpload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, ()> {
        self.inner.write(bytes)
    }

    fn finish(self: Box<Self>, digest: Digest, size: u64) -> BoxFuture<'static, Stored> {
        Box::pin(async move {
            let stored = self.inner.finish(digest, size).await?;
            self.plan.check(Operation::Acknowledge)?;
            Ok(stored)
        })
    }
}

struct FaultySource {
    inner: Box<dyn Source>,
    plan: Arc<Plan>,
}

impl Source for FaultySource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        match self.plan.check(Operation::Read) {
            Ok(()) => self.inner.try_read(offset, limit),
            Err(error) => Some(Err(error)),
        }
    }

    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes> {
        self.inner.read(offset, limit)
    }
}

//! The test of a store that the administrator runs: it writes, reads, lists and deletes random bytes of its own and
//! measures each step.

use std::fmt;
use std::time::{Duration, Instant};

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result};
use ring::rand::SecureRandom;

use crate::provider::Stored;
use crate::{BlobReader, BlobStore, digest_of};

/// Length of the small BLOB in bytes.
const SMALL: usize = 200_000;
/// Stores with a `put_limit` of this size or more are not probed with a large BLOB.
const LARGE: u64 = 32 << 20;

/// Length of the random bytes that identify a store, and the timeout for the other store's answer.
const TOKEN: usize = 32;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);

/// One step that succeeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbeStep {
    /// The operation, such as `read a range`.
    pub what: &'static str,
    /// Bytes transferred; 0 where this does not apply.
    pub bytes: u64,
    /// Duration.
    pub time: Duration,
}

/// The result of a probe. Its [`Display`](fmt::Display) is a log with a line for each step.
#[derive(Debug, Default)]
pub struct ProbeReport {
    /// The successful steps, in order.
    pub steps: Vec<ProbeStep>,
    /// The step that failed, with its error. After it only the removal of the probe's BLOBs was tried.
    pub failure: Option<(&'static str, Error)>,
}

impl ProbeReport {
    /// True if every step succeeded.
    pub fn is_good(&self) -> bool {
        self.failure.is_none()
    }
}

impl fmt::Display for ProbeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.steps {
            let bytes = if step.bytes > 0 { format!(", {} bytes", step.bytes) } else { String::new() };
            writeln!(f, "ok      {}: {:.1} ms{bytes}", step.what, step.time.as_secs_f64() * 1000.0)?;
        }
        match &self.failure {
            Some((what, error)) => writeln!(f, "FAILED  {what}: {}", error.report()),
            None => Ok(()),
        }
    }
}

/// A running probe, with the BLOBs that it created and has to remove.
struct Probe<'a> {
    store: &'a BlobStore,
    report: ProbeReport,
    made: Vec<Digest>,
}

impl BlobStore {
    /// Tries everything that a store must be able to do, with random bytes of its own that it removes again. Other
    /// BLOBs are not touched. Never fails itself: the report holds the first error.
    #[boxed]
    pub async fn test(&self) -> ProbeReport {
        probe(self).await
    }

    /// Returns whether `other` is this store under another name or address: writes random bytes here, looks for them
    /// there, and removes them. `None` when `other` fails or does not answer within ten seconds.
    ///
    /// # Errors
    /// Failures of this store.
    #[boxed]
    pub async fn is_same_store_as(&self, other: &Self) -> Result<Option<bool>> {
        is_same_store_as(self, other).await
    }
}

/// Probes a store with random bytes, which no other BLOB has, so that no existing BLOB is touched.
async fn probe(store: &BlobStore) -> ProbeReport {
    let mut probe = Probe { store, report: ProbeReport::default(), made: Vec::new() };
    if let Err((what, error)) = probe.run().await {
        for digest in probe.made {
            // The report keeps the first failure. A BLOB of the probe that stays is an orphan, which garbage collection
            // finds.
            if let Err(error) = store.delete(digest).await {
                tracing::warn!(%digest, error = error.report(), "the probe of a BLOB store could not be removed");
            }
        }
        probe.report.failure = Some((what, error));
    }
    probe.report
}

impl Probe<'_> {
    async fn step<T>(
        &mut self,
        what: &'static str,
        bytes: u64,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T, (&'static str, Error)> {
        let start = Instant::now();
        let done = work.await.map_err(|error| (what, error))?;
        self.report.steps.push(ProbeStep { what, bytes, time: start.elapsed() });
        Ok(done)
    }

    async fn run(&mut self) -> Result<(), (&'static str, Error)> {
        let store = self.store;
        let small = random(SMALL).map_err(|error| ("make random bytes", error))?;
        let digest = digest_of(&small);
        self.made.push(digest);
        let length = small.len() as u64;
        let stored = self.step("write", length, store.put(digest, small.clone())).await?;
        self.step("read", length, read(store, &stored, 0, &small)).await?;
        let range = small.slice(70_000..140_000);
        self.step("read a range", range.len() as u64, read(store, &stored, 70_000, &range)).await?;
        let limit = store.provider().put_limit();
        if limit < LARGE {
            let large = random(limit as usize + 1).map_err(|error| ("make random bytes", error))?;
            self.made.push(digest_of(&large));
            let stored = self.step("write a large BLOB", large.len() as u64, stream(store, &large)).await?;
            let range = large.slice(large.len() / 2..large.len() / 2 + 100.min(large.len() / 2));
            let from = large.len() as u64 / 2;
            self.step("read a range of it", range.len() as u64, read(store, &stored, from, &range)).await?;
        }
        self.step("list", 0, list(store, digest, length)).await?;
        for digest in self.made.clone() {
            self.step("delete", 0, store.delete(digest)).await?;
        }
        self.step("look for what was deleted", 0, is_gone(store, digest, length)).await
    }
}

/// Returns whether `other` has the random bytes that are written to `store` and removed again. `None` when `other`
/// fails or does not answer within [`ANSWER_TIMEOUT`].
///
/// # Errors
/// Failures of `store`.
async fn is_same_store_as(store: &BlobStore, other: &BlobStore) -> Result<Option<bool>> {
    let bytes = random(TOKEN)?;
    let digest = digest_of(&bytes);
    store.put(digest, bytes).await?;
    let seen = tokio::time::timeout(ANSWER_TIMEOUT, other.ensure_present(digest, TOKEN as u64)).await;
    store.delete(digest).await?;
    Ok(match seen {
        Ok(Ok(())) => Some(true),
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Some(false),
        Ok(Err(_)) | Err(_) => None,
    })
}

fn random(length: usize) -> Result<Bytes> {
    let mut bytes = vec![0; length];
    let done = ring::rand::SystemRandom::new().fill(&mut bytes);
    done.map_err(|_| Error::unavailable("the system's random number generator failed"))?;
    Ok(Bytes::from(bytes))
}

async fn stream(store: &BlobStore, bytes: &Bytes) -> Result<Stored> {
    let mut writer = store.writer(Some(bytes.len() as u64)).await?;
    for start in (0..bytes.len()).step_by(1 << 20) {
        writer.write(bytes.slice(start..bytes.len().min(start + (1 << 20)))).await?;
    }
    writer.finish().await
}

/// Reads from `offset` on and compares the bytes with `expected`.
async fn read(store: &BlobStore, stored: &Stored, offset: u64, expected: &Bytes) -> Result<()> {
    let mut reader: BlobReader = store.open(stored.digest, stored.size, Some(&stored.locator)).await?;
    reader.set_range(offset..offset + expected.len() as u64);
    let mut at = 0;
    while let Some(chunk) = reader.next_chunk().await? {
        if expected.get(at..at + chunk.len()) != Some(&chunk[..]) {
            return Err(Error::corrupt("the store returned other bytes than were stored: do not use it"));
        }
        at += chunk.len();
    }
    match at == expected.len() {
        true => Ok(()),
        false => Err(Error::corrupt(format!("the store returned {at} bytes instead of {}", expected.len()))),
    }
}

/// Checks that a listing that begins just before the probe's BLOB begins with that BLOB.
async fn list(store: &BlobStore, digest: Digest, size: u64) -> Result<()> {
    let mut before = *digest.as_bytes();
    for byte in before.iter_mut().rev() {
        let borrow = *byte == 0;
        *byte = byte.wrapping_sub(1);
        if !borrow {
            break;
        }
    }
    let page = store.enumerate(Some(Digest::new(before)), 1).await?;
    match page.entries.first() {
        Some(entry) if entry.digest == digest && entry.size == size => Ok(()),
        _ => Err(Error::unavailable(
            "the store does not list a BLOB that was stored: orphans in it would never be found",
        )),
    }
}

async fn is_gone(store: &BlobStore, digest: Digest, size: u64) -> Result<()> {
    match store.open(digest, size, None).await {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(_) => {
            Err(Error::unavailable("the store still returns a BLOB that was deleted: no space in it can be reclaimed"))
        }
    }
}

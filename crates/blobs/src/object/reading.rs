//! Reading open BLOBs: small ones from memory, large ones in verified pieces that are prefetched for a sequential
//! reader.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use model::{Code, Digest, Error, ErrorKind, Result};
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinHandle;

use crate::blocking::blocking;
use crate::coding::{CHUNK, Envelope};
use crate::provider::{BoxFuture, Source};

use super::opening::Opened;
use super::store::Store;

/// Length to which the pieces of a sequential reader grow, in bytes.
const MAX_PIECE: u64 = 4 << 20;
/// Length of the second piece of a sequential reader, in bytes.
const SECOND: u64 = 1 << 20;
/// Number of pieces that are prefetched for a sequential reader, if the store's budget allows.
const AHEAD: usize = 4;

/// A BLOB in memory.
pub struct WholeSource(pub Bytes);

impl Source for WholeSource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        let start = (offset as usize).min(self.0.len());
        Some(Ok(self.0.slice(start..start.saturating_add(limit).min(self.0.len()))))
    }

    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes> {
        let answer = self.try_read(offset, limit);
        Box::pin(async move { answer.unwrap_or_else(|| Ok(Bytes::new())) })
    }
}

/// A BLOB in a data object.
pub struct LargeSource {
    store: Arc<Store>,
    envelope: Arc<Envelope>,
    /// The piece being read, with its offset.
    current: Option<(u64, Bytes)>,
    /// Prefetched pieces that follow it without a gap.
    ahead: VecDeque<Ahead>,
    /// Length of the next piece; 0 until the reader has proved to be sequential.
    step: u64,
}

struct Ahead {
    range: Range<u64>,
    task: JoinHandle<Result<Bytes>>,
    _permit: OwnedSemaphorePermit,
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LargeSource {
    pub fn new(store: Arc<Store>, envelope: Arc<Envelope>) -> Self {
        Self { store, envelope, current: None, ahead: VecDeque::new(), step: 0 }
    }

    fn in_current(&self, offset: u64, limit: usize) -> Option<Bytes> {
        let (start, bytes) = self.current.as_ref()?;
        let from = offset.checked_sub(*start).filter(|from| *from < bytes.len() as u64)? as usize;
        Some(bytes.slice(from..from.saturating_add(limit).min(bytes.len())))
    }

    async fn advance(&mut self, offset: u64, limit: usize) -> Result<Bytes> {
        let steady = self.current.as_ref().is_some_and(|(start, bytes)| start + bytes.len() as u64 == offset);
        if steady {
            self.step = (self.step * 4).clamp(SECOND, MAX_PIECE);
        } else {
            self.ahead.clear();
            self.step = 0;
        }
        let range = match self.ahead.pop_front() {
            Some(mut ahead) => {
                self.look_ahead(ahead.range.end);
                match (&mut ahead.task).await {
                    Ok(Ok(bytes)) => {
                        self.current = Some((ahead.range.start, bytes));
                        return self.in_current(offset, limit).ok_or_else(interrupted);
                    }
                    // The store may have changed since the prefetch; the fetch below also reopens the BLOB.
                    _ => ahead.range.clone(),
                }
            }
            None => {
                let end = offset.saturating_add(self.step.max(limit as u64));
                let range = self.aligned(offset..end);
                if steady {
                    self.look_ahead(range.end);
                }
                range
            }
        };
        let bytes = self.fetch_or_reopen(&range).await?;
        self.current = Some((range.start, bytes));
        self.in_current(offset, limit).ok_or_else(interrupted)
    }

    /// Starts to prefetch the pieces from `end` on.
    fn look_ahead(&mut self, end: u64) {
        let mut end = self.ahead.back().map_or(end, |last| last.range.end);
        while self.ahead.len() < AHEAD && end < self.envelope.content {
            let range = self.aligned(end..end.saturating_add(self.step));
            let mebibytes = (range.end - range.start).div_ceil(1 << 20) as u32;
            let Ok(permit) = self.store.ahead.clone().try_acquire_many_owned(mebibytes) else { return };
            end = range.end;
            let (store, envelope, wanted) = (self.store.clone(), self.envelope.clone(), range.clone());
            let task = tokio::spawn(async move { fetch(&store, &envelope, &wanted).await });
            self.ahead.push_back(Ahead { range, task, _permit: permit });
        }
    }

    /// Extends a range to whole chunks.
    fn aligned(&self, range: Range<u64>) -> Range<u64> {
        let chunk = self.envelope.chunk_length;
        range.start / chunk * chunk..range.end.next_multiple_of(chunk).min(self.envelope.content)
    }

    async fn fetch_or_reopen(&mut self, range: &Range<u64>) -> Result<Bytes> {
        let error = match fetch(&self.store, &self.envelope, range).await {
            // The bytes may have been damaged in transit, or replaced by a good copy.
            Err(error) if error.kind() == ErrorKind::Corrupt => error,
            done => return done,
        };
        match self.store.open(self.envelope.digest, self.envelope.content).await? {
            Opened::Whole(bytes) => Ok(bytes.slice(range.start as usize..range.end as usize)),
            Opened::Large(envelope)
                if envelope.data != self.envelope.data && envelope.chunk_length != self.envelope.chunk_length =>
            {
                Err(Error::unavailable("this BLOB was stored again while it was read: read it again")
                    .with_source(error))
            }
            Opened::Large(envelope) => {
                self.envelope = envelope;
                fetch(&self.store, &self.envelope, range).await
            }
        }
    }
}

/// Reads and verifies a range of whole chunks.
async fn fetch(store: &Arc<Store>, envelope: &Arc<Envelope>, range: &Range<u64>) -> Result<Bytes> {
    let missing = || {
        let text = format!("the bytes of BLOB {} are missing in {}: restore it", envelope.digest, store.bucket.label());
        Error::corrupt(text).with_code(Code::BlobBytesMissing)
    };
    let frames = envelope.frames_around(range);
    let id = envelope.data.ok_or_else(missing)?;
    let stored = store.bucket.get_range(&store.names.data(&id), envelope.span(&frames)).await?.ok_or_else(missing)?;
    let envelope = envelope.clone();
    blocking(move || envelope.decode_frames(&frames, &stored)).await
}

fn interrupted() -> Error {
    Error::unavailable("a part of a BLOB was not read: read it again")
}

impl Source for LargeSource {
    fn try_read(&mut self, offset: u64, limit: usize) -> Option<Result<Bytes>> {
        self.in_current(offset, limit).map(Ok)
    }

    fn read(&mut self, offset: u64, limit: usize) -> BoxFuture<'_, Bytes> {
        Box::pin(async move {
            match self.in_current(offset, limit) {
                Some(bytes) => Ok(bytes),
                None => self.advance(offset, limit).await,
            }
        })
    }
}

impl Store {
    /// Returns whether an existing BLOB has all its bytes. Fails with `NotFound` when it is absent.
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

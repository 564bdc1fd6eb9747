//! The upload of a large BLOB: parts of a data object in parallel, then the envelope that makes it a BLOB.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use model::{Digest, Error, ErrorKind, Result};
use object_store::multipart::PartId;
use tokio::task::JoinSet;

use super::opening::Opened;
use super::store::{SENDING, Store};
use crate::blocking::blocking;
use crate::coding::DataId;
use crate::coding::Encoder;
use crate::coding::fill_random;
use crate::coding::{HEADER_LENGTH, chunk_for, encode};
use crate::provider::{BoxFuture, Stored, Upload};

/// Approximate number of bytes that are compressed or encrypted per task on the blocking pool.
const BATCH: usize = 1 << 20;
/// S3's limit on the parts of an upload.
const MAX_PARTS: u64 = 10_000;
/// Number of parts after which the part length doubles for a BLOB of unknown length, up to [`MAX_PART`]. This is
/// enough for 5 TB.
const GROW_AFTER: u64 = 1000;
const MAX_PART: u64 = 2 << 30;

/// An upload into a data object. Dropping it before the end aborts the multipart upload.
pub struct ObjectUpload {
    store: Arc<Store>,
    id: DataId,
    announced: Option<u64>,
    started: Instant,
    /// `None` after a failure.
    encoder: Option<Encoder>,
    /// Bytes that are not encoded yet.
    raw: Vec<Bytes>,
    raw_bytes: usize,
    /// Bytes that are ready to be sent.
    ready: Vec<Bytes>,
    ready_bytes: u64,
    /// The service's identifier of the multipart upload, once it has begun.
    multipart: Option<String>,
    begun_parts: u64,
    tasks: JoinSet<Result<(u64, PartId)>>,
    parts: Vec<(u64, PartId)>,
}

impl ObjectUpload {
    pub fn begin(store: Arc<Store>, announced: Option<u64>) -> Result<Self> {
        let mut id = [0; 16];
        fill_random(&mut id)?;
        let chunk = chunk_for(announced.unwrap_or(0));
        let encoder = Encoder::new(chunk, store.options.compression, store.newest_key())?;
        Ok(Self {
            store,
            id,
            announced,
            started: Instant::now(),
            encoder: Some(encoder),
            raw: Vec::new(),
            raw_bytes: 0,
            ready: Vec::new(),
            ready_bytes: 0,
            multipart: None,
            begun_parts: 0,
            tasks: JoinSet::new(),
            parts: Vec::new(),
        })
    }

    fn key(&self) -> String {
        self.store.names.data(&self.id)
    }

    async fn take(&mut self, bytes: Bytes) -> Result<()> {
        self.raw_bytes += bytes.len();
        self.raw.push(bytes);
        let framed = self.encoder.as_ref().is_some_and(Encoder::is_framed);
        if framed && self.raw_bytes < BATCH {
            return Ok(());
        }
        self.encode().await?;
        loop {
            let length = part_length(self.store.options.part_bytes, self.announced, self.begun_parts);
            if self.ready_bytes <= length {
                return Ok(());
            }
            let pieces = self.cut(length);
            self.send(pieces).await?;
        }
    }

    /// Passes the gathered bytes through the encoder.
    async fn encode(&mut self) -> Result<()> {
        let raw = std::mem::take(&mut self.raw);
        self.raw_bytes = 0;
        let mut encoder = self.encoder.take().ok_or_else(failed_before)?;
        let mut out = Vec::new();
        if encoder.is_framed() {
            (encoder, out) = blocking(move || {
                raw.iter().try_for_each(|piece| encoder.push(piece, &mut out))?;
                Ok((encoder, out))
            })
            .await?;
        } else {
            raw.iter().try_for_each(|piece| encoder.push(piece, &mut out))?;
        }
        self.encoder = Some(encoder);
        self.ready_bytes += out.iter().map(|piece| piece.len() as u64).sum::<u64>();
        self.ready.append(&mut out);
        Ok(())
    }

    /// Removes exactly `length` of the ready bytes, or all if there are fewer.
    fn cut(&mut self, length: u64) -> Vec<Bytes> {
        let mut left = length.min(self.ready_bytes);
        self.ready_bytes -= left;
        let mut pieces = Vec::new();
        let mut ready = std::mem::take(&mut self.ready).into_iter();
        for mut piece in ready.by_ref() {
            if piece.len() as u64 > left {
                if left > 0 {
                    pieces.push(piece.split_to(left as usize));
                }
                self.ready.push(piece);
                break;
            }
            left -= piece.len() as u64;
            pieces.push(piece);
        }
        self.ready.extend(ready);
        pieces
    }

    /// Starts to send a part, after waiting for earlier ones if too many are in flight.
    async fn send(&mut self, pieces: Vec<Bytes>) -> Result<()> {
        let key = self.key();
        let multipart = match &self.multipart {
            Some(multipart) => multipart.clone(),
            None => self.multipart.insert(self.store.bucket.begin(&key).await?).clone(),
        };
        let length: u64 = pieces.iter().map(|piece| piece.len() as u64).sum();
        // The longer the parts, the fewer are in flight, so that the memory stays about the same.
        let parallel =
            (self.store.options.part_bytes * self.store.options.parts_in_flight as u64 / length.max(1)).max(1);
        while self.tasks.len() as u64 >= parallel.min(self.store.options.parts_in_flight as u64) {
            self.settle_one().await?;
        }
        let closed = |_| Error::unavailable("the BLOB store is closed");
        let mebibytes = length.div_ceil(1 << 20).clamp(1, u64::from(SENDING)) as u32;
        let permit = self.store.sending.clone().acquire_many_owned(mebibytes).await.map_err(closed)?;
        let number = self.begun_parts;
        self.begun_parts += 1;
        let store = self.store.clone();
        self.tasks.spawn(async move {
            let _permit = permit;
            let part = store.bucket.part(&key, &multipart, number as usize, &pieces).await?;
            Ok((number, part))
        });
        Ok(())
    }

    async fn settle_one(&mut self) -> Result<()> {
        let Some(done) = self.tasks.join_next().await else { return Ok(()) };
        let part = done.map_err(|error| Error::unavailable("an upload was interrupted").with_source(error))?;
        if part.is_err() {
            self.encoder = None;
        }
        self.parts.push(part?);
        Ok(())
    }

    async fn complete(mut self: Box<Self>, digest: Digest, size: u64) -> Result<Stored> {
        self.store.writable().await?;
        self.encode().await?;
        let encoder = self.encoder.take().ok_or_else(failed_before)?;
        let mut out = Vec::new();
        let encoded = encoder.finish(&mut out)?;
        let envelope = Bytes::from(encode(&encoded, &digest, size, Some(&self.id), &self.store.keys)?);
        // The header comes last, so that the end of a data object identifies it.
        out.extend([envelope.slice(HEADER_LENGTH..), envelope.slice(..HEADER_LENGTH)]);
        let length = encoded.stored + envelope.len() as u64;
        self.ready_bytes += out.iter().map(|piece| piece.len() as u64).sum::<u64>();
        self.ready.append(&mut out);
        self.finish_data(length).await?;
        if self.started.elapsed() > self.store.orphan_window() / 2 {
            let text = "this upload took so long that its bytes may have been removed as orphans: upload it again";
            return Err(Error::unavailable(text));
        }
        let existed = self.publish(digest, size, envelope).await?;
        Ok(self.store.stored(digest, size, existed))
    }

    /// Completes the data object and makes it durable.
    async fn finish_data(&mut self, length: u64) -> Result<()> {
        let key = self.key();
        if self.multipart.is_none() && self.ready_bytes <= self.store.options.part_bytes {
            let pieces = self.cut(u64::MAX);
            return self.store.bucket.replace(&key, &pieces).await;
        }
        while self.ready_bytes > 0 {
            let pieces = self.cut(part_length(self.store.options.part_bytes, self.announced, self.begun_parts));
            self.send(pieces).await?;
        }
        while !self.tasks.is_empty() {
            self.settle_one().await?;
        }
        self.parts.sort_by_key(|(number, _)| *number);
        let parts = std::mem::take(&mut self.parts).into_iter().map(|(_, part)| part).collect();
        let multipart = self.multipart.clone().ok_or_else(failed_before)?;
        if let Err(error) = self.store.bucket.complete(&key, &multipart, parts).await {
            // The response may have been lost: the service then no longer knows the upload, because it is complete.
            match self.store.bucket.head(&key).await {
                Ok(Some(found)) if found.length == length => {}
                _ => return Err(error),
            }
        }
        self.multipart = None;
        Ok(())
    }

    /// Stores the envelope under the BLOB's key. An existing envelope is replaced, which repairs a damaged copy; its
    /// data object is left to compaction, because a reader may still use it.
    async fn publish(&self, digest: Digest, size: u64, envelope: Bytes) -> Result<bool> {
        let (store, key) = (&self.store, self.store.names.blob(&digest, size));
        if store.bucket.create(&key, std::slice::from_ref(&envelope)).await? {
            return Ok(false);
        }
        let existed = match store.open(digest, size).await {
            Ok(Opened::Whole(_)) => return Ok(true),
            // The response to our own request was lost and the request was retried.
            Ok(Opened::Large(found)) if found.data == Some(self.id) => return Ok(false),
            Ok(Opened::Large(found)) => match found.data {
                Some(data) => store.bucket.head(&store.names.data(&data)).await?.is_some(),
                None => false,
            },
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Corrupt) => false,
            Err(error) => return Err(error),
        };
        store.bucket.replace(&key, &[envelope]).await?;
        Ok(existed)
    }
}

/// Returns the length of the part with this number.
fn part_length(part: u64, announced: Option<u64>, number: u64) -> u64 {
    match announced {
        // All parts have the same length, as some services demand. There is room for the table, and for frames that
        // encryption makes longer.
        Some(announced) => part.max((announced + announced / 1000).div_ceil(MAX_PARTS - 100).next_multiple_of(1 << 20)),
        None => part.checked_shl((number / GROW_AFTER) as u32).unwrap_or(MAX_PART).min(MAX_PART.max(part)),
    }
}

impl Upload for ObjectUpload {
    fn write(&mut self, bytes: Bytes) -> BoxFuture<'_, ()> {
        Box::pin(self.take(bytes))
    }

    fn finish(self: Box<Self>, digest: Digest, size: u64) -> BoxFuture<'static, Stored> {
        Box::pin(self.complete(digest, size))
    }
}

impl Drop for ObjectUpload {
    fn drop(&mut self) {
        let (Some(multipart), Ok(runtime)) = (self.multipart.take(), tokio::runtime::Handle::try_current()) else {
            return;
        };
        self.tasks.abort_all();
        let (store, key) = (self.store.clone(), self.key());
        runtime.spawn(async move {
            if let Err(error) = store.bucket.abort(&key, &multipart).await {
                tracing::warn!(%key, error = error.report(), "the parts of an abandoned upload remain in the bucket");
            }
        });
    }
}

fn failed_before() -> Error {
    Error::unavailable("an earlier part of this upload could not be stored; upload it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_parts_are_enough() {
        let part = 8 << 20;
        let total: u64 = (0..MAX_PARTS).map(|number| part_length(part, None, number)).sum();
        assert!(total >= 5_500_000_000_000, "{total}");
        for announced in [20_000_000_000, 100_000_000_000, 5_000_000_000_000] {
            let length = part_length(part, Some(announced), 0);
            let sent =
                announced + announced.div_ceil(1 << 16) * 16 + announced.div_ceil(chunk_for(announced)) * 8 + 192;
            assert!(sent.div_ceil(length) <= MAX_PARTS, "{announced}");
            assert!(length <= (announced / 9000).max(part), "{announced}: {length}");
        }
    }
}

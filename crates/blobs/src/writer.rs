//! Streaming into a store: small BLOBs are gathered in memory, large ones are streamed.

use std::sync::Arc;

use async_recursion::async_recursion as boxed;
use bytes::Bytes;
use model::{Error, Result};

use crate::hasher::BlobHasher;
use crate::metrics::Metrics;
use crate::provider::{BlobInMemory, Provider, Stored, Upload};

/// A BLOB being written into a store, in bounded memory. Dropping it without [`finish`](Self::finish) leaves nothing
/// behind.
pub struct BlobWriter {
    provider: Arc<dyn Provider>,
    metrics: Metrics,
    announced: Option<u64>,
    hasher: BlobHasher,
    written: u64,
    state: State,
}

enum State {
    Gathering(Vec<Bytes>),
    Streaming(Box<dyn Upload>),
    /// A piece could not be stored, so that the remaining ones would not make up the BLOB.
    Failed,
}

impl BlobWriter {
    pub(crate) async fn begin(provider: Arc<dyn Provider>, metrics: Metrics, announced: Option<u64>) -> Result<Self> {
        let state = match announced {
            Some(size) if size > provider.put_limit() => State::Streaming(provider.upload(announced).await?),
            _ => State::Gathering(Vec::new()),
        };
        Ok(Self { provider, metrics, announced, hasher: BlobHasher::new(), written: 0, state })
    }

    /// Number of bytes taken so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Takes the next piece. Fails with `Invalid` when more bytes arrive than were announced. After any error the
    /// writer can only be dropped.
    #[boxed]
    pub async fn write(&mut self, bytes: Bytes) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let total = self.written.saturating_add(bytes.len() as u64);
        // Taken out of `self`, so that after an error or a dropped future the writer refuses to finish.
        let state = std::mem::replace(&mut self.state, State::Failed);
        if let Some(announced) = self.announced.filter(|announced| total > *announced) {
            return Err(Error::invalid(format!("more bytes arrived than the {announced} that were announced")));
        }
        self.hasher.update(&bytes);
        self.state = match state {
            State::Gathering(mut pieces) if total <= self.provider.put_limit() => {
                pieces.push(bytes);
                State::Gathering(pieces)
            }
            State::Gathering(pieces) => {
                let mut upload = self.provider.upload(self.announced).await?;
                for piece in pieces {
                    upload.write(piece).await?;
                }
                upload.write(bytes).await?;
                State::Streaming(upload)
            }
            State::Streaming(mut upload) => {
                upload.write(bytes).await?;
                State::Streaming(upload)
            }
            State::Failed => return Err(failed_before()),
        };
        self.written = total;
        Ok(())
    }

    /// Makes the BLOB durable. Fails with `Invalid` when fewer bytes arrived than were announced; nothing is stored
    /// then.
    #[boxed]
    pub async fn finish(self) -> Result<Stored> {
        if let Some(announced) = self.announced.filter(|announced| self.written < *announced) {
            return Err(Error::invalid(format!("only {} of {announced} announced bytes arrived", self.written)));
        }
        let (digest, size) = (self.hasher.finish(), self.written);
        match self.state {
            State::Gathering(pieces) => {
                self.metrics.timed_put(self.provider.put(BlobInMemory { digest, size, pieces })).await
            }
            State::Streaming(upload) => self.metrics.timed_put(upload.finish(digest, size)).await,
            State::Failed => Err(failed_before()),
        }
    }
}

fn failed_before() -> Error {
    Error::unavailable("an earlier part of this upload could not be stored; upload it again")
}

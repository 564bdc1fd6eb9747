//! Limits on what a request to the search server may take: time, and bytes of its answer. A server that is broken or
//! hostile must not use up the memory of this process.

use std::time::Duration;

/// Limits on one request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Time until the whole answer is there.
    pub(super) time: Duration,
    /// Bytes of the answer.
    pub(super) bytes: usize,
}

impl Limits {
    /// Bytes of an answer that only says what was done.
    const SHORT: usize = 256 << 10;
    /// Bytes of an answer with a checkpoint. One has 10,000 gaps at most.
    const CHECKPOINT: usize = 2 << 20;
    /// Bytes that an answer has besides its parts.
    const FRAME: usize = 64 << 10;
    /// Bytes of a hit with its fields.
    const HIT: usize = 1 << 10;
    /// Bytes of a value with its number of hits.
    const BUCKET: usize = 96;
    /// Bytes of what became of one action.
    const ACTION: usize = 512;
    /// Bytes of one kept text in base64, with what is around it. It need not be shorter than the text.
    const TEXT: usize = 512 << 10;

    /// Limits on a request whose answer only says what was done.
    pub(super) const fn short(time: Duration) -> Self {
        Self { time, bytes: Self::SHORT }
    }

    /// Limits on asking for a checkpoint.
    pub(super) const fn checkpoint(time: Duration) -> Self {
        Self { time, bytes: Self::CHECKPOINT }
    }

    /// Limits on a search for so many hits, which counts hits by so many values.
    pub(super) const fn hits(time: Duration, hits: usize, buckets: usize) -> Self {
        Self { time, bytes: Self::FRAME + Self::HIT * hits + Self::BUCKET * buckets }
    }

    /// Limits on a request with so many actions.
    pub(super) const fn actions(time: Duration, actions: usize) -> Self {
        Self { time, bytes: Self::FRAME + Self::ACTION * actions }
    }

    /// Limits on asking for so many kept texts.
    pub(super) const fn texts(time: Duration, texts: usize) -> Self {
        Self { time, bytes: Self::FRAME + Self::TEXT * texts }
    }
}

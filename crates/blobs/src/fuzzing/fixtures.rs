//! A key, a directory and ranges to read, shared by several fuzz targets.

use std::path::PathBuf;

use crate::coding::{Envelope, StoreKey};

/// Returns the encryption key of all targets.
pub(crate) fn key() -> StoreKey {
    StoreKey::from_bytes([7; 32])
}

/// Creates a scratch directory for this process.
pub(crate) fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("strongroom-fuzz-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a scratch directory");
    path
}

/// Limit on the bytes of a BLOB that are read.
const MAX_CONTENT: u64 = 1 << 20;

/// Returns the ranges in which a BLOB is read.
pub(crate) fn pieces(envelope: &Envelope) -> impl Iterator<Item = std::ops::Range<u64>> {
    let (step, end) = (envelope.chunk_length.min(100_000), envelope.content.min(MAX_CONTENT));
    (0..end).step_by(step as usize).take(8).map(move |at| at..(at + step).min(end))
}

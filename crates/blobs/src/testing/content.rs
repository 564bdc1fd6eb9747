//! Content for tests: bytes that a seed determines, and reading them back.

use std::ops::Range;

use bytes::Bytes;
use model::Result;

use crate::{BlobReader, BlobStore, Stored};

/// Returns incompressible bytes that depend on `seed`.
pub fn random_bytes(seed: u64, length: usize) -> Bytes {
    let mut out = vec![0; length];
    let mut hasher = blake3::Hasher::new();
    hasher.update(&seed.to_le_bytes());
    hasher.finalize_xof().fill(&mut out);
    Bytes::from(out)
}

/// Reads the remaining bytes of a reader.
pub async fn read_all(reader: &mut BlobReader) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    while let Some(chunk) = reader.next_chunk().await? {
        out.extend_from_slice(&chunk);
    }
    Ok(out)
}

/// Opens a BLOB and reads a range of it.
pub async fn read_range(store: &BlobStore, stored: &Stored, range: Range<u64>) -> Result<Vec<u8>> {
    let mut reader = store.open(stored.digest, stored.size, Some(&stored.locator)).await?;
    reader.set_range(range);
    read_all(&mut reader).await
}

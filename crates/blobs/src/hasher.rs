//! The digest of BLOBs, computed where the bytes first arrive.

use model::Digest;

/// Computes a BLOB's digest (BLAKE3-256) piece by piece.
#[derive(Clone, Default)]
pub struct BlobHasher(blake3::Hasher);

impl BlobHasher {
    /// Creates a hasher without input.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all pieces so far.
    pub fn finish(&self) -> Digest {
        Digest::new(*self.0.finalize().as_bytes())
    }
}

/// Returns the digest of bytes that are entirely in memory.
pub fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(*blake3::hash(bytes).as_bytes())
}

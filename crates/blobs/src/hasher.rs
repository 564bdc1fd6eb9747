//! The digest of BLOBs, computed by whoever sees the bytes first.

use model::Digest;

/// Computes a BLOB's digest (BLAKE3-256) piece by piece.
#[derive(Clone, Default)]
pub struct BlobHasher(blake3::Hasher);

impl BlobHasher {
    /// A hasher that has seen nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all pieces so far.
    pub fn finish(&self) -> Digest {
        Digest::new(*self.0.finalize().as_bytes())
    }
}

/// The digest of bytes that are in memory as a whole.
pub fn digest_of(bytes: &[u8]) -> Digest {
    Digest::new(*blake3::hash(bytes).as_bytes())
}

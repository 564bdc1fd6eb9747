//! An in-memory cache of small BLOBs that are read repeatedly.

use bytes::Bytes;
use metrics::{Counter, counter};
use model::Digest;
use quick_cache::Weighter;
use quick_cache::sync::Cache;

use super::reading::RecordSource;
use super::segment::Segment;

/// Length of the longest BLOB that is cached, in bytes.
const MAX_CACHED_BLOB: usize = 256 * 1024;
/// Limit on the cached bytes of one store.
const ROOM: u64 = 32 << 20;
/// Expected number of cached BLOBs.
const EXPECTED: usize = 1024;
/// Approximate overhead of a cached BLOB in bytes: header and checksums of its record, the cache entry, and the
/// allocator's overhead.
const OVERHEAD: usize = 512;

/// A cache of BLOBs whose bytes were verified against their checksums when read. BLOBs that are read once are evicted
/// before BLOBs that are read often.
pub struct BlobCache {
    cache: Cache<Digest, Bytes, ByLength>,
    hits: Counter,
}

impl Default for BlobCache {
    fn default() -> Self {
        let kept = Cache::with_weighter(EXPECTED, ROOM, ByLength);
        Self { cache: kept, hits: counter!("strongroom_blob_memory_hits_total") }
    }
}

impl BlobCache {
    /// Opens the BLOB's record at this location, if that needs no blocking I/O: from this cache, or from the page
    /// cache, and then caches it here.
    pub fn open(&self, segment: &Segment, offset: u64, digest: Digest, size: u64) -> Option<RecordSource> {
        if let Some(bytes) = self.get(&digest, size).filter(|_| !segment.is_dead(offset)) {
            return Some(RecordSource::Whole(bytes));
        }
        let source = RecordSource::resident(segment, offset, digest, size)?;
        if let RecordSource::Whole(bytes) = &source {
            self.insert(digest, bytes);
        }
        Some(source)
    }

    /// Returns the bytes of a BLOB of this size, if cached.
    fn get(&self, digest: &Digest, size: u64) -> Option<Bytes> {
        let bytes = self.cache.get(digest).filter(|bytes| bytes.len() as u64 == size)?;
        self.hits.increment(1);
        Some(bytes)
    }

    /// Caches the bytes of a BLOB, unless it is too long.
    fn insert(&self, digest: Digest, bytes: &Bytes) {
        if bytes.len() <= MAX_CACHED_BLOB {
            self.cache.insert(digest, bytes.clone());
        }
    }

    /// Removes a deleted BLOB.
    pub fn forget(&self, digest: &Digest) {
        self.cache.remove(digest);
    }

    /// Removes all BLOBs.
    pub fn clear(&self) {
        self.cache.clear();
    }
}

#[derive(Clone)]
struct ByLength;

impl Weighter<Digest, Bytes> for ByLength {
    fn weight(&self, _: &Digest, bytes: &Bytes) -> u64 {
        (bytes.len() + OVERHEAD) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(number: u32) -> Digest {
        Digest::new(*blake3::hash(&number.to_le_bytes()).as_bytes())
    }

    #[test]
    fn room_has_a_bound_and_what_is_read_often_outlives_what_is_read_once() {
        let hot = BlobCache::default();
        let often = digest(0);
        hot.insert(often, &Bytes::from(vec![7; 100_000]));
        for number in 1..2_000 {
            assert!(hot.get(&often, 100_000).is_some(), "dropped at {number}");
            hot.insert(digest(number), &Bytes::from(vec![1; 100_000]));
        }
        assert!(hot.cache.weight() <= ROOM, "{} bytes", hot.cache.weight());
        assert!(hot.cache.len() > 100, "{} bytes", hot.cache.weight());
        hot.forget(&often);
        assert!(hot.get(&often, 100_000).is_none());
        hot.clear();
        assert_eq!(hot.cache.len(), 0);
    }

    #[test]
    fn long_ones_are_not_kept_and_a_wrong_size_finds_nothing() {
        let hot = BlobCache::default();
        hot.insert(digest(1), &Bytes::from(vec![1; MAX_CACHED_BLOB + 1]));
        assert_eq!(hot.cache.len(), 0);
        hot.insert(digest(1), &Bytes::from(vec![1; MAX_CACHED_BLOB]));
        assert!(hot.get(&digest(1), 5).is_none());
        assert!(hot.get(&digest(1), MAX_CACHED_BLOB as u64).is_some());
    }
}

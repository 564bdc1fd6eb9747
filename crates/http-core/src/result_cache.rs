//! A bounded cache in memory for results of work on documents, such as pictures.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;

/// Times after which a document that failed is tried again: if the document is the reason, and if a busy machine may
/// be.
const FAILURE_TTL: Duration = Duration::from_secs(600);
const BUSY_TTL: Duration = Duration::from_secs(60);

/// Result of work on a document; `None` if the work failed.
pub type Made = Option<Bytes>;

/// A cached result of one document.
struct Kept {
    key: String,
    made: Made,
    /// Time until which a failure counts.
    until: Instant,
}

/// Results by keys. The oldest make room for new ones.
pub struct ResultCache {
    kept: Mutex<VecDeque<Kept>>,
    bytes: usize,
    results: usize,
}

impl ResultCache {
    /// Creates a cache of at most so many bytes and results.
    pub fn new(bytes: usize, results: usize) -> Self {
        Self { kept: Mutex::default(), bytes, results }
    }

    /// Returns the result with this key. A failure counts for ten minutes.
    pub fn known(&self, key: &str) -> Option<Made> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = |kept: &&Kept| kept.key == key && (kept.made.is_some() || Instant::now() < kept.until);
        kept.iter().find(counts).map(|kept| kept.made.clone())
    }

    /// Keeps a result.
    pub fn keep(&self, key: String, made: Made) {
        self.keep_for(key, made, FAILURE_TTL);
    }

    /// Keeps a failure that may be due to a busy machine, for a minute.
    pub fn keep_briefly(&self, key: String) {
        self.keep_for(key, None, BUSY_TTL);
    }

    fn keep_for(&self, key: String, made: Made, ttl: Duration) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|kept| kept.key != key);
        kept.push_back(Kept { key, made, until: Instant::now() + ttl });
        let size = |made: &Made| made.as_ref().map_or(0, Bytes::len);
        let mut total: usize = kept.iter().map(|kept| size(&kept.made)).sum();
        while total > self.bytes || kept.len() > self.results {
            let Some(oldest) = kept.pop_front() else { break };
            total -= size(&oldest.made);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_results_make_room() {
        let cache = ResultCache::new(10, 3);
        for (key, length) in [("a", 4), ("b", 4), ("c", 4)] {
            cache.keep(key.to_owned(), Some(vec![0; length].into()));
        }
        assert_eq!((cache.known("a"), cache.known("b").is_some()), (None, true));
        for key in ["d", "e"] {
            cache.keep(key.to_owned(), None);
        }
        assert_eq!((cache.known("b"), cache.known("c").is_some(), cache.known("e")), (None, true, Some(None)));
    }
}

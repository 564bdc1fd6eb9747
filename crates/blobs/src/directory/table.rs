//! A map from digests to the segments that may hold them: one word of memory per BLOB, without false negatives.

use std::sync::{Mutex, PoisonError};

use model::Digest;

const SHARDS: usize = 64;
/// The lower bits of a word are the segment's number, the upper ones a part of the digest.
const SEGMENT_BITS: u32 = 24;
const EMPTY: u64 = u64::MAX;

/// A hash table from parts of digests to segment numbers. Entries remain when a BLOB is deleted; a look-up then finds
/// nothing in the segment.
pub struct Table {
    shards: Vec<Mutex<Shard>>,
}

#[derive(Default)]
struct Shard {
    words: Vec<u64>,
    used: usize,
}

impl Table {
    pub fn new() -> Self {
        Self { shards: (0..SHARDS).map(|_| Mutex::default()).collect() }
    }

    /// Records that the segment with this number (below 2^24) holds the digest.
    pub fn insert(&self, digest: &Digest, segment: u32) {
        self.shard(digest).insert(fingerprint(digest) << SEGMENT_BITS | u64::from(segment));
    }

    /// Returns the numbers of the segments that may hold the digest.
    pub fn candidates(&self, digest: &Digest) -> Vec<u32> {
        let wanted = fingerprint(digest);
        let shard = self.shard(digest);
        let words = shard.probe(wanted).map(|at| shard.words[at]);
        words
            .take_while(|word| *word != EMPTY)
            .filter(|word| word >> SEGMENT_BITS == wanted)
            .map(|word| (word & ((1 << SEGMENT_BITS) - 1)) as u32)
            .collect()
    }

    fn shard(&self, digest: &Digest) -> std::sync::MutexGuard<'_, Shard> {
        // A poisoned lock is harmless: each word is written in one piece, so a panic leaves nothing half-done.
        self.shards[usize::from(digest.as_bytes()[8]) % SHARDS].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn insert(&mut self, word: u64) {
        if (self.used + 1) * 5 > self.words.len() * 4 {
            let grown = vec![EMPTY; (self.words.len() * 2).max(16)];
            let old = std::mem::replace(&mut self.words, grown);
            self.used = 0;
            old.into_iter().filter(|word| *word != EMPTY).for_each(|word| self.place(word));
        }
        self.place(word);
    }

    fn place(&mut self, word: u64) {
        let slot = self.probe(word >> SEGMENT_BITS).find(|at| self.words[*at] == EMPTY || self.words[*at] == word);
        if let Some(at) = slot {
            self.used += usize::from(self.words[at] == EMPTY);
            self.words[at] = word;
        }
    }

    /// Returns the positions to probe; callers stop at an empty word.
    fn probe(&self, fingerprint: u64) -> impl Iterator<Item = usize> + use<> {
        let length = self.words.len();
        let start = if length == 0 { 0 } else { (fingerprint as usize) % length };
        (start..length).chain(0..start)
    }
}

/// Returns 40 bits of the digest, other than those that select the shard and sort the indexes. All ones, with all ones
/// as the number, would be the empty word; no segment has that number.
fn fingerprint(digest: &Digest) -> u64 {
    let mut bytes = [0; 8];
    bytes[..5].copy_from_slice(&digest.as_bytes()[9..14]);
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_inserted_is_a_candidate_and_hardly_anything_else() {
        let table = Table::new();
        let digest = |i: u32| crate::digest_of(&i.to_le_bytes());
        for i in 0..20_000 {
            table.insert(&digest(i), i % 7);
            table.insert(&digest(i), i % 7);
            table.insert(&digest(i), 100);
        }
        for i in 0..20_000 {
            let mut found = table.candidates(&digest(i));
            found.sort_unstable();
            assert_eq!(found, vec![i % 7, 100]);
        }
        assert_eq!((20_000..40_000).filter(|i| !table.candidates(&digest(*i)).is_empty()).count(), 0);
        let words: usize = table.shards.iter().map(|s| s.lock().unwrap().words.len()).sum();
        assert!(words <= 40_000 * 5 / 2 + SHARDS * 16, "{words} words");
    }
}

//! Lists of entries: cut into parts, which are stored like everything else, and read one after the other.

use std::collections::VecDeque;

use blobs::digest_of;
use model::{Digest, Result};

use super::index::{Entry, PART, read_part, write_part};
use super::vault::Vault;

/// Most bytes of one part.
const LONGEST: u64 = 16 + PART as u64 * 81;

/// Stores a list and answers its parts, each an entry of its own, and the bytes that this added.
pub(crate) async fn store_part(vault: &Vault, entries: &[Entry]) -> Result<(Entry, u64)> {
    let bytes = write_part(entries);
    vault.put(digest_of(&bytes), bytes).await
}

/// Reads the entries of a list one after the other, a part at a time.
pub(crate) struct List {
    parts: VecDeque<Entry>,
    loaded: std::vec::IntoIter<Entry>,
    next: Option<Entry>,
}

impl List {
    pub fn new(parts: Vec<Entry>) -> Self {
        Self { parts: parts.into(), loaded: Vec::new().into_iter(), next: None }
    }

    /// The next entry.
    pub async fn next(&mut self, vault: &Vault) -> Result<Option<Entry>> {
        if let Some(entry) = self.next.take() {
            return Ok(Some(entry));
        }
        loop {
            if let Some(entry) = self.loaded.next() {
                return Ok(Some(entry));
            }
            let Some(part) = self.parts.pop_front() else { return Ok(None) };
            self.loaded = read_part(&vault.get_all(&part, LONGEST).await?)?.into_iter();
        }
    }

    /// In a list by digest: the entry of this digest. What lies before it is passed over for good.
    pub async fn seek(&mut self, vault: &Vault, digest: &Digest) -> Result<Option<Entry>> {
        while let Some(entry) = self.next(vault).await? {
            if entry.digest >= *digest {
                self.next = Some(entry);
                return Ok(Some(entry).filter(|entry| entry.digest == *digest));
            }
        }
        Ok(None)
    }
}

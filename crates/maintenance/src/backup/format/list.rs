//! Lists of entries: split into parts that are stored like any other object, and read sequentially.

use std::collections::VecDeque;

use async_recursion::async_recursion as boxed;
use blobs::digest_of;
use model::{Digest, Result};

use super::index::{Entry, PART, read_part, write_part};
use super::vault::BackupObjects;

/// Maximum length of one part in bytes.
const MAX_PART: u64 = 16 + PART as u64 * 81;

/// Stores one part of a list. Returns the entry of the part and the number of bytes added to the store.
pub(crate) async fn store_part(vault: &BackupObjects, entries: &[Entry]) -> Result<(Entry, u64)> {
    let bytes = write_part(entries);
    vault.put(digest_of(&bytes), bytes).await
}

/// Reads the entries of a list in order, one part at a time.
pub(crate) struct List {
    parts: VecDeque<Entry>,
    loaded: std::vec::IntoIter<Entry>,
    next: Option<Entry>,
}

impl List {
    pub fn new(parts: Vec<Entry>) -> Self {
        Self { parts: parts.into(), loaded: Vec::new().into_iter(), next: None }
    }

    /// Returns the next entry.
    #[boxed]
    pub async fn next(&mut self, vault: &BackupObjects) -> Result<Option<Entry>> {
        if let Some(entry) = self.next.take() {
            return Ok(Some(entry));
        }
        loop {
            if let Some(entry) = self.loaded.next() {
                return Ok(Some(entry));
            }
            let Some(part) = self.parts.pop_front() else { return Ok(None) };
            self.loaded = read_part(&vault.get_all(&part, MAX_PART).await?)?.into_iter();
        }
    }

    /// Returns the entry with this digest, in a list sorted by digest. The entries before it are skipped and cannot be
    /// read again.
    #[boxed]
    pub async fn seek(&mut self, vault: &BackupObjects, digest: &Digest) -> Result<Option<Entry>> {
        while let Some(entry) = self.next(vault).await? {
            if entry.digest >= *digest {
                self.next = Some(entry);
                return Ok(Some(entry).filter(|entry| entry.digest == *digest));
            }
        }
        Ok(None)
    }
}

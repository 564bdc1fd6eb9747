//! Test helpers for damaged BLOBs: records faults, and flips bits in the store of a closed farm.

use std::path::Path;

use model::FaultState;
use repository::Session;

/// Minimum length of a run of equal bytes that counts as document content.
const RUN: usize = 10_000;

/// Records every BLOB in the farm's stores as damaged, as a check would. Returns the number of BLOBs.
pub async fn find(administrator: &Session) -> usize {
    let storage = administrator.storage().await.unwrap();
    let mut found = 0;
    for (row, store) in storage.stores() {
        let Some(store) = store else { continue };
        for entry in store.enumerate(None, 100).await.unwrap().entries {
            for database in storage.databases().unwrap() {
                let (digest, state) = (entry.digest, FaultState::Damaged);
                let noted = storage.note_fault(&database, row.id, digest, state, "by a test").await;
                found += usize::from(noted.unwrap());
            }
        }
    }
    found
}

/// Flips a bit in each document of at least 10,000 equal, non-zero bytes in the file store in this directory.
pub fn damage(store: &Path) {
    let mut damaged = 0;
    for entry in std::fs::read_dir(store.join("segments")).unwrap() {
        let path = entry.unwrap().path();
        let mut bytes = std::fs::read(&path).unwrap();
        let mut start = 0;
        while start < bytes.len() {
            let length = bytes[start..].iter().take_while(|byte| **byte == bytes[start]).count();
            if bytes[start] != 0 && length >= RUN {
                bytes[start + length / 2] ^= 1;
                damaged += 1;
            }
            start += length;
        }
        std::fs::write(&path, bytes).unwrap();
    }
    assert!(damaged > 0, "no document was found in {}", store.display());
}

//! For tests: bits that turn on the disk below a farm that is closed.

use std::path::Path;

use repository::Session;

/// Length from which on equal bytes are taken for the content of a document.
const RUN: usize = 10_000;

/// Puts on record what a check would find: all that lies in the farm's stores is damaged. Answers with how many BLOBs that is.
pub async fn find(administrator: &Session) -> usize {
    let storage = administrator.storage().await.unwrap();
    let mut found = 0;
    for (row, store) in storage.stores() {
        let Some(store) = store else { continue };
        for entry in store.enumerate(None, 100).await.unwrap().entries {
            for database in storage.databases().unwrap() {
                let noted = storage.note_fault(&database, row.id, entry.digest, "damaged", "by a test").await;
                found += usize::from(noted.unwrap());
            }
        }
    }
    found
}

/// Turns a bit in each document of at least 10,000 equal bytes, none of them zero, in the store of files in this directory.
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

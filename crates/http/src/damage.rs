//! For tests: bits that turn on the disk below a farm that is closed.

use std::path::Path;

/// Length from which on equal bytes are taken for the content of a document.
const RUN: usize = 10_000;

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

//! Damage to the files of a store behind the server's back.

use std::path::{Path, PathBuf};

use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Farm, files_below};

/// The file below a directory that holds these bytes, and their offset in it.
pub fn file_with(directory: &Path, content: &[u8]) -> (PathBuf, usize) {
    for path in files_below(directory) {
        let found = std::fs::read(&path).unwrap();
        if let Some(at) = found.windows(64).position(|window| window == &content[..64]) {
            return (path, at);
        }
    }
    panic!("the bytes are in no file below {}", directory.display());
}

/// Flips a bit in the middle of these bytes, in the file below a directory that holds them.
pub fn damage(directory: &Path, content: &[u8]) {
    let (path, at) = file_with(directory, content);
    let mut found = std::fs::read(&path).unwrap();
    found[at + content.len() / 2] ^= 0x10;
    std::fs::write(&path, found).unwrap();
}

/// The recorded faults, once there are at least `count`. The server first retries a failed read.
pub async fn recorded(farm: &Farm, count: usize) -> Value {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let faults = farm.json_any_status(&["blobs", "faults"]);
        if faults.as_array().is_some_and(|faults| faults.len() >= count) {
            return faults;
        }
        assert!(Instant::now() < deadline, "there are no {count} faults on record: {faults:#}");
        // sleep: polled, since a fault is recorded in parallel with the request that met it, without a notification
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

//! Files of a store that are truncated or removed while they are read: bytes that were delivered stay unchanged, and
//! the process survives. A mapping of such a file would kill it (SIGBUS), as would a page that the disk cannot read
//! again.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs::File;
use std::io::IoSliceMut;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use blobs::testing::random_bytes;
use blobs::{CheckOutcome, Entry, digest_of};
use model::{ErrorKind, Timestamp};
use rustix::io::ReadWriteFlags;
use support::*;

/// Returns the file that holds a BLOB, and the BLOB's offset in it.
fn place_of(root: &Path, content: &[u8]) -> (PathBuf, u64) {
    let found = all_files(root).into_iter().find_map(|path| {
        let bytes = std::fs::read(&path).unwrap();
        let at = bytes.windows(64).position(|window| window == &content[..64])?;
        Some((path, at as u64))
    });
    found.unwrap()
}

#[tokio::test]
async fn what_was_delivered_outlives_the_file_that_it_came_from() {
    for length in [3_000, 200_000, 2_000_000] {
        let root = tempfile::tempdir().unwrap();
        let content = random_bytes(length as u64, length);
        let store = open(root.path()).await;
        let stored = put(&store, &content).await;
        let open = || store.open(digest_of(&content), length as u64, Some(&stored.locator));
        // After this read, everything is in memory for the next reader.
        assert!(get(&store, &stored).await.unwrap() == content);
        let mut reader = open().await.unwrap();
        let first = reader.next_chunk().await.unwrap().unwrap();
        let (path, at) = place_of(root.path(), &content);
        File::options().write(true).open(&path).unwrap().set_len(at + 10).unwrap();
        assert!(first[..] == content[..first.len()], "{length}: what was delivered changed");
        match reader.next_chunk().await {
            Ok(None) => assert_eq!(first.len(), length),
            Ok(Some(_)) => panic!("{length}: there is nothing more to deliver"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{length}: {error}"),
        }
        // Bytes kept in memory are unchanged; a reader that needs the disk gets an error.
        match get(&store, &stored).await {
            Ok(again) => assert!(again == content && length <= 200_000, "{length}"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::Corrupt, "{length}: {error}"),
        }
        let entry = Entry { digest: digest_of(&content), size: length as u64, stored_at: Timestamp::now() };
        let checked = store.reread(entry).await.unwrap();
        assert!(matches!(checked, CheckOutcome::Damaged { .. }), "{length}: {checked:?}");
    }
}

/// Returns whether the file system supports reads that do not wait for a disk. If it does not, no BLOB is kept in
/// memory.
fn tells_what_is_in_memory(root: &Path) -> bool {
    let path = root.join("probe");
    std::fs::write(&path, [1; 100]).unwrap();
    let file = File::open(&path).unwrap();
    let mut bytes = [0; 100];
    let read = rustix::io::preadv2(&file, &mut [IoSliceMut::new(&mut bytes)], 0, ReadWriteFlags::NOWAIT);
    std::fs::remove_file(&path).unwrap();
    read == Ok(100)
}

#[tokio::test]
async fn short_blobs_that_were_read_are_served_from_memory_until_they_are_deleted_or_written_anew() {
    let root = tempfile::tempdir().unwrap();
    if !tells_what_is_in_memory(root.path()) {
        return;
    }
    let content = random_bytes(1, 200_000);
    let store = open(root.path()).await;
    let stored = put(&store, &content).await;
    assert!(get(&store, &stored).await.unwrap() == content);
    let (path, at) = place_of(root.path(), &content);
    let file = File::options().write(true).open(&path).unwrap();
    file.write_all_at(b"damage", at + 100).unwrap();
    assert!(get(&store, &stored).await.unwrap() == content, "it was not kept");

    // The upload detects the damaged record, and reading back returns the new one.
    let again = put(&store, &content).await;
    assert!(again.locator != stored.locator, "no new record was written");
    let (path, at) = {
        let found = all_files(root.path()).into_iter().find_map(|path| {
            let bytes = std::fs::read(&path).unwrap();
            let at = bytes.windows(content.len()).position(|window| window == content)?;
            Some((path, at as u64))
        });
        found.unwrap()
    };
    File::options().write(true).open(&path).unwrap().write_all_at(b"damage", at + 100).unwrap();
    let read = get(&store, &again).await;
    assert_eq!(read.err().map(|error| error.kind()), Some(ErrorKind::Corrupt), "the new record was not read");

    let other = put(&store, &random_bytes(2, 1_000)).await;
    assert!(get(&store, &other).await.is_ok());
    store.delete(other.digest).await.unwrap();
    assert_eq!(get(&store, &other).await.err().map(|error| error.kind()), Some(ErrorKind::NotFound));
}

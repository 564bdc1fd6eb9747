//! The contract on the directory provider.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::Arc;

use blobs::testing::{FaultyProvider, random_bytes};
use blobs::{BlobStore, DirectoryOptions, Owner};
use tempfile::TempDir;

fn options() -> DirectoryOptions {
    DirectoryOptions { segment_bytes: 4 << 20, ..Default::default() }
}

/// Creates an empty store in a directory, which lasts as long as the second value.
async fn directory(options: DirectoryOptions) -> (BlobStore, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let owner = Owner::new("farm").unwrap();
    (BlobStore::open_directory(dir.path(), &owner, options).await.unwrap(), dir)
}

fn encoded_in_segments(form: usize) -> DirectoryOptions {
    DirectoryOptions { segment_bytes: 4 << 20, ..support::encoding(support::FORMS[form]) }
}

fn encoded_in_files(form: usize) -> DirectoryOptions {
    DirectoryOptions { segment_limit: 0, ..support::encoding(support::FORMS[form]) }
}

/// Creates an empty store behind a provider that could inject faults.
async fn behind_faults() -> (BlobStore, TempDir) {
    let (store, dir) = directory(options()).await;
    (BlobStore::from_provider(Arc::new(FaultyProvider::new(store.provider()))), dir)
}

blobs::provider_contract! {
    in_segments_and_files => directory(options()),
    with_tiny_segments_and_two_writers =>
        directory(DirectoryOptions { segment_bytes: 100_000, writers: 2, zero_fill: false, ..options() }),
    with_files_only => directory(DirectoryOptions { segment_limit: 0, ..options() }),
    compressed_in_segments_and_files => directory(encoded_in_segments(0)),
    encrypted_in_segments_and_files => directory(encoded_in_segments(1)),
    compressed_and_encrypted_in_segments_and_files => directory(encoded_in_segments(2)),
    compressed_in_files_only => directory(encoded_in_files(0)),
    encrypted_in_files_only => directory(encoded_in_files(1)),
    compressed_and_encrypted_in_files_only => directory(encoded_in_files(2)),
    behind_a_provider_that_injects_faults => behind_faults(),
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_survives_being_closed_and_opened() {
    let dir = tempfile::tempdir().unwrap();
    let owner = Owner::new("farm").unwrap();
    let mut all = Vec::new();
    for round in 0..3u64 {
        let store = BlobStore::open_directory(dir.path(), &owner, options()).await.unwrap();
        for seed in 0..20 {
            let bytes = random_bytes(round * 100 + seed, if seed == 7 { 2_000_000 } else { 300_000 });
            all.push((store.put(blobs::digest_of(&bytes), bytes.clone()).await.unwrap(), bytes));
        }
        for (stored, bytes) in &all {
            for locator in [None, Some(&stored.locator)] {
                let mut reader = store.open(stored.digest, stored.size, locator).await.unwrap();
                assert!(blobs::testing::read_all(&mut reader).await.unwrap() == bytes[..]);
            }
            assert!(store.put(stored.digest, bytes.clone()).await.unwrap().existed);
        }
        store.close().await;
    }
}

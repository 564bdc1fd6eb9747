//! The contract on the directory provider.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use blobs::testing::{contract, random_bytes};
use blobs::{BlobStore, DirectoryOptions, Owner};

fn options() -> DirectoryOptions {
    DirectoryOptions { segment_bytes: 4 << 20, ..Default::default() }
}

async fn run(options: DirectoryOptions) {
    let dir = tempfile::tempdir().unwrap();
    let number = Arc::new(AtomicU32::new(0));
    contract(|| {
        let path = dir.path().join(number.fetch_add(1, Ordering::Relaxed).to_string());
        let options = options.clone();
        async move { BlobStore::open_directory(&path, &Owner::new("farm").unwrap(), options).await.unwrap() }
    })
    .await;
}

#[tokio::test]
async fn contract_in_segments_and_files() {
    run(options()).await;
}

#[tokio::test]
async fn contract_with_tiny_segments_and_two_writers() {
    run(DirectoryOptions { segment_bytes: 100_000, writers: 2, zero_fill: false, ..options() }).await;
}

#[tokio::test]
async fn contract_with_files_only() {
    run(DirectoryOptions { segment_limit: 0, ..options() }).await;
}

#[tokio::test]
async fn contract_encoded_in_segments_and_files() {
    for form in support::FORMS {
        run(DirectoryOptions { segment_bytes: 4 << 20, ..support::encoding(form) }).await;
    }
}

#[tokio::test]
async fn contract_encoded_in_files_only() {
    for form in support::FORMS {
        run(DirectoryOptions { segment_limit: 0, ..support::encoding(form) }).await;
    }
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

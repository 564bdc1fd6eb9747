//! The contract on the provider for object stores, with a real S3 server.

#![allow(clippy::unwrap_used, reason = "tests")]

use std::sync::atomic::{AtomicU32, Ordering};

use blobs::testing::contract;
use blobs::testing::s3::S3Server;
use blobs::{BlobStore, ObjectOptions, ObjectSecrets, Owner, StoreKey};

async fn run(change: impl Fn(&mut ObjectOptions, &mut ObjectSecrets)) {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let number = AtomicU32::new(0);
    contract(|| {
        let mut options = server.options(&format!("store-{}", number.fetch_add(1, Ordering::Relaxed)));
        let mut secrets = server.secrets();
        change(&mut options, &mut secrets);
        async move { BlobStore::open_object(&options, &secrets, &Owner::new("farm").unwrap()).await.unwrap() }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_as_it_comes() {
    run(|_, _| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_with_data_objects_only() {
    run(|options, _| {
        options.put_limit = 64 << 10;
        options.part_bytes = 5 << 20;
        options.prefix.push_str("/deeper");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_compressed() {
    run(|options, _| options.compression = Some(3)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_encrypted() {
    run(|options, secrets| {
        options.put_limit = 1 << 20;
        secrets.encryption_keys = vec![StoreKey::generate().unwrap()];
    })
    .await;
}

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

#[tokio::test(flavor = "multi_thread")]
async fn listings_of_many_pages_are_complete_and_tell_strangers_apart() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let store =
        BlobStore::open_object(&server.options("many"), &server.secrets(), &Owner::new("farm").unwrap()).await.unwrap();
    let folder = server.bucket().join("many/blobs");
    std::fs::create_dir_all(&folder).unwrap();
    let mut digests: Vec<_> = (0..2500u32).map(|i| blobs::digest_of(&i.to_le_bytes())).collect();
    digests.sort_unstable();
    digests.iter().for_each(|digest| std::fs::write(folder.join(format!("{digest}.0")), b"").unwrap());
    std::fs::write(folder.join("notes.txt"), b"a stranger").unwrap();
    std::fs::write(folder.join(format!("{}.00", digests[3])), b"").unwrap();
    assert_eq!(store.usage().await.unwrap().blobs, 2500);
    for limit in [999, 1000, 3000] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = store.enumerate(after, limit).await.unwrap();
            assert!(page.entries.len() <= limit);
            listed.extend(page.entries.iter().map(|entry| entry.digest));
            match page.next {
                Some(next) => after = Some(next),
                None => break,
            }
        }
        assert!(listed == digests, "{limit} at a time");
    }
    let mut verification = store.verify();
    let (mut strangers, mut damaged) = (0, 0);
    while let Some(checked) = verification.next().await {
        match checked.unwrap().digest {
            Some(_) => damaged += 1,
            None => strangers += 1,
        }
    }
    assert_eq!((strangers, damaged), (2, 2500), "none of these has its digest");
}

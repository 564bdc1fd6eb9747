//! Only one restoration of a farm may write to a store.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use blobs::testing::proxy::{Fault, FaultProxy, Rule};
use blobs::testing::random_bytes;
use blobs::testing::s3::{S3Server, options_at};
use blobs::{BlobStore, BoxFuture, CacheOptions, CompactLimits, Consent, HAND_OVER_GRACE, Owner, digest_of};
use model::{Error, Result};
use tempfile::TempDir;

use support::{get, options, put, wait_for};

fn held_by(holder: Option<&str>) -> Owner {
    Owner::new("farm-1").unwrap().held_by(holder.map(str::to_owned)).unwrap()
}

fn is_taken_over<T>(answer: Result<T>) {
    let error: Error = answer.err().expect("a store that another one holds takes nothing");
    assert_eq!(error.code(), "store_taken_over", "{error:?}");
}

async fn one_at_a_time(first: BlobStore, second: BlobStore) {
    let kept = put(&first, &random_bytes(1, 5_000)).await;
    assert_eq!(second.hand_over(Some("copy".to_owned())).await.unwrap(), None);
    let begun = Instant::now();
    let bytes = random_bytes(2, 5_000);
    while first.put(digest_of(&bytes), bytes.clone()).await.is_ok() {
        assert!(begun.elapsed() < HAND_OVER_GRACE, "the marker is not read again");
        tokio::time::sleep(Duration::from_millis(50)).await; // sleep: between two attempts
    }
    for bytes in [random_bytes(3, 10), random_bytes(4, 17 << 20)] {
        is_taken_over(first.put(digest_of(&bytes), bytes).await);
    }
    is_taken_over(first.delete(kept.digest).await);
    is_taken_over(first.compact(CompactLimits::default()).await);
    is_taken_over(first.held().await);
    assert_eq!(get(&first, &kept).await.unwrap(), random_bytes(1, 5_000));
    assert_eq!(second.held().await.err().map(|error| error.code()), None);
    put(&second, &random_bytes(5, 5_000)).await;
    second.delete(kept.digest).await.unwrap();
    assert_eq!(second.hand_over(None).await.unwrap(), Some("copy".to_owned()));
    assert_eq!(second.hand_over(None).await.unwrap(), None);
    first.held().await.unwrap();
    first.close().await;
    second.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_is_held_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let open = async |holder| BlobStore::open_directory(dir.path(), &held_by(holder), options()).await.unwrap();
    one_at_a_time(open(None).await, open(Some("copy")).await).await;
    let mark = std::fs::read_to_string(Path::new(dir.path()).join("store.toml")).unwrap();
    assert!(mark.contains("owner = \"farm-1\""), "{mark}");
    assert!(!mark.contains("holder"), "{mark}");
    // A store that a restoration creates is held by it from the beginning.
    let made = tempfile::tempdir().unwrap();
    let store = BlobStore::open_directory(made.path(), &held_by(Some("copy")), options()).await.unwrap();
    put(&store, &random_bytes(1, 10)).await;
    let first = BlobStore::open_directory(made.path(), &held_by(None), options()).await.unwrap();
    is_taken_over(first.held().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_held_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let open = async |holder| {
        BlobStore::open_object(&server.options("held"), &server.secrets(), &held_by(holder)).await.unwrap()
    };
    one_at_a_time(open(None).await, open(Some("copy")).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_behind_a_cache_is_held_by_one() {
    let dir = tempfile::tempdir().unwrap();
    let open = async |holder, cache: &str| {
        let store = BlobStore::open_directory(&dir.path().join("store"), &held_by(holder), options()).await.unwrap();
        let path = dir.path().join(cache);
        store.cached(CacheOptions { path, bytes: 20 << 20, largest: 4 << 20 }).await.unwrap()
    };
    one_at_a_time(open(None, "one").await, open(Some("copy"), "two").await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_waited_for_the_lock_of_a_store_asks_again_who_holds_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = BlobStore::open_directory(dir.path(), &held_by(None), options()).await.unwrap();
    let kept = put(&store, &random_bytes(1, 5_000)).await;
    let lock = File::options().write(true).open(dir.path().join("lock")).unwrap();
    lock.lock().unwrap();
    let deletion = tokio::spawn({
        let store = store.clone();
        async move { store.delete(kept.digest).await }
    });
    // sleep: until the deletion waits for the lock. Too short a pause would only make the test less strict.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let marker = dir.path().join("store.toml");
    let text = std::fs::read_to_string(&marker).unwrap();
    std::fs::write(&marker, format!("{text}holder = \"copy\"\n")).unwrap();
    tokio::time::sleep(HAND_OVER_GRACE).await; // sleep: a holder is believed for some seconds
    lock.unlock().unwrap();
    is_taken_over(deletion.await.unwrap());
    store.ensure_present(kept.digest, kept.size).await.unwrap();
}

/// A bucket that is reached by the farm through a proxy, and by a restoration of the farm without it.
struct Contested {
    _dir: TempDir,
    _server: S3Server,
    proxy: FaultProxy,
    first: BlobStore,
    second: BlobStore,
}

async fn contested() -> Contested {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let proxy = FaultProxy::start(server.address()).await;
    let options = options_at(proxy.address(), "held");
    let first = BlobStore::open_object(&options, &server.secrets(), &held_by(None)).await.unwrap();
    let direct = server.options("held");
    let second = BlobStore::open_object(&direct, &server.secrets(), &held_by(Some("copy"))).await.unwrap();
    Contested { _dir: dir, _server: server, proxy, first, second }
}

fn holder(name: &str) -> Option<String> {
    Some(name.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_was_set_meanwhile_is_not_replaced_unseen() {
    let Contested { proxy, first, second, .. } = &contested().await;
    proxy.set([Rule::once("PUT", "store.toml", Fault::Hold)]);
    let late = tokio::spawn({
        let first = first.clone();
        async move { first.hand_over(holder("other")).await }
    });
    wait_for("the write to be on its way", || proxy.spoilt() == 1).await;
    assert_eq!(second.hand_over(holder("copy")).await.unwrap(), None);
    proxy.release();
    assert_eq!(late.await.unwrap().unwrap(), holder("copy"), "the holder that was really replaced");
    assert_eq!(second.hand_over(None).await.unwrap(), holder("other"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_over_whose_reply_is_lost_returns_whom_it_replaced() {
    let Contested { proxy, first, second, .. } = &contested().await;
    proxy.set([Rule::once("PUT", "store.toml", Fault::LoseReply)]);
    assert_eq!(first.hand_over(holder("copy")).await.unwrap(), None);
    assert_eq!(proxy.spoilt(), 1);
    second.held().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_without_conditions_is_still_handed_over() {
    let Contested { proxy, first, second, .. } = &contested().await;
    // The conditional write is tried three times.
    proxy.set([Rule { times: 3, ..Rule::always("PUT", "store.toml", Fault::Status(501, "NotImplemented")) }]);
    assert_eq!(first.hand_over(holder("copy")).await.unwrap(), None);
    assert_eq!(proxy.spoilt(), 3);
    second.held().await.unwrap();
}

/// Hands the store over before consenting, and takes so long that the previous holder must have noticed.
struct Slow<'a>(&'a BlobStore);

impl Consent for Slow<'_> {
    fn ask(&self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.0.hand_over(Some("copy".to_owned())).await?;
            tokio::time::sleep(HAND_OVER_GRACE).await; // sleep: a holder is believed for some seconds
            Ok(())
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_was_begun_before_the_store_was_handed_over_deletes_nothing_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let open = async |holder| {
        BlobStore::open_object(&server.options("held"), &server.secrets(), &held_by(holder)).await.unwrap()
    };
    let (first, second) = (open(None).await, open(Some("copy")).await);
    let mut kept = Vec::new();
    for seed in 0..20 {
        kept.push(put(&first, &random_bytes(seed, 1_000)).await);
    }
    let digests = kept.iter().map(|stored| stored.digest).collect();
    for (_, outcome) in first.delete_all(digests, &Slow(&second)).await.unwrap() {
        is_taken_over(outcome);
    }
    for stored in &kept {
        second.ensure_present(stored.digest, stored.size).await.unwrap();
    }
}

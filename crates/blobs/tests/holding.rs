//! Only one restoration of a farm may write to a store.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::Path;
use std::time::{Duration, Instant};

use blobs::testing::random_bytes;
use blobs::testing::s3::S3Server;
use blobs::{BlobStore, BoxFuture, CompactLimits, Consent, HAND_OVER_GRACE, Owner, digest_of};
use model::{Error, Result};

use support::{get, options, put};

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
    assert!(mark.contains("owner = \"farm-1\"") && !mark.contains("holder"), "{mark}");
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

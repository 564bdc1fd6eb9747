//! The read cache: the contract, its limits, damage, and its contents after a restart.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use blobs::testing::s3::S3Server;
use blobs::testing::{Fault, FaultyProvider, Operation, random_bytes};
use blobs::{BlobStore, BoxFuture, CacheOptions, Consent, Stored};
use model::ErrorKind;
use support::*;
use tempfile::TempDir;

async fn cached(store: &BlobStore, path: &Path, bytes: u64) -> BlobStore {
    store.cached(CacheOptions { path: path.to_owned(), bytes, largest: 4 << 20 }).await.unwrap()
}

/// Creates an empty store in a bucket behind a cache. The server and the directory last as long as the second value.
async fn bucket_behind_cache() -> (BlobStore, (S3Server, TempDir)) {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let store = BlobStore::open_object(&server.options("store"), &server.secrets(), &owner()).await.unwrap();
    (cached(&store, &dir.path().join("cache"), 20 << 20).await, (server, dir))
}

blobs::provider_contract! {
    with_a_cache_in_front => bucket_behind_cache(),
}

/// A store whose provider can be made to fail, a location for the cache, and some BLOBs.
struct Fixture {
    dir: tempfile::TempDir,
    faulty: Arc<FaultyProvider>,
    behind: BlobStore,
    blobs: Vec<(Stored, bytes::Bytes)>,
}

async fn fixture(sizes: &[usize]) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let faulty = Arc::new(FaultyProvider::new(open(&dir.path().join("store")).await.provider()));
    let behind = BlobStore::from_provider(faulty.clone());
    let mut blobs = Vec::new();
    for (seed, size) in sizes.iter().enumerate() {
        let bytes = random_bytes(seed as u64, *size);
        blobs.push((put(&behind, &bytes).await, bytes));
    }
    Fixture { dir, faulty, behind, blobs }
}

impl Fixture {
    fn cache(&self) -> PathBuf {
        self.dir.path().join("cache")
    }

    /// Makes the store behind the cache refuse to open any BLOB from now on.
    fn fail(&self) {
        self.faulty.set(Some(Fault { operation: Operation::Open, after: 0, kind: ErrorKind::Unavailable }));
    }

    fn file(&self, at: usize) -> PathBuf {
        let name = self.blobs[at].0.digest.to_string();
        self.cache().join(&name[..2]).join(name)
    }

    async fn read(&self, store: &BlobStore, at: usize) -> model::Result<()> {
        let (stored, bytes) = &self.blobs[at];
        get(store, stored).await.map(|read| assert!(read == bytes[..], "BLOB {at}"))
    }

    /// Reads a BLOB and waits until it is cached.
    async fn keep(&self, store: &BlobStore, at: usize) {
        self.read(store, at).await.unwrap();
        let file = self.file(at);
        wait_for("a file in the cache", || file.exists()).await;
    }
}

#[tokio::test]
async fn what_was_read_is_served_without_the_store_even_after_a_restart() {
    let fixture = fixture(&[1, 10, 70_000, 3_000_000, 5_000_000]).await;
    let store = cached(&fixture.behind, &fixture.cache(), 20 << 20).await;
    for at in 0..4 {
        fixture.keep(&store, at).await;
    }
    fixture.read(&store, 4).await.unwrap();
    fixture.fail();
    for store in [store, cached(&fixture.behind, &fixture.cache(), 20 << 20).await] {
        for at in 0..4 {
            fixture.read(&store, at).await.unwrap();
        }
        assert_eq!(fixture.read(&store, 4).await.unwrap_err().kind(), ErrorKind::Unavailable, "too large to be kept");
    }
}

#[tokio::test]
async fn a_part_of_a_blob_is_not_kept() {
    let fixture = fixture(&[3_000_000]).await;
    let store = cached(&fixture.behind, &fixture.cache(), 20 << 20).await;
    for range in [1_000_000..3_000_000, 0..2_999_999] {
        let (stored, bytes) = &fixture.blobs[0];
        let expected = &bytes[range.start as usize..range.end as usize];
        assert!(blobs::testing::read_range(&store, stored, range).await.unwrap() == expected);
    }
    fixture.fail();
    assert_eq!(fixture.read(&store, 0).await.unwrap_err().kind(), ErrorKind::Unavailable);
    let left = || std::fs::read_dir(fixture.cache()).unwrap().count();
    wait_for("nothing stays of what was not finished", || left() == 0).await;
}

#[tokio::test]
async fn damaged_files_are_never_served() {
    let fixture = fixture(&[70_000, 3_000_000]).await;
    let store = cached(&fixture.behind, &fixture.cache(), 20 << 20).await;
    for at in 0..2 {
        let length = fixture.blobs[at].1.len();
        for position in [0, length / 2, length + 2, length + 140] {
            fixture.keep(&store, at).await;
            let mut bytes = std::fs::read(fixture.file(at)).unwrap();
            let position = position.min(bytes.len() - 1);
            bytes[position] ^= 1;
            std::fs::remove_file(fixture.file(at)).unwrap();
            std::fs::write(fixture.file(at), bytes).unwrap();
            fixture.read(&store, at).await.unwrap();
        }
        for cut in [0, 10, length] {
            fixture.keep(&store, at).await;
            let bytes = std::fs::read(fixture.file(at)).unwrap();
            std::fs::remove_file(fixture.file(at)).unwrap();
            std::fs::write(fixture.file(at), &bytes[..cut]).unwrap();
            fixture.read(&store, at).await.unwrap();
        }
    }
}

/// Always consents, and counts how often it was asked.
#[derive(Default)]
struct CountedConsent(AtomicUsize);

impl Consent for CountedConsent {
    fn ask(&self) -> BoxFuture<'_, ()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Box::pin(async { Ok(()) })
    }
}

#[tokio::test]
async fn a_batch_is_deleted_as_one_and_leaves_the_cache() {
    let fixture = fixture(&[10, 70_000, 3_000_000]).await;
    let store = cached(&fixture.behind, &fixture.cache(), 20 << 20).await;
    for at in 0..3 {
        fixture.keep(&store, at).await;
    }
    let consent = CountedConsent::default();
    let digests = fixture.blobs[..2].iter().map(|(stored, _)| stored.digest).collect();
    let outcomes = store.delete_all(digests, &consent).await.unwrap();
    assert!(outcomes.len() == 2, "{outcomes:?}");
    assert!(outcomes.iter().all(|(_, outcome)| outcome.is_ok()), "{outcomes:?}");
    assert_eq!(consent.0.into_inner(), 1, "a directory asks once for all");
    assert!(!fixture.file(0).exists());
    assert!(!fixture.file(1).exists());
    assert!(fixture.file(2).exists());
    assert_eq!(fixture.read(&store, 0).await.unwrap_err().kind(), ErrorKind::NotFound);
}

#[tokio::test]
async fn a_blob_that_was_not_deleted_stays_in_the_cache() {
    let fixture = fixture(&[10, 70_000, 100_000]).await;
    let store = cached(&fixture.behind, &fixture.cache(), 20 << 20).await;
    for at in 0..3 {
        fixture.keep(&store, at).await;
    }
    fixture.faulty.set(Some(Fault { operation: Operation::Delete, after: 1, kind: ErrorKind::Unavailable }));
    let digests = fixture.blobs.iter().map(|(stored, _)| stored.digest).collect();
    let outcomes = store.delete_all(digests, &()).await.unwrap();
    assert_eq!(outcomes.iter().filter(|(_, outcome)| outcome.is_ok()).count(), 1, "{outcomes:?}");
    assert!(!fixture.file(0).exists());
    assert!(fixture.file(1).exists());
    assert!(fixture.file(2).exists());
}

#[tokio::test]
async fn the_least_recently_used_goes_first_and_the_bound_holds() {
    let fixture = fixture(&[1_000_000; 6]).await;
    let limit = 3_500_000;
    let mut store = cached(&fixture.behind, &fixture.cache(), limit).await;
    for at in 0..3 {
        fixture.keep(&store, at).await;
    }
    fixture.read(&store, 0).await.unwrap();
    fixture.keep(&store, 3).await;
    wait_for("the second one to go", || !fixture.file(1).exists()).await;
    assert!([0, 2, 3].iter().all(|at| fixture.file(*at).exists()));
    for restart in [false, true] {
        if restart {
            store = cached(&fixture.behind, &fixture.cache(), limit).await;
        }
        let (old, new) = if restart { (0, 5) } else { (2, 4) };
        fixture.keep(&store, new).await;
        wait_for("the oldest one to go", || !fixture.file(old).exists()).await;
    }
    assert!([3, 4, 5].iter().all(|at| fixture.file(*at).exists()));
    cached(&fixture.behind, &fixture.cache(), 1_500_000).await;
    assert!(fixture.file(5).exists(), "a smaller bound holds at once");
    assert!(!fixture.file(4).exists(), "a smaller bound holds at once");
}

#[tokio::test]
async fn a_cache_that_cannot_be_written_only_costs_time() {
    let fixture = fixture(&[70_000, 3_000_000]).await;
    let store = cached(&fixture.behind, &fixture.cache(), 20 << 20).await;
    std::fs::remove_dir_all(fixture.cache()).unwrap();
    std::fs::write(fixture.cache(), b"in the way").unwrap();
    for _ in 0..2 {
        for at in 0..2 {
            fixture.read(&store, at).await.unwrap();
        }
    }
}

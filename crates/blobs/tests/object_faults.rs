//! A faulty S3 service: the right kind of error, never a false absence, no acknowledged BLOB lost, and no caller waits
//! for ever.

#![allow(clippy::unwrap_used, reason = "tests")]

use model::Code;

mod support;

use std::fs::File;
use std::time::{Duration, Instant, SystemTime};

use blobs::testing::proxy::{Fault, FaultProxy, Rule};
use blobs::testing::random_bytes;
use blobs::testing::s3::{S3Server, options_at};
use blobs::{BlobStore, ObjectOptions, Stored, Timeouts, digest_of};
use bytes::Bytes;
use model::ErrorKind::{self, Conflict, Corrupt, Exhausted, Invalid, NotFound, Unavailable};
use support::*;

const SMALL: usize = 60_000;
const LARGE: usize = 6_000_000;

struct Service {
    _dir: tempfile::TempDir,
    server: S3Server,
    proxy: FaultProxy,
    store: BlobStore,
    /// Reaches the same store without the proxy.
    direct: BlobStore,
}

fn impatient(options: ObjectOptions) -> ObjectOptions {
    let patience = Timeouts { connect_seconds: 1, answer_seconds: 1, retry_seconds: 2, retries: 1 };
    ObjectOptions { put_limit: 1 << 20, part_bytes: 5 << 20, patience, ..options }
}

async fn service() -> Service {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let proxy = FaultProxy::start(server.address()).await;
    let options = impatient(options_at(proxy.address(), "farm"));
    let store = BlobStore::open_object(&options, &server.secrets(), &owner()).await.unwrap();
    let options = impatient(server.options("farm"));
    let direct = BlobStore::open_object(&options, &server.secrets(), &owner()).await.unwrap();
    Service { _dir: dir, server, proxy, store, direct }
}

impl Service {
    async fn stored(&self) -> [(Stored, Bytes); 2] {
        let (small, large) = (random_bytes(1, SMALL), random_bytes(2, LARGE));
        [(put(&self.direct, &small).await, small), (put(&self.direct, &large).await, large)]
    }

    async fn is_whole(&self, stored: &Stored, bytes: &Bytes) {
        assert!(get(&self.direct, stored).await.unwrap() == bytes[..]);
    }

    /// Returns the files of the data objects.
    fn data(&self) -> Vec<std::path::PathBuf> {
        let found = std::fs::read_dir(self.server.bucket().join("farm/data"));
        found.map_or_else(|_| Vec::new(), |found| found.map(|entry| entry.unwrap().path()).collect())
    }
}

/// Faults of a response, each with the errors that a reader may get if the fault persists.
fn reading_troubles() -> Vec<(Fault, &'static [ErrorKind])> {
    vec![
        (Fault::Status(500, "InternalError"), &[Unavailable]),
        (Fault::Status(503, "SlowDown"), &[Unavailable]),
        (Fault::Status(403, "AccessDenied"), &[Unavailable]),
        (Fault::Status(400, "ExpiredToken"), &[Unavailable]),
        (Fault::Status(404, "NoSuchBucket"), &[Unavailable]),
        // Reported for an existing object, as a misrouted gateway does.
        (Fault::Status(404, "NoSuchKey"), &[Unavailable, Corrupt]),
        (Fault::Cut(100), &[Unavailable]),
        (Fault::Cut(0), &[Unavailable]),
        (Fault::Stall(100), &[Unavailable]),
        (Fault::Flip(100), &[Corrupt]),
        (Fault::OtherBytes, &[Corrupt]),
        (Fault::LoseReply, &[Unavailable]),
        (Fault::Garbage, &[Unavailable, Corrupt]),
        (Fault::ErrorInside("InternalError"), &[Unavailable, Corrupt]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_with_reading_is_told_and_passes() {
    let service = service().await;
    let blobs = service.stored().await;
    for (trouble, kinds) in reading_troubles() {
        // The object of the BLOB itself, and the data object of a large one.
        for (target, of) in [("/blobs/farm/blobs/", &blobs[..]), ("/blobs/farm/data/", &blobs[1..])] {
            for (stored, bytes) in of {
                let start = Instant::now();
                service.proxy.set([Rule::always("GET", target, trouble.clone())]);
                let error = get(&service.store, stored).await.map(|read| read.len());
                let error = error.unwrap_err();
                assert!(kinds.contains(&error.kind()), "{trouble:?} of {target}: {error:?}");
                assert!(start.elapsed().as_secs() < 60, "{trouble:?} of {target} took {:?}", start.elapsed());
                service.proxy.set([]);
                assert!(get(&service.store, stored).await.unwrap() == bytes[..], "{trouble:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn trouble_that_passes_is_not_even_noticed() {
    let service = service().await;
    let blobs = service.stored().await;
    let passing = [
        Fault::Status(500, "InternalError"),
        Fault::Status(503, "SlowDown"),
        Fault::Cut(100),
        Fault::Stall(100),
        Fault::Flip(100),
        Fault::OtherBytes,
        Fault::LoseReply,
    ];
    for trouble in passing {
        for (stored, bytes) in &blobs {
            service.proxy.set([Rule::once("GET", "/blobs/farm/", trouble.clone())]);
            assert!(get(&service.store, stored).await.unwrap() == bytes[..], "{trouble:?}");
            assert_eq!(service.proxy.spoilt(), 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_credential_says_so() {
    let service = service().await;
    let [(stored, bytes), _] = service.stored().await;
    for (status, code) in
        [(403, "AccessDenied"), (403, "InvalidAccessKeyId"), (400, "ExpiredToken"), (401, "Unauthorized")]
    {
        service
            .proxy
            .set(["GET", "PUT", "HEAD", "DELETE"].map(|method| Rule::always(method, "", Fault::Status(status, code))));
        let fresh = random_bytes(3, 100);
        for error in [
            get(&service.store, &stored).await.unwrap_err(),
            service.store.put(digest_of(&fresh), fresh.clone()).await.unwrap_err(),
            service.store.delete(stored.digest).await.unwrap_err(),
            service.store.enumerate(None, 1).await.unwrap_err(),
            service.store.usage().await.unwrap_err(),
        ] {
            assert_eq!((error.kind(), error.code()), (Unavailable, Code::StoreCredentialRefused), "{error:?}");
            assert!(error.message().contains("credential"), "{}", error.message());
        }
    }
    service.is_whole(&stored, &bytes).await;
    let mut secrets = service.server.secrets();
    secrets.secret = "wrong".to_owned();
    let error = BlobStore::open_object(&service.server.options("farm"), &secrets, &owner()).await.err().unwrap();
    assert_eq!(error.code(), "store_credential_refused", "{error:?}");
    assert!(!error.report().contains("wrong"));
    assert!(!format!("{secrets:?}").contains("wrong"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_in_trouble_is_refused_or_stored_but_never_both() {
    let service = service().await;
    let troubles = [
        Fault::Status(500, "InternalError"),
        Fault::Status(503, "SlowDown"),
        Fault::Status(403, "AccessDenied"),
        Fault::Status(507, "XMinioStorageFull"),
        Fault::LoseReply,
        Fault::Stall(0),
        Fault::Garbage,
        Fault::ErrorInside("InternalError"),
    ];
    let mut seed = 100;
    for trouble in troubles {
        for (method, target) in
            [("PUT", "farm/blobs/"), ("PUT", "farm/data/"), ("POST", "uploads"), ("POST", "uploadId")]
        {
            for times in [1, usize::MAX] {
                // Skipped to save time: a permanent stall has to reach its timeout.
                if times > 1 && trouble == Fault::Stall(0) && method == "POST" {
                    continue;
                }
                seed += 1;
                let bytes = random_bytes(seed, if target == "farm/blobs/" && seed % 2 == 0 { SMALL } else { LARGE });
                service.proxy.set([Rule { times, ..Rule::always(method, target, trouble.clone()) }]);
                let done = service.store.put(digest_of(&bytes), bytes.clone()).await;
                let spoilt = service.proxy.spoilt();
                service.proxy.set([]);
                let name = format!("{trouble:?} of {method} {target}, {times} times, {spoilt} spoilt");
                match done {
                    Ok(stored) => service.is_whole(&stored, &bytes).await,
                    Err(error) => {
                        let full = matches!(trouble, Fault::Status(507, _));
                        assert_eq!(error.kind(), if full { Exhausted } else { Unavailable }, "{name}: {error:?}");
                    }
                }
                // The next attempt succeeds, whatever remained of this one.
                let again = service.store.put(digest_of(&bytes), bytes.clone()).await.unwrap();
                service.is_whole(&again, &bytes).await;
            }
        }
    }
    assert!(damage(&service.direct).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn bits_that_turn_on_the_way_in_are_never_acknowledged() {
    let service = service().await;
    for (seed, (size, target)) in
        [(SMALL, "farm/blobs/"), (LARGE, "partNumber"), (2_000_000, "farm/data/")].into_iter().enumerate()
    {
        let bytes = random_bytes(seed as u64, size);
        service.proxy.set([Rule::always("PUT", target, Fault::FlipRequest(1000))]);
        let error = service.store.put(digest_of(&bytes), bytes.clone()).await.unwrap_err();
        assert_eq!(error.kind(), Unavailable, "{target}: {error:?}");
        assert!(service.proxy.spoilt() > 0, "{target}");
        service.proxy.set([]);
        let absent = get_by_digest(&service.store, digest_of(&bytes), size as u64).await.map(drop);
        assert_eq!(absent.unwrap_err().kind(), NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_that_was_lost_is_not_a_reason_to_fail() {
    let service = service().await;
    let bytes = random_bytes(1, SMALL);
    service.proxy.set([Rule::once("PUT", "farm/blobs/", Fault::LoseReply)]);
    put(&service.store, &bytes).await;
    assert_eq!(service.proxy.spoilt(), 1);
    let large = random_bytes(2, LARGE);
    service.proxy.set([
        Rule::once("PUT", "farm/blobs/", Fault::LoseReply),
        Rule::once("POST", "uploadId", Fault::LoseReply),
        Rule::once("PUT", "partNumber", Fault::LoseReply),
    ]);
    let stored = put(&service.store, &large).await;
    assert_eq!(service.proxy.spoilt(), 3);
    service.is_whole(&stored, &large).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stale_listing_hides_nothing_from_readers_and_deletes_nothing() {
    let service = service().await;
    assert_eq!(service.store.enumerate(None, 100).await.unwrap().entries, vec![]);
    let absent = digest_of(b"absent");
    assert_eq!(get_by_digest(&service.store, absent, 100).await.unwrap_err().kind(), NotFound);
    let blobs = service.stored().await;
    service.proxy.set([Rule::always("GET", "list-type=2", Fault::StaleList)]);
    assert_eq!(service.store.enumerate(None, 100).await.unwrap().entries, vec![], "the proxy does what it should");
    for (stored, bytes) in &blobs {
        assert!(get_by_digest(&service.store, stored.digest, stored.size).await.unwrap() == bytes[..]);
        assert!(put(&service.store, bytes).await.existed);
    }
    service.store.compact(Default::default()).await.unwrap();
    service.proxy.set([]);
    for (stored, bytes) in &blobs {
        service.is_whole(stored, bytes).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listing_in_trouble_is_never_an_empty_one() {
    let service = service().await;
    service.stored().await;
    for trouble in [
        Fault::Status(500, "InternalError"),
        Fault::Status(404, "NoSuchBucket"),
        Fault::Status(404, "NoSuchKey"),
        Fault::Cut(100),
        Fault::LoseReply,
        Fault::Garbage,
        Fault::ErrorInside("InternalError"),
    ] {
        service.proxy.set([Rule::always("GET", "list-type=2", trouble.clone())]);
        for error in [
            service.store.enumerate(None, 10).await.map(drop).unwrap_err(),
            service.store.usage().await.map(drop).unwrap_err(),
            service.store.delete(digest_of(b"absent")).await.unwrap_err(),
            get_by_digest(&service.store, digest_of(b"absent"), 100).await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.kind(), Unavailable, "{trouble:?}: {error:?}");
        }
    }
    service.proxy.set([Rule::always("GET", "list-type=2", Fault::Stall(100))]);
    assert_eq!(service.store.enumerate(None, 10).await.map(drop).unwrap_err().kind(), Unavailable);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_gone_or_a_bucket_that_is_missing_is_told() {
    let service = service().await;
    let [(stored, _), _] = service.stored().await;
    let (server, secrets) = (&service.server, service.server.secrets());
    let missing = ObjectOptions { bucket: "other".to_owned(), ..server.options("farm") };
    let error = BlobStore::open_object(&missing, &secrets, &owner()).await.err().unwrap();
    assert_eq!((error.kind(), error.code()), (Unavailable, Code::StoreBucketMissing), "{error:?}");
    let bucket = server.bucket();
    std::fs::rename(&bucket, bucket.with_file_name("elsewhere")).unwrap();
    assert_eq!(get(&service.direct, &stored).await.unwrap_err().kind(), Unavailable);
    assert_eq!(service.direct.delete(stored.digest).await.unwrap_err().kind(), Unavailable);
    std::fs::rename(bucket.with_file_name("elsewhere"), &bucket).unwrap();
    get(&service.direct, &stored).await.unwrap();
    let direct = service.direct.clone();
    drop(service);
    let start = Instant::now();
    assert_eq!(get(&direct, &stored).await.unwrap_err().kind(), Unavailable);
    assert!(start.elapsed().as_secs() < 30);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_farm_and_foreign_objects_are_refused() {
    let service = service().await;
    let (server, secrets) = (&service.server, service.server.secrets());
    let other = blobs::Owner::new("farm-2").unwrap();
    let error = BlobStore::open_object(&server.options("farm"), &secrets, &other).await.err().unwrap();
    assert_eq!((error.kind(), error.code()), (Conflict, Code::StoreOfAnotherFarm), "{error:?}");
    std::fs::create_dir_all(server.bucket().join("taken")).unwrap();
    std::fs::write(server.bucket().join("taken/report.pdf"), b"x").unwrap();
    let error = BlobStore::open_object(&server.options("taken"), &secrets, &owner()).await.err().unwrap();
    assert_eq!(error.kind(), Conflict, "{error:?}");
    put(&service.direct, &random_bytes(1, 10)).await;
    std::fs::remove_file(server.bucket().join("farm/store.toml")).unwrap();
    let error = BlobStore::open_object(&server.options("farm"), &secrets, &owner()).await.err().unwrap();
    assert_eq!(error.kind(), Corrupt, "BLOBs without a marker: {error:?}");
    let plain = ObjectOptions { allow_http: false, ..server.options("farm") };
    assert_eq!(BlobStore::open_object(&plain, &secrets, &owner()).await.err().unwrap().kind(), Invalid);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_upload_left_is_removed_when_it_is_old() {
    let service = service().await;
    let [_, (stored, bytes)] = service.stored().await;
    // The envelope never arrives, so that the data object becomes an orphan.
    let lost = random_bytes(50, LARGE);
    service.proxy.set([Rule::always("PUT", "farm/blobs/", Fault::Status(403, "AccessDenied"))]);
    service.store.put(digest_of(&lost), lost.clone()).await.unwrap_err();
    // A second copy of the same bytes replaces the first, which stays for its readers.
    assert!(put(&service.direct, &bytes).await.existed);
    assert_eq!(service.data().len(), 3);
    assert_eq!(service.direct.compact(Default::default()).await.unwrap().removed, 0, "they are not old yet");
    // The service takes the age of an object from its file.
    let long_ago = SystemTime::now() - Duration::from_secs(8 * 24 * 3600);
    for path in service.data() {
        File::options().append(true).open(path).unwrap().set_modified(long_ago).unwrap();
    }
    let report = service.direct.compact(Default::default()).await.unwrap();
    assert_eq!((report.removed, report.damaged), (2, 0));
    assert_eq!(service.data().len(), 1);
    service.is_whole(&stored, &bytes).await;
    service.direct.delete(stored.digest).await.unwrap();
    assert_eq!(service.data().len(), 0, "a deleted BLOB leaves nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_damage_is_found_and_mended_by_storing_again() {
    let service = service().await;
    let blobs = service.stored().await;
    let name = |stored: &Stored| service.server.bucket().join(format!("farm/blobs/{}.{}", stored.digest, stored.size));
    for (stored, bytes) in &blobs {
        for position in [150, 3_000_000] {
            let newest = || service.data().into_iter().max_by_key(|path| path.metadata().unwrap().modified().unwrap());
            let file = if position == 150 { name(stored) } else { newest().unwrap() };
            if position > 150 && stored.size < 1 << 20 {
                continue;
            }
            let mut content = std::fs::read(&file).unwrap();
            content[position] ^= 4;
            std::fs::write(&file, &content).unwrap();
            let read = get(&service.direct, stored).await.map(|read| read.len());
            assert_eq!(read.unwrap_err().kind(), Corrupt, "byte {position} of {}", file.display());
            assert_eq!(damage(&service.direct).await.len(), 1);
            put(&service.direct, bytes).await;
            service.is_whole(stored, bytes).await;
            assert!(damage(&service.direct).await.is_empty());
        }
    }
    // Stores the bytes of one BLOB under the name of another.
    let [(small, _), (large, _)] = &blobs;
    std::fs::copy(name(large), name(small)).unwrap();
    assert_eq!(get(&service.direct, small).await.unwrap_err().kind(), Corrupt);
}

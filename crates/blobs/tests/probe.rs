//! The test that the administrator runs against a store.

#![allow(clippy::unwrap_used, reason = "tests")]

mod support;

use std::sync::Arc;

use blobs::testing::s3::S3Server;
use blobs::testing::{Fault, FaultyProvider, Operation, random_bytes};
use blobs::{BlobStore, Usage};
use model::ErrorKind;
use support::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_good_store_passes_and_keeps_nothing_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let server = S3Server::start(dir.path());
    let object = BlobStore::open_object(&server.options("p"), &server.secrets(), &owner()).await.unwrap();
    for store in [open(&dir.path().join("store")).await, object] {
        let kept = put(&store, &random_bytes(1, 1000)).await;
        let report = store.test().await;
        assert!(report.is_good(), "{report}");
        assert!(report.steps.len() >= 8, "{report}");
        assert_eq!(report.to_string().lines().count(), report.steps.len());
        let Usage { blobs, content_bytes, .. } = store.usage().await.unwrap();
        assert_eq!((blobs, content_bytes), (1, 1000));
        get(&store, &kept).await.unwrap();
    }
}

#[tokio::test]
async fn the_first_failure_is_told_and_the_probe_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let faulty = Arc::new(FaultyProvider::new(store.provider()));
    let outer = BlobStore::from_provider(faulty.clone());
    let cases = [
        (Operation::Store, "write"),
        (Operation::Acknowledge, "write"),
        (Operation::Open, "read"),
        (Operation::Enumerate, "list"),
        (Operation::Delete, "delete"),
    ];
    for (operation, step) in cases {
        faulty.set(Some(Fault { operation, after: 0, kind: ErrorKind::Unavailable }));
        let report = outer.test().await;
        let (what, error) = report.failure.as_ref().unwrap();
        assert_eq!((*what, error.kind()), (step, ErrorKind::Unavailable), "{report}");
        assert!(report.to_string().contains("FAILED"));
        let left = store.usage().await.unwrap().blobs;
        assert_eq!(left, if operation == Operation::Delete { 2 } else { 0 }, "{operation:?}");
    }
}

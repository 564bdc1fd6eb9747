//! A remote store that accepts connections but never responds, and a disk with slow reads. Requests that do not need
//! them are not delayed, and requests that need the store fail soon.

use std::time::{Duration, Instant};

use blobs::testing::proxy::{Fault, FaultProxy, Rule};
use blobs::testing::s3::S3Server;
use database::Engine;
use reqwest::{Method, StatusCode};

use crate::support::{Farm, Injector, bytes, empty, files_below};

/// Longer than the timeout for one silent store, shorter than two such timeouts in sequence.
const SOON: Duration = Duration::from_secs(45);

fn silent() -> [Rule; 5] {
    ["GET", "PUT", "HEAD", "POST", "DELETE"].map(|method| Rule::always(method, "", Fault::Silence))
}

fn add(farm: &Farm, address: &str) {
    let endpoint = format!("endpoint=http://{address}");
    let add = ["blobs", "stores", "add", "cloud", "--kind", "s3", "--bucket", "blobs/farm", "--set", &endpoint];
    let more = ["--set", "cache_bytes=0", "--secret", "key_id=test", "--secret", "secret=testtest"];
    farm.json(&[&add[..], &more].concat());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "cloud"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_silent_store_holds_up_nobody_who_does_not_need_it() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let proxy = FaultProxy::start(s3.address()).await;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    assert!(client.put("near.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    add(&farm, proxy.address());
    assert!(client.put("far.bin", bytes(2, 100_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());

    proxy.set(silent());
    farm.json(&["blobs", "policy", "show"]);
    farm.json(&["blobs", "stores", "list"]);
    assert_eq!(proxy.seen(), 0, "a command that does not need the store does not ask it");
    let server = farm.start();
    let client = server.client(&token);
    assert_eq!(client.get("near.bin").await.unwrap().body, bytes(1, 100_000));

    // Views of all stores report the failure quickly.
    for path in ["/api/v1/farm/stores", "/api/v1/farm/health"] {
        let start = Instant::now();
        let shown = client.send(Method::GET, path, Vec::new()).await.unwrap();
        assert!(shown.status.is_success(), "{path}: {:?}", start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(8), "{path}: {:?}", start.elapsed());
        assert!(shown.text().contains("did not answer"), "{}", shown.text());
    }
    let status = farm.run(&["blobs", "status"]).unwrap();
    assert!(status.contains("does not answer"), "{status}");
    assert!(status.contains("did not answer within"), "{status}");

    // Requests that need the store fail within a bounded time, and none takes the BLOB for missing.
    for _ in 0..2 {
        let start = Instant::now();
        let unreachable = client.get("far.bin").await.unwrap();
        assert_eq!(unreachable.status, StatusCode::SERVICE_UNAVAILABLE, "{}", unreachable.text());
        let refused = client.put("new.bin", bytes(3, 12_000_000)).await.unwrap();
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text());
        assert!(start.elapsed() < SOON, "{:?}", start.elapsed());
    }
    // A collection completes without the store, and reports its failed listing and compaction.
    let collected = farm.json_any_status(&["blobs", "collect"]);
    assert_eq!(
        (collected["state"].as_str(), collected["failed"].as_u64()),
        (Some("incomplete"), Some(2)),
        "{collected:#}"
    );
    proxy.set([]);
    let back = async || client.get("far.bin").await.unwrap().status.is_success();
    let start = Instant::now();
    while !back().await {
        assert!(start.elapsed() < SOON, "it is asked again when it may be back");
        // sleep: after a missing response the store is not retried for some seconds
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_goes_silent_in_the_middle_is_told_soon() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let proxy = FaultProxy::start(s3.address()).await;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    add(&farm, proxy.address());
    assert!(client.put("far.bin", bytes(2, 100_000)).await.unwrap().status.is_success());
    proxy.set(silent());
    let mut waited = Vec::new();
    for number in 0..3 {
        let start = Instant::now();
        let refused = client.put(&format!("{number}.bin"), bytes(number, 12_000_000)).await.unwrap();
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text());
        waited.push(start.elapsed());
    }
    assert!(waited[0] < SOON, "{waited:?}");
    assert!(waited[2] < waited[0], "{waited:?}");
    proxy.set([]);
    assert!(client.put("0.bin", bytes(0, 12_000_000)).await.unwrap().status.is_success());
    assert_eq!(client.get("far.bin").await.unwrap().body, bytes(2, 100_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_emptied_bucket_is_not_taken_for_a_new_store() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    add(&farm, &s3.address());
    assert!(server.client(&token).put("far.bin", bytes(2, 100_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    empty(&s3.bucket());
    let server = farm.start();
    let client = server.client(&token);
    let refused = client.put("new.bin", bytes(3, 100_000)).await.unwrap();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text());
    assert_eq!(client.get("far.bin").await.unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(farm.run(&["blobs", "status"]).unwrap().contains("contains no BLOB store"));
    assert!(std::fs::read_dir(s3.bucket()).unwrap().next().is_none(), "nothing is made there");
    // The store is permanently lost.
    farm.json(&["blobs", "stores", "make-anew", "cloud"]);
    let start = Instant::now();
    while !client.put("new.bin", bytes(3, 100_000)).await.unwrap().status.is_success() {
        assert!(start.elapsed() < SOON, "it is a store again");
        // sleep: after a location was found not to be a store it is not retried for some seconds
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert!(farm.run(&["blobs", "stores", "make-anew", "cloud"]).unwrap_err().output.contains("still exists"));
}

#[tokio::test(flavor = "multi_thread")]
async fn several_silent_stores_are_asked_at_once() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let proxy = FaultProxy::start(s3.address()).await;
    let farm = Farm::on(Engine::Sqlite).await;
    assert!(farm.start().stop().success());
    let endpoint = format!("endpoint=http://{}", proxy.address());
    for name in ["first", "second", "third"] {
        let bucket = format!("blobs/{name}");
        let add = ["blobs", "stores", "add", name, "--kind", "s3", "--bucket", &bucket, "--set", &endpoint];
        farm.json(&[&add[..], &["--secret", "key_id=test", "--secret", "secret=testtest"]].concat());
    }
    proxy.set(silent());
    let start = Instant::now();
    let health = farm.run(&["blobs", "health"]).unwrap_err().output;
    let took = start.elapsed();
    assert!(["first", "second", "third"].iter().all(|name| health.contains(&format!("BLOB store {name}"))), "{health}");
    // Each store takes ten seconds to time out.
    assert!(took < Duration::from_secs(20), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_that_wait_for_the_disk_of_a_database_hold_up_nobody_else() {
    let readers = database::Options::default().readers;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    for number in 0..readers {
        assert!(client.put(&format!("{number}.txt"), bytes(number as u64, 10_000)).await.unwrap().status.is_success());
    }
    let databases = files_below(&farm.data.join("databases"));
    let scratch = tempfile::tempdir().unwrap();
    // Nothing was read since the last change, so each connection reads from the disk and waits longer than any request
    // below.
    let wait = Duration::from_secs(20);
    let injector = Injector::delay(&server, "pread64", wait, &databases, &scratch.path().join("log"));
    let requests: Vec<_> = (0..readers)
        .map(|number| {
            let client = client.clone();
            tokio::spawn(async move { client.get(&format!("{number}.txt")).await.unwrap() })
        })
        .collect();
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(3) {
        for path in ["/healthz", "/assets/app.css"] {
            let asked = client.send(Method::GET, path, Vec::new());
            let answer = tokio::time::timeout(wait / 2, asked).await;
            answer.unwrap_or_else(|_| panic!("{path} waits for the disk of a database that it does not need")).unwrap();
        }
    }
    assert!(requests.iter().any(|request| !request.is_finished()), "nobody asked the disk");
    injector.detach();
    for request in requests {
        assert_eq!(request.await.unwrap().status, StatusCode::OK);
    }
}

//! A farm whose BLOBs lie in a real S3 server: work goes on beside its troubles, and nothing is lost or taken for lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use blobs::testing::proxy::{FaultProxy, Rule, Trouble};
use blobs::testing::s3::S3Server;
use database::Engine;
use reqwest::StatusCode;

use crate::support::{Farm, Ledger, Random, bytes};

const SIZES: &[usize] = &[300, 20_000, 150_000, 9_000_000];

/// A store on this address, encrypted and compressed, that takes the farm's new BLOBs.
fn use_cloud(farm: &Farm, address: &str) {
    let endpoint = format!("endpoint=http://{address}");
    let add = ["blobs", "stores", "add", "cloud", "--kind", "s3", "--bucket", "blobs/farm", "--set", &endpoint];
    let secrets = ["--set", "compression=1", "--secret", "key_id=test", "--secret", "secret=testtest", "--encrypt"];
    farm.json(&[&add[..], &secrets].concat());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "cloud"]);
}

async fn work_in_the_cloud(engine: Engine) {
    let mut random = Random::fresh();
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let farm = Farm::on(engine).await;
    let ledger = Ledger::new(4, 4, SIZES);
    let server = farm.start();
    let token = farm.token();
    use_cloud(&farm, &s3.address());
    let tested = farm.json(&["blobs", "stores", "test", "cloud"]);
    assert!(tested["failure"].is_null() && tested["steps"].as_array().unwrap().len() > 4, "{tested:#}");
    let stop = Arc::new(AtomicBool::new(false));
    let load = ledger.load(&server.client(&token), &mut random, &stop);
    ledger.wait_for(30).await;
    server.kill();
    load.join_all().await;
    let server = farm.start();
    ledger.verify(&server.client(&token), true).await;
    let load = ledger.load(&server.client(&token), &mut random, &stop);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "files"]);
    let drained = farm.json(&["blobs", "stores", "drain", "cloud"]);
    assert_eq!((drained["state"].as_str(), drained["failed"].as_u64()), (Some("finished"), Some(0)), "{drained:#}");
    stop.store(true, Ordering::Relaxed);
    load.join_all().await;
    let refused = ledger.refused();
    assert!(refused.is_empty(), "the server refused what it must take: {refused:#?}");
    ledger.verify(&server.client(&token), false).await;
    // What was uploaded while the policy changed under it may still be there.
    farm.json(&["blobs", "migrate", "--from", "cloud", "--to", "files"]);
    farm.check_blobs();
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_live_in_s3_through_crashes_and_come_back_on_sqlite() {
    work_in_the_cloud(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_live_in_s3_through_crashes_and_come_back_on_postgres() {
    work_in_the_cloud(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn troubles_of_a_remote_store_are_told_and_never_taken_for_absence() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let proxy = FaultProxy::start(s3.address()).await;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    assert!(client.put("near.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    use_cloud(&farm, proxy.address());
    // A cache would hide the troubles of reading.
    farm.json(&["blobs", "stores", "set", "cloud", "--set", "cache_bytes=0"]);
    assert!(client.put("far.bin", bytes(2, 100_000)).await.unwrap().status.is_success());
    assert_eq!(client.get("far.bin").await.unwrap().body, bytes(2, 100_000));
    for (trouble, expected) in [
        (Trouble::Status(403, "AccessDenied"), StatusCode::SERVICE_UNAVAILABLE),
        (Trouble::OtherBytes, StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        proxy.set([Rule::always("GET", "blobs/", trouble.clone())]);
        let answer = client.get("far.bin").await.unwrap();
        assert_eq!(answer.status, expected, "{trouble:?}: {}", answer.text());
        assert_eq!(client.get("near.bin").await.unwrap().body, bytes(1, 100_000), "other stores go on");
    }
    proxy.set([Rule::always("PUT", "blobs/", Trouble::Status(403, "AccessDenied"))]);
    let refused = client.put("new.bin", bytes(3, 100_000)).await.unwrap();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text());
    assert_eq!(client.get("new.bin").await.unwrap().status, StatusCode::NOT_FOUND, "nothing half stored");
    // A reply that was lost is no loss.
    proxy.set([Rule::once("PUT", "blobs/", Trouble::LoseReply)]);
    let answer = client.put("new.bin", bytes(3, 100_000)).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
    // Neither a check nor a collection takes an error for absence.
    proxy.set([Rule::always("GET", "blobs/", Trouble::Status(500, "InternalError"))]);
    assert!(farm.run(&["blobs", "check"]).is_err());
    assert!(farm.run(&["blobs", "collect", "--immediate"]).is_err());
    assert_eq!(farm.json_whatever(&["blobs", "faults"]), serde_json::json!([]));
    proxy.set([]);
    for (name, seed) in [("near.bin", 1), ("far.bin", 2), ("new.bin", 3)] {
        assert_eq!(client.get(name).await.unwrap().body, bytes(seed, 100_000), "{name}");
    }
    farm.check_blobs();
    // A wrong credential changes nothing.
    let wrong = farm.run(&["blobs", "stores", "set", "cloud", "--secret", "secret=wrong"]).unwrap_err();
    assert!(wrong.said.contains("refuses the credential"), "{}", wrong.said);
    farm.json(&["blobs", "stores", "rotate-key", "cloud"]);
    assert_eq!(client.get("far.bin").await.unwrap().body, bytes(2, 100_000), "old BLOBs are read with their old key");
    // The secrets are nowhere in the open.
    let database = std::fs::read(farm.data.join("configuration.sqlite")).unwrap();
    assert!(!database.windows(8).any(|window| window == b"testtest"), "the credential lies open in the database");
}

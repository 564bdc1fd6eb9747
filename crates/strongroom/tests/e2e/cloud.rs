//! A farm whose BLOBs are in a real S3 server. Work continues during failures of the service, and nothing is lost or
//! wrongly reported as lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use blobs::testing::proxy::{Fault, FaultProxy, Rule};
use blobs::testing::s3::S3Server;
use database::Engine;
use reqwest::StatusCode;
use serde_json::json;

use crate::support::backups::{Place, compare, fill};
use crate::support::{Farm, Ledger, Random, bytes, empty, files_below, keep_no_versions, recorded};

const SIZES: &[usize] = &[300, 20_000, 150_000, 9_000_000];

/// Adds an encrypted and compressed store at this address and makes it the active store.
pub fn use_cloud(farm: &Farm, address: &str) {
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
    assert!(tested["failure"].is_null(), "{tested:#}");
    assert!(tested["steps"].as_array().unwrap().len() > 4, "{tested:#}");
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
    // Documents uploaded while the policy changed may still be in the old store.
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
    // A cache would hide failing reads.
    farm.json(&["blobs", "stores", "set", "cloud", "--set", "cache_bytes=0"]);
    assert!(client.put("far.bin", bytes(2, 100_000)).await.unwrap().status.is_success());
    assert_eq!(client.get("far.bin").await.unwrap().body, bytes(2, 100_000));
    for (trouble, expected) in [
        (Fault::Status(403, "AccessDenied"), StatusCode::SERVICE_UNAVAILABLE),
        (Fault::OtherBytes, StatusCode::SERVICE_UNAVAILABLE),
    ] {
        proxy.set([Rule::always("GET", "blobs/", trouble.clone())]);
        let answer = client.get("far.bin").await.unwrap();
        assert_eq!(answer.status, expected, "{trouble:?}: {}", answer.text());
        assert_eq!(client.get("near.bin").await.unwrap().body, bytes(1, 100_000), "other stores go on");
    }
    // Different bytes count as damage until a check reads the right ones.
    assert_eq!(recorded(&farm, 1).await[0]["state"], "damaged");
    proxy.set([]);
    farm.check_blobs();
    assert_eq!(recorded(&farm, 0).await, serde_json::json!([]));
    proxy.set([Rule::always("PUT", "blobs/", Fault::Status(403, "AccessDenied"))]);
    let refused = client.put("new.bin", bytes(3, 100_000)).await.unwrap();
    assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text());
    assert_eq!(client.get("new.bin").await.unwrap().status, StatusCode::NOT_FOUND, "nothing half stored");
    // A lost response does not mean a lost object.
    proxy.set([Rule::once("PUT", "blobs/", Fault::LoseReply)]);
    let answer = client.put("new.bin", bytes(3, 100_000)).await.unwrap();
    assert!(answer.status.is_success(), "{}", answer.text());
    // Neither a check nor a collection takes an error for a missing object.
    proxy.set([Rule::always("GET", "blobs/", Fault::Status(500, "InternalError"))]);
    assert!(farm.run(&["blobs", "check"]).is_err());
    assert!(farm.run(&["blobs", "collect", "--immediate"]).is_err());
    assert_eq!(farm.json_any_status(&["blobs", "faults"]), serde_json::json!([]));
    proxy.set([]);
    for (name, seed) in [("near.bin", 1), ("far.bin", 2), ("new.bin", 3)] {
        assert_eq!(client.get(name).await.unwrap().body, bytes(seed, 100_000), "{name}");
    }
    farm.check_blobs();
    // A wrong credential changes nothing.
    let wrong = farm.run(&["blobs", "stores", "set", "cloud", "--secret", "secret=wrong"]).unwrap_err();
    assert!(wrong.output.contains("refuses the credential"), "{}", wrong.output);
    farm.json(&["blobs", "stores", "rotate-key", "cloud"]);
    assert_eq!(client.get("far.bin").await.unwrap().body, bytes(2, 100_000), "old BLOBs are read with their old key");
    // No secret is stored in plaintext.
    let database = std::fs::read(farm.data.join("configuration.sqlite")).unwrap();
    assert!(!database.windows(8).any(|window| window == b"testtest"), "the credential lies open in the database");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_waits_for_a_store_that_goes_away_in_the_middle() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let proxy = FaultProxy::start(s3.address()).await;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    for number in 0..24 {
        assert!(client.put(&format!("{number}.bin"), bytes(number, 100_000)).await.unwrap().status.is_success());
    }
    use_cloud(&farm, proxy.address());
    let migrate = ["blobs", "migrate", "--from", "files", "--to", "cloud", "--rate", "200K", "--background"];
    let id = farm.json(&migrate)["id"].as_str().unwrap().to_owned();
    let until = async |what: &str, holds: &dyn Fn(&serde_json::Value) -> bool| {
        for _ in 0..600 {
            let job = farm.json_any_status(&["jobs", "show", &id]);
            if holds(&job) {
                return job;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await; // sleep: between two looks at the job
        }
        panic!("the job is not {what}: {:#}", farm.json_any_status(&["jobs", "show", &id]));
    };
    until("at work", &|job| job["items"].as_u64() > Some(0)).await;
    proxy
        .set(["GET", "PUT", "POST", "HEAD"].map(|method| Rule::always(method, "", Fault::Status(403, "AccessDenied"))));
    let waiting = until("waiting", &|job| job["phase"].as_str().is_some_and(|phase| phase.contains("waiting"))).await;
    assert_eq!(waiting["state"], "running", "{waiting:#}");
    proxy.set([]);
    let done = until("done", &|job| job["state"] != "running").await;
    assert_eq!((&done["state"], &done["items"], &done["failed"]), (&"finished".into(), &24.into(), &0.into()));
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_does_after_all_what_it_could_not_ends_without_errors() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let proxy = FaultProxy::start(s3.address()).await;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    keep_no_versions(&client).await;
    use_cloud(&farm, proxy.address());
    for content in [bytes(1, 100_000), bytes(2, 100_000)] {
        assert!(client.put("far.bin", content).await.unwrap().status.is_success());
    }
    proxy.set(["DELETE", "POST"].map(|method| Rule::always(method, "", Fault::Status(403, "AccessDenied"))));
    let done = farm.json_any_status(&["blobs", "collect", "--immediate", "--share", "100"]);
    assert!(done["state"] == "incomplete", "{done:#}");
    assert!(done["failed"].as_u64() > Some(0), "{done:#}");
    let id = done["id"].as_str().unwrap();
    proxy.set([]);
    let again = farm.json(&["jobs", "resume", id]);
    assert_eq!((&again["state"], &again["failed"], &again["errors"]), (&json!("finished"), &json!(0), &json!([])));
    // An aborted job cannot be resumed, and the error says so.
    farm.json(&[
        "jobs",
        "pause",
        farm.json(&["blobs", "check", "--background", "--rate", "1"])["id"].as_str().unwrap(),
    ]);
    let paused = farm.json(&["jobs", "list"])[0]["id"].as_str().unwrap().to_owned();
    farm.json(&["jobs", "abort", &paused]);
    let refused = farm.run(&["jobs", "resume", &paused]).unwrap_err().output;
    assert!(refused.contains("ended for good"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_bucket_is_filled_again_by_a_restoration_and_what_it_still_has_is_not_copied() {
    let place = Place::new();
    std::fs::create_dir(place.path("service")).unwrap();
    let s3 = S3Server::start(&place.path("service"));
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    use_cloud(&farm, &s3.address());
    let client = server.client(&token);
    fill(&client, "kept", 12).await;
    // Too large for a single object, so it is stored as an envelope and a data object.
    let long = bytes(9, 20_000_000);
    assert!(client.put("long.bin", long.clone()).await.unwrap().status.is_success());
    let destination = place.text("backups");
    let taken = farm.json(&["backup", &destination]);
    let blobs = taken["blobs"].as_u64().unwrap();
    assert!(server.stop().success());

    let all_there = async |farm: &Farm| {
        farm.check_blobs();
        let server = farm.start();
        let client = server.client(&token);
        compare(&client, "kept", 12).await;
        assert!(client.get("long.bin").await.unwrap().body == long);
        assert!(server.stop().success());
    };
    let back = |words: &[&str]| farm.json(&[&["restore", &destination, "--use-stores"], words].concat());
    empty(&s3.bucket());
    empty(&farm.data);
    let restored = back(&[]);
    assert_eq!((&restored["copied_blobs"], &restored["present_blobs"]), (&blobs.into(), &0.into()), "{restored:#}");
    all_there(&farm).await;
    let stores = farm.json(&["blobs", "stores", "list"]);
    assert!(stores.as_array().unwrap().iter().any(|store| store["kind"] == "s3"), "{stores:#}");

    // One BLOB is lost, another is damaged, and of a third only the envelope is left.
    let objects = files_below(&s3.bucket().join("farm/blobs"));
    let of_size =
        |size: usize| objects.iter().find(|path| path.to_str().unwrap().ends_with(&format!(".{size}"))).unwrap();
    std::fs::remove_file(of_size(150_000)).unwrap();
    std::fs::write(of_size(700_000), b"rubbish").unwrap();
    let data = files_below(&s3.bucket().join("farm/data"));
    assert_eq!(data.len(), 1, "{data:?}");
    std::fs::remove_file(&data[0]).unwrap();
    empty(&farm.data);
    let restored = back(&[]);
    assert_eq!(restored["copied_blobs"], 3, "{restored:#}");
    assert_eq!(restored["present_blobs"], blobs - 3, "{restored:#}");
    all_there(&farm).await;

    // Without the flag, the restored farm has its own stores and leaves the bucket alone.
    let copy = Farm::at(place.path("copy"));
    copy.json(&["restore", &destination]);
    all_there(&copy).await;
    let stores = copy.json(&["blobs", "stores", "list"]);
    assert!(stores.as_array().unwrap().iter().all(|store| store["kind"] != "s3"), "{stores:#}");

    // A bucket that another farm has taken meanwhile is not written to.
    empty(&s3.bucket());
    let other = Farm::on(Engine::Sqlite).await;
    let _server = other.start();
    use_cloud(&other, &s3.address());
    empty(&farm.data);
    let refused = farm.run(&["restore", &destination, "--use-stores"]).unwrap_err();
    assert!(refused.output.contains("belongs to farm"), "{}", refused.output);
    assert!(refused.output.contains("--use-stores"), "{}", refused.output);
    assert!(!farm.data.join("configuration.sqlite").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_one_store_by_whatever_address_it_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let proxy = FaultProxy::start(s3.address()).await;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    use_cloud(&farm, &s3.address());
    assert!(client.put("far.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    let before = files_below(&s3.bucket());
    let (direct, slashed) = (s3.address(), format!("{}/", s3.address()));
    let places = [
        (proxy.address(), "blobs/farm"),
        (&slashed, "blobs/farm"),
        (&direct, "blobs/farm/within"),
        (&direct, "blobs"),
        (proxy.address(), "blobs"),
    ];
    let said = [
        "\"cloud\" is already at that location",
        "\"cloud\" is already at that location",
        "blobs/farm/within lies within blobs/farm, the BLOB store \"cloud\"",
        "blobs/farm, the BLOB store \"cloud\", lies within blobs:",
        "blobs/farm, the BLOB store \"cloud\", lies within blobs:",
    ];
    for ((address, bucket), said) in places.into_iter().zip(said) {
        let endpoint = format!("endpoint=http://{address}");
        let add = ["blobs", "stores", "add", "again", "--kind", "s3", "--bucket", bucket, "--set", &endpoint];
        let secrets = ["--secret", "key_id=test", "--secret", "secret=testtest"];
        let refused = farm.run(&[&add[..], &secrets].concat()).unwrap_err();
        assert!(refused.output.contains(said), "{address} {bucket}: {}", refused.output);
    }
    assert_eq!(farm.json(&["blobs", "stores", "list"]).as_array().unwrap().len(), 3, "none was added");
    assert_eq!(files_below(&s3.bucket()), before, "nothing is left behind");
    // Another prefix is a separate store.
    let endpoint = format!("endpoint=http://{direct}");
    let add = ["blobs", "stores", "add", "second", "--kind", "s3", "--bucket", "blobs/second", "--set", &endpoint];
    farm.json(&[&add[..], &["--secret", "key_id=test", "--secret", "secret=testtest"]].concat());
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_that_belongs_to_one_farm_is_refused_to_another() {
    let scratch = tempfile::tempdir().unwrap();
    let s3 = S3Server::start(scratch.path());
    let (ours, theirs) = (Farm::on(Engine::Sqlite).await, Farm::on(Engine::Sqlite).await);
    let (server, _other) = (ours.start(), theirs.start());
    let client = server.client(&ours.token());
    use_cloud(&ours, &s3.address());
    assert!(client.put("ours.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    let before = files_below(&s3.bucket());
    let endpoint = format!("endpoint=http://{}", s3.address());
    let add = ["blobs", "stores", "add", "cloud", "--kind", "s3", "--bucket", "blobs/farm", "--set", &endpoint];
    let secrets = ["--secret", "key_id=test", "--secret", "secret=testtest"];
    let refused = theirs.run(&[&add[..], &secrets].concat()).unwrap_err();
    assert!(refused.output.contains("belongs to farm"), "{}", refused.output);
    assert_eq!(theirs.json(&["blobs", "stores", "list"]).as_array().unwrap().len(), 2, "it was not added");
    // The other farm cannot migrate its BLOBs there either.
    assert!(theirs.run(&["blobs", "migrate", "--to", "cloud"]).is_err());
    assert_eq!(files_below(&s3.bucket()), before);
    assert_eq!(client.get("ours.bin").await.unwrap().body, bytes(1, 100_000));
    ours.check_blobs();
}

//! Clock jumps of a year in either direction. Versions keep their order, identifiers stay unique, and nothing recent is
//! permanently deleted.

use database::Engine;
use reqwest::Method;
use serde_json::Value;

use crate::support::backups::{Place, sets};
use crate::support::{Client, Farm, bytes};

/// Runs all following commands with a clock that is off by `days` but runs at normal speed.
fn set_clock(farm: &mut Farm, days: i64) {
    // The library is preloaded directly rather than through the `faketime` command, so that the program stays a direct
    // child of the test.
    let library = "LD_PRELOAD=/usr/$LIB/faketime/libfaketime.so.1";
    let offset = format!("FAKETIME={days:+}d");
    farm.command_prefix = match days {
        0 => Vec::new(),
        _ => ["env", library, "FAKETIME_DONT_FAKE_MONOTONIC=1", &offset].map(str::to_owned).into(),
    };
}

async fn read(client: &Client, path: &str) -> Value {
    let answer = client.send(Method::GET, path, Vec::new()).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
    serde_json::from_slice(&answer.body).unwrap()
}

fn id(item: &Value) -> u64 {
    item["id"].as_str().unwrap().parse().unwrap()
}

/// Number of entries in a recycle bin.
async fn waiting(client: &Client, bin: &str) -> usize {
    read(client, bin).await["items"].as_array().unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newest_version_stays_the_newest_and_identifiers_rise_when_the_clock_is_set_back() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let mut client = server.client(&farm.token());
    let library = read(&client, "/api/v1/items/by-path?path=Documents").await;
    let rules = format!("/api/v1/items/{}/settings", id(&library));
    let limit = client.send_json(Method::PATCH, &rules, &serde_json::json!({ "major_limit": 3 })).await.unwrap();
    assert!(limit.status.is_success(), "{}", limit.text());
    let mut server = server;
    let (mut newest, mut number) = (0, 0u64);
    for days in [0, -365, 365, -30, 0] {
        assert!(server.stop().success());
        set_clock(&mut farm, days);
        server = farm.start();
        client = server.client(&farm.token_named(&format!("t{number}")));
        for _ in 0..2 {
            number += 1;
            assert!(client.put("a.bin", bytes(number, 2_000)).await.unwrap().status.is_success());
            let item = read(&client, "/api/v1/items/by-path?path=Documents/a.bin").await;
            assert_eq!(item["version"], format!("{number}.0"), "at {days} days");
            let versions = read(&client, &format!("/api/v1/items/{}/versions", id(&item))).await;
            let versions = versions["items"].as_array().unwrap();
            let numbers: Vec<&str> = versions.iter().filter_map(|version| version["number"].as_str()).collect();
            let expected: Vec<String> =
                (number.saturating_sub(2).max(1)..=number).rev().map(|n| format!("{n}.0")).collect();
            assert_eq!(numbers, expected, "at {days} days");
            let name = format!("b{number}.bin");
            assert!(client.put(&name, bytes(number, 100)).await.unwrap().status.is_success());
            let made = id(&read(&client, &format!("/api/v1/items/by-path?path=Documents/{name}")).await);
            assert!(made > newest, "an identifier is before those that there are, at {days} days");
            newest = made;
            assert!(client.get("a.bin").await.unwrap().body == bytes(number, 2_000), "at {days} days");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_young_is_not_deleted_for_good_when_the_clock_is_a_year_ahead() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let (kept, gone) = (bytes(1, 100_000), bytes(2, 120_000));
    for (name, content) in [("kept.bin", &kept), ("gone.bin", &gone)] {
        assert!(client.put(name, content.clone()).await.unwrap().status.is_success());
    }
    assert!(client.delete("gone.bin").await.unwrap().status.is_success());
    let library = read(&client, "/api/v1/items/by-path?path=Documents").await;
    let bin = format!("/api/v1/site-collections/{}/recycle-bin", library["site_collection"].as_str().unwrap());
    assert!(server.stop().success());
    farm.json(&["blobs", "collect"]);
    assert_eq!(farm.json(&["clock", "show"])["ahead_seconds"], 0);

    set_clock(&mut farm, 365);
    let server = farm.start();
    let client = server.client(&farm.token_named("ahead"));
    assert_eq!(waiting(&client, &bin).await, 1, "what was deleted a moment ago waits");
    farm.json(&["blobs", "collect"]);
    let health = farm.json_any_status(&["blobs", "health"]);
    assert!(health.to_string().contains("clock-ahead"), "{health:#}");
    assert!(farm.json_any_status(&["clock", "show"])["ahead_seconds"].as_u64().unwrap() > 300 * 24 * 3600);
    assert!(server.stop().success());

    // Once the clock is right again, so is everything else.
    set_clock(&mut farm, 0);
    let server = farm.start();
    let client = server.client(&farm.token_named("back"));
    assert_eq!(waiting(&client, &bin).await, 1);
    assert_eq!(farm.json(&["clock", "show"])["ahead_seconds"], 0);
    assert!(client.get("kept.bin").await.unwrap().body == kept);
    assert!(server.stop().success());

    // Deleted items count as old only after an administrator accepts that a year has passed.
    set_clock(&mut farm, 365);
    farm.json(&["clock", "accept"]);
    let server = farm.start();
    let client = server.client(&farm.token_named("accepted"));
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while waiting(&client, &bin).await > 0 {
        assert!(std::time::Instant::now() < deadline, "what is old enough is removed at the start");
        // sleep: polled, since the clean-up runs in the background without a notification
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    assert!(server.stop().success());
    // BLOBs that are due are still deleted: marked now, and deleted when their window has ended by an accepted clock.
    let deleted = |farm: &Farm| farm.json(&["blobs", "collect"])["results"]["deleted_blobs"].as_u64().unwrap_or(0);
    assert_eq!(deleted(&farm), 0, "its window has only begun");
    set_clock(&mut farm, 730);
    assert_eq!(deleted(&farm), 0, "nobody says that another year went by");
    farm.json(&["clock", "accept"]);
    assert_eq!(deleted(&farm), 1);
    let server = farm.start();
    assert!(server.client(&farm.token_named("last")).get("kept.bin").await.unwrap().body == kept);
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_of_retention_keep_the_backup_that_was_just_taken_whatever_the_clock_says() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    assert!(farm.start().stop().success());
    let scratch = Place::new();
    let place = scratch.text("backups");
    farm.json(&["backup", &place]);
    for days in [-365, 365, 0] {
        set_clock(&mut farm, days);
        let health = farm.json_any_status(&["blobs", "health"]).to_string();
        assert!(health.contains("backup-overdue"), "at {days} days: {health}");
        // Only with the clock a year ahead is the existing backup in the past.
        assert_eq!(health.contains("is in the future"), days <= 0, "at {days} days: {health}");
        let taken = farm.json(&["backup", &place, "--retain", "last=1"]);
        let taken = taken["id"].as_str().unwrap_or_else(|| panic!("{taken:#}")).to_owned();
        assert_eq!(sets(&farm, &place), [taken], "at {days} days");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_locks_links_tokens_and_unfinished_uploads_are_there_again_with_the_clock() {
    let mut farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let key = [("idempotency-key", "the same request")];
    let path = "/api/v1/content/Documents/once.bin";
    let stored = client.send_with(Method::PUT, path, &key, bytes(1, 2_000)).await.unwrap();
    assert!(stored.status.is_success(), "{}", stored.text());
    assert!(client.put("locked.bin", bytes(2, 2_000)).await.unwrap().status.is_success());
    let item = id(&read(&client, "/api/v1/items/by-path?path=Documents/locked.bin").await);
    let locks = format!("/api/v1/items/{item}/locks");
    let lock = client.send_json(Method::POST, &locks, &serde_json::json!({ "seconds": 3_600 })).await.unwrap();
    assert!(lock.status.is_success(), "{}", lock.text());
    let site =
        read(&client, "/api/v1/items/by-path?path=Documents").await["site_collection"].as_str().unwrap().to_owned();
    let rule = format!("/api/v1/site-collections/{site}/link-rule");
    let allowed = client.send_json(Method::PUT, &rule, &serde_json::json!({ "most_days": 7 })).await.unwrap();
    assert!(allowed.status.is_success(), "{}", allowed.text());
    let links = format!("/api/v1/items/{item}/links");
    let link = client.send_json(Method::POST, &links, &serde_json::json!({ "days": 7 })).await.unwrap();
    assert!(link.status.is_success(), "{}", link.text());
    // Base64 of `Documents/big.bin`.
    let tus =
        [("tus-resumable", "1.0.0"), ("upload-length", "1000"), ("upload-metadata", "path RG9jdW1lbnRzL2JpZy5iaW4=")];
    let begun = client.send_with(Method::POST, "/api/v1/uploads", &tus, Vec::new()).await.unwrap();
    assert!(begun.status.is_success(), "{}", begun.text());
    let upload = begun.header("location").to_owned();
    assert!(server.stop().success());

    for days in [365, -365] {
        set_clock(&mut farm, days);
        let server = farm.start();
        let other = server.client(&farm.token_named(&format!("at{days}")));
        // Signing in, locking and starting the server are the operations that remove expired rows.
        assert_eq!(read(&other, &links).await["items"][0]["ended"], days > 0, "the link at {days} days");
        let name = format!("other{days}.bin");
        assert!(other.put(&name, bytes(3, 2_000)).await.unwrap().status.is_success());
        let item = id(&read(&other, &format!("/api/v1/items/by-path?path=Documents/{name}")).await);
        let locks = format!("/api/v1/items/{item}/locks");
        let lock = other.send_json(Method::POST, &locks, &serde_json::json!({ "seconds": 1 })).await.unwrap();
        assert!(lock.status.is_success(), "{}", lock.text());
        assert!(server.stop().success());
    }

    set_clock(&mut farm, 0);
    let server = farm.start();
    let client = server.client(&token);
    let again = client.send_with(Method::PUT, path, &key, bytes(1, 2_000)).await.unwrap();
    assert!(again.status.is_success(), "{}", again.text());
    let once = read(&client, "/api/v1/items/by-path?path=Documents/once.bin").await;
    assert_eq!(once["version"], "1.0", "the repeated request changed nothing");
    assert_eq!(read(&client, &links).await["items"][0]["ended"], false, "the link is open again");
    assert_eq!(waiting(&client, &locks).await, 1, "the lock holds");
    assert_eq!(client.put("locked.bin", bytes(4, 2_000)).await.unwrap().status.as_u16(), 423);
    let state = client.send_with(Method::HEAD, &upload, &tus[..1], Vec::new()).await.unwrap();
    assert!(state.status.is_success(), "{}", state.status);
    assert!(server.stop().success());
}

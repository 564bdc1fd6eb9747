//! Copies of BLOBs that several processes and databases share. No referenced copy is deleted.

use database::Engine;
use reqwest::Method;
use serde_json::json;

use crate::support::{Farm, bytes, keep_no_versions};

async fn move_to_and_fro(engine: Engine) {
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    let size = |seed: u64| [20_000, 50_000, 2_000_000][seed as usize % 3];
    for seed in 0..150 {
        assert!(client.put(&format!("{seed}.bin"), bytes(seed, size(seed))).await.unwrap().status.is_success());
    }
    // Each process abandons old copies while the others restore them.
    std::thread::scope(|scope| {
        for target in ["second", "files", "database"] {
            let farm = &farm;
            scope.spawn(move || {
                for _ in 0..4 {
                    farm.json_any_status(&["blobs", "migrate", "--to", target, "--min-size", "0"]);
                }
            });
        }
    });
    for seed in 0..150 {
        let answer = client.get(&format!("{seed}.bin")).await.unwrap();
        assert!(answer.body == bytes(seed, size(seed)), "{seed}.bin: {} {}", answer.status, answer.text());
    }
    farm.check_blobs();
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn several_processes_that_move_the_same_blobs_lose_none_on_sqlite() {
    move_to_and_fro(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn several_processes_that_move_the_same_blobs_lose_none_on_postgres() {
    move_to_and_fro(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_another_content_database_needs_stays_and_can_be_used_again() {
    let farm = Farm::on(Engine::Sqlite).await;
    drop(farm.start());
    farm.json(&["site", "database", "add", "second"]);
    farm.json(&["site", "create", "sites/second", "--database", "second"]);
    farm.json(&["site", "add-library", "sites/second/Files"]);
    let server = farm.start();
    let client = server.client(&farm.token());
    keep_no_versions(&client).await;
    let shared = || bytes(1, 50_000);
    let elsewhere = "/api/v1/content/sites/second/Files/shared.bin";
    assert!(client.put("shared.bin", shared()).await.unwrap().status.is_success());
    assert!(client.send(Method::PUT, elsewhere, shared()).await.unwrap().status.is_success());
    // The first database drops its reference; the second one keeps its own.
    assert!(client.put("shared.bin", bytes(2, 50_000)).await.unwrap().status.is_success());
    let collected = farm.json(&["blobs", "collect", "--immediate", "--share", "100"]);
    assert_eq!(collected["results"]["deleted_blobs"].as_u64().unwrap_or(0), 0, "{collected:#}");
    assert_eq!(client.send(Method::GET, elsewhere, Vec::new()).await.unwrap().body, shared());
    assert_eq!(farm.json(&["blobs", "status"])["pending_reclaim"], json!([]));
    let again = client.put("again.bin", shared()).await.unwrap();
    assert!(again.status.is_success(), "{}", again.text());
    // Now both databases drop their references.
    assert!(client.put("again.bin", bytes(3, 50_000)).await.unwrap().status.is_success());
    assert!(client.send(Method::DELETE, elsewhere, Vec::new()).await.unwrap().status.is_success());
    farm.check_blobs();
    assert!(server.stop().success());
}

/// Writes the record that another process leaves after it has deleted a copy of the same bytes.
fn note_deleted(farm: &Farm, content: &[u8]) {
    let database = database::testing::open_file(&farm.data.join("databases/main.sqlite"));
    database.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
    let now = model::Timestamp::now().micros();
    let insert = "INSERT OR REPLACE INTO deleted_copy VALUES (2, ?1, ?2)";
    let digest = blobs::digest_of(content);
    database.execute(insert, rusqlite::params![digest.as_bytes(), now]).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_whose_like_was_deleted_lately_are_stored_when_they_are_there() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let source = tempfile::tempdir().unwrap();
    for (seed, size) in [(1, 50_000), (2, 2_000_000)] {
        let content = bytes(seed, size);
        note_deleted(&farm, &content);
        let stored = client.put(&format!("{seed}.bin"), content.clone()).await.unwrap();
        assert!(stored.status.is_success(), "{}", stored.text());
        assert!(client.get(&format!("{seed}.bin")).await.unwrap().body == content);
        // An import creates many documents in one transaction.
        let other = bytes(seed + 10, size);
        note_deleted(&farm, &other);
        std::fs::write(source.path().join(format!("{}.bin", seed + 10)), &other).unwrap();
    }
    farm.run(&["import", source.path().to_str().unwrap(), "Documents"]).unwrap();
    for (seed, size) in [(11, 50_000), (12, 2_000_000)] {
        assert!(client.get(&format!("{seed}.bin")).await.unwrap().body == bytes(seed, size));
    }
    // A migration checks afterwards that its copies still exist.
    note_deleted(&farm, &bytes(1, 50_000));
    farm.json(&["blobs", "migrate", "--to", "database", "--min-size", "0"]);
    let moved = farm.json(&["blobs", "migrate", "--to", "files", "--min-size", "0"]);
    assert_eq!((&moved["items"], &moved["failed"]), (&json!(4), &json!(0)), "{moved:#}");
    farm.check_blobs();
    let database = database::testing::open_file(&farm.data.join("databases/main.sqlite"));
    let left: i64 = database.query_row("SELECT count(*) FROM reclaim", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0, "nothing is given up that is not deleted at once");
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_was_cut_short_is_taken_up_by_the_server_and_not_by_the_next_collection() {
    let farm = Farm::on(Engine::Sqlite).await;
    assert!(farm.start().stop().success());
    let content = bytes(3, 50_000);
    let begun = "INSERT INTO reclaim (store_id, digest, size, reason, state, since) VALUES (2, ?1, 50000, 'deleted', \
        'deleting', ?2)";
    let now = model::Timestamp::now().micros();
    let database = database::testing::open_file(&farm.data.join("databases/main.sqlite"));
    database.execute(begun, rusqlite::params![blobs::digest_of(&content).as_bytes(), now]).unwrap();
    database.close().unwrap();
    let server = farm.start();
    let client = server.client(&farm.token());
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while !client.put("again.bin", content.clone()).await.unwrap().status.is_success() {
        assert!(std::time::Instant::now() < deadline, "uploads of these bytes are still refused");
        // sleep: polled, since the server recovers by itself without a notification
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    assert!(client.get("again.bin").await.unwrap().body == content);
    farm.check_blobs();
}

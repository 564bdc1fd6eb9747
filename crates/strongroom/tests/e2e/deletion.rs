//! Copies that several processes and databases have a say in: none is deleted that a reference leads to.

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
    // Each process gives up old copies while the others bring them back.
    std::thread::scope(|scope| {
        for target in ["second", "files", "database"] {
            let farm = &farm;
            scope.spawn(move || {
                for _ in 0..4 {
                    farm.json_whatever(&["blobs", "migrate", "--to", target, "--min-size", "0"]);
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
    // The first database lets go of it; the second one does not.
    assert!(client.put("shared.bin", bytes(2, 50_000)).await.unwrap().status.is_success());
    let collected = farm.json(&["blobs", "collect", "--immediate", "--share", "100"]);
    assert_eq!(collected["results"]["deleted_blobs"].as_u64().unwrap_or(0), 0, "{collected:#}");
    assert_eq!(client.send(Method::GET, elsewhere, Vec::new()).await.unwrap().body, shared());
    assert_eq!(farm.json(&["blobs", "status"])["pending_reclaim"], json!([]));
    let again = client.put("again.bin", shared()).await.unwrap();
    assert!(again.status.is_success(), "{}", again.text());
    // Now both let go.
    assert!(client.put("again.bin", bytes(3, 50_000)).await.unwrap().status.is_success());
    assert!(client.send(Method::DELETE, elsewhere, Vec::new()).await.unwrap().status.is_success());
    farm.check_blobs();
    assert!(server.stop().success());
}

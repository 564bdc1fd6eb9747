//! Bringing back a document, a library, a site and a content database into a farm that goes on living.

use database::Engine;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{Client, Farm, Server, bytes};

/// A farm with a site, a library with columns, a document with three versions, and a backup of all that.
struct Rig {
    farm: Farm,
    server: Server,
    client: Client,
    scratch: TempDir,
    engine: Engine,
}

impl Rig {
    async fn new(engine: Engine) -> Self {
        let farm = Farm::on(engine).await;
        let server = farm.start();
        let client = server.client(&farm.token());
        let rig = Self { farm, server, client, scratch: tempfile::tempdir().unwrap(), engine };
        let root = rig.call(Method::GET, "/api/v1/items/by-path?path=", Value::Null).await;
        let path = format!("/api/v1/items/{}/libraries", root["id"].as_str().unwrap());
        rig.call(Method::POST, &path, json!({ "name": "Contracts", "settings": { "versioning": "major" } })).await;
        for round in 0..3 {
            rig.put("Contracts/2026/lease.txt", bytes(round, 30_000)).await;
        }
        rig.put("Contracts/2026/small.txt", b"small".to_vec()).await;
        rig.put("Contracts/large.bin", bytes(7, 5_000_000)).await;
        let backup = rig.backups();
        rig.farm.json(&["backup", &backup]);
        rig
    }

    fn backups(&self) -> String {
        self.scratch.path().join("backups").to_str().unwrap().to_owned()
    }

    async fn call(&self, method: Method, path: &str, body: Value) -> Value {
        let answer = self.client.send_json(method, path, &body).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
        serde_json::from_slice(&answer.body).unwrap_or(Value::Null)
    }

    async fn put(&self, path: &str, body: Vec<u8>) {
        let answer = self.client.send(Method::PUT, &format!("/api/v1/content/{path}"), body).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
    }

    async fn get(&self, path: &str) -> Option<Vec<u8>> {
        let answer = self.client.send(Method::GET, &format!("/api/v1/content/{path}"), Vec::new()).await.unwrap();
        match answer.status {
            StatusCode::OK => Some(answer.body),
            StatusCode::NOT_FOUND => None,
            other => panic!("{path}: {other} {}", answer.text()),
        }
    }

    async fn delete(&self, path: &str) {
        let answer = self.client.send(Method::DELETE, &format!("/api/v1/content/{path}"), Vec::new()).await.unwrap();
        assert!(answer.status.is_success(), "{path}: {} {}", answer.status, answer.text());
    }

    /// Restores a part; of PostgreSQL, with new databases to look into.
    async fn restore(&self, words: &[&str]) -> Value {
        let backups = self.backups();
        let mut all: Vec<String> = ["restore", &backups].iter().chain(words).map(|word| (*word).to_owned()).collect();
        if self.engine == Engine::Postgres {
            for name in ["main", "configuration"] {
                all.push("--database-url".into());
                all.push(format!("{name}={}", database::testing::fresh_postgres().await));
            }
        }
        self.farm.json(&all.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// Numbers of a document's versions, newest first.
    async fn versions(&self, path: &str) -> Vec<String> {
        let item = self.call(Method::GET, &format!("/api/v1/items/by-path?path={path}"), Value::Null).await;
        let id = item["id"].as_str().unwrap();
        let page = self.call(Method::GET, &format!("/api/v1/items/{id}/versions"), Value::Null).await;
        let items = page["items"].as_array().unwrap();
        items.iter().map(|version| version["number"].as_str().unwrap().to_owned()).collect()
    }
}

async fn parts_come_back(engine: Engine) {
    let rig = Rig::new(engine).await;
    rig.delete("Contracts/2026/lease.txt").await;
    rig.put("Contracts/2026/small.txt", b"changed".to_vec()).await;

    let back = rig.restore(&["--document", "Contracts/2026/lease.txt"]).await;
    assert_eq!((&back["created"], &back["versions"]), (&json!(1), &json!(3)), "{back:#}");
    assert!(rig.get("Contracts/2026/lease.txt").await.unwrap() == bytes(2, 30_000));
    assert_eq!(rig.versions("Contracts/2026/lease.txt").await, ["3.0", "2.0", "1.0"]);

    let back = rig.restore(&["--document", "Contracts/2026/small.txt", "--beside"]).await;
    let place = back["path"].as_str().unwrap().to_owned();
    assert!(place.starts_with("Contracts/2026/small (backup of ") && place.ends_with(").txt"), "{place}");
    assert_eq!(rig.get(&place.replace(' ', "%20")).await.unwrap(), b"small");
    assert_eq!(rig.get("Contracts/2026/small.txt").await.unwrap(), b"changed");

    let back = rig.restore(&["--library", "Contracts"]).await;
    assert_eq!((&back["replaced"], &back["unchanged"]), (&json!(1), &json!(2)), "{back:#}");
    assert_eq!(rig.get("Contracts/2026/small.txt").await.unwrap(), b"small");

    let back = rig.restore(&["--library", "Contracts", "--beside"]).await;
    assert_eq!(back["created"], 3, "{back:#}");
    let place = back["path"].as_str().unwrap().replace(' ', "%20");
    assert!(rig.get(&format!("{place}/large.bin")).await.unwrap() == bytes(7, 5_000_000));
    assert_eq!(rig.versions(&format!("{place}/2026/lease.txt")).await, ["3.0", "2.0", "1.0"]);
    let refused = rig.farm.run(&["restore", &rig.backups(), "--document", "Contracts/nothing.txt"]).unwrap_err();
    assert!(refused.said.contains("nothing at") || refused.said.contains("--database-url"), "{}", refused.said);
    rig.farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_and_libraries_come_back_into_a_running_farm_on_sqlite() {
    parts_come_back(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_and_libraries_come_back_into_a_running_farm_on_postgres() {
    parts_come_back(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_database_comes_back_while_no_server_runs_and_its_blobs_are_not_copied_again() {
    let rig = Rig::new(Engine::Sqlite).await;
    rig.put("Contracts/later.bin", bytes(1, 100_000)).await;
    let backups = rig.backups();
    let refused = rig.farm.run(&["restore", &backups, "--content-database", "main"]).unwrap_err();
    assert!(refused.said.contains("a server is running"), "{}", refused.said);
    let Rig { farm, server, scratch: _scratch, .. } = rig;
    assert!(server.stop().success());
    let back = farm.json(&["restore", &backups, "--content-database", "main"]);
    assert_eq!(back["copied_blobs"], 0, "{back:#}");
    farm.check_blobs();
    let server = farm.start();
    let client = server.client(&farm.token());
    let get = |path: &'static str| client.send(Method::GET, path, Vec::new());
    assert_eq!(get("/api/v1/content/Contracts/later.bin").await.unwrap().status, StatusCode::NOT_FOUND);
    assert!(get("/api/v1/content/Contracts/large.bin").await.unwrap().body == bytes(7, 5_000_000));
}

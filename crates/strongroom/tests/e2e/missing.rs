//! Databases that are missing, emptied, or replaced by another database. No new database is created in their place,
//! nothing is deleted meanwhile, and users and administrators are informed.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use database::Engine;
use database::testing::open_file;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::support::{Client, Farm, Random, bytes, keep_no_versions};

const TIMEOUT: Duration = Duration::from_secs(30);

/// A farm with a second content database in its own directory, which holds the site `archive`.
struct Rig {
    farm: Farm,
    scratch: tempfile::TempDir,
    file: PathBuf,
}

impl Rig {
    async fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        let file = scratch.path().join("disk/second.sqlite");
        fs::create_dir(file.parent().unwrap()).unwrap();
        let farm = Farm::on(Engine::Sqlite).await;
        add(&farm, file.to_str().unwrap()).await;
        Self { farm, scratch, file }
    }

    fn backups(&self) -> String {
        self.scratch.path().join("backups").display().to_string()
    }
}

/// Adds the content database `second` with the site `archive` and documents, and a document to the first database.
async fn add(farm: &Farm, location: &str) {
    let server = farm.start();
    farm.json(&["site", "database", "add", "second", "--location", location]);
    farm.json(&["site", "create", "archive", "--database", "second"]);
    farm.json(&["site", "add-library", "archive/Papers"]);
    let client = server.client(&farm.token());
    assert!(client.put("kept.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    for (name, size) in [("small.bin", 1_000), ("old.bin", 100_001)] {
        let path = format!("/api/v1/content/archive/Papers/{name}");
        assert!(client.send(Method::PUT, &path, bytes(2, size)).await.unwrap().status.is_success());
    }
    assert!(server.stop().success());
}

async fn archived(client: &Client) -> (StatusCode, Vec<u8>) {
    let answer = client.send(Method::GET, "/api/v1/content/archive/Papers/old.bin", Vec::new()).await.unwrap();
    (answer.status, answer.body)
}

fn aside(file: &Path) -> PathBuf {
    file.with_extension("aside")
}

/// Checks that all interfaces report the second database as unavailable and that everything else works.
async fn is_told(farm: &Farm, why: &str, places: &Path) {
    let server = farm.start();
    let client = server.client(&farm.token_named("another"));
    let said = server.output();
    assert!(said.contains("second"), "{said}");
    assert!(said.contains("not open"), "{said}");
    let ready = client.send(Method::GET, "/readyz", Vec::new()).await.unwrap();
    assert_eq!(ready.status, StatusCode::OK);
    assert!(ready.text().contains("\"second\""), "{}", ready.text());
    assert!(ready.text().contains(why), "{}", ready.text());
    assert!(client.get("kept.bin").await.unwrap().body == bytes(1, 100_000));
    assert!(client.put("more.bin", bytes(3, 50_000)).await.unwrap().status.is_success());
    for (method, path) in [
        (Method::GET, "/api/v1/content/archive/Papers/old.bin"),
        (Method::GET, "/api/v1/content/archive/Papers/never.bin"),
        (Method::PUT, "/api/v1/content/archive/Papers/new.bin"),
        (Method::GET, "/api/v1/items/by-path?path=archive"),
        (Method::GET, "/api/v1/items/12345"),
        (Method::GET, "/dav/archive/Papers/old.bin"),
    ] {
        let answer = client.send(method.clone(), path, Vec::new()).await.unwrap();
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE, "{method} {path}: {}", answer.text());
        assert!(answer.text().contains(why), "{method} {path}: {}", answer.text());
        assert!(!answer.text().contains(places.to_str().unwrap()), "{method} {path}: {}", answer.text());
    }
    let sites = client.send(Method::GET, "/api/v1/site-collections", Vec::new()).await.unwrap();
    assert!(sites.status.is_success(), "{}", sites.text());
    assert!(sites.text().contains("archive"), "{}", sites.text());
    let health = client.send(Method::GET, "/api/v1/farm/health", Vec::new()).await.unwrap().text();
    assert!(health.contains("database-away"), "{health}");
    assert!(health.contains("second"), "{health}");
    let status = client.send(Method::GET, "/api/v1/farm/status", Vec::new()).await.unwrap().text();
    assert!(status.contains("second"), "{status}");
    assert!(status.contains("trouble"), "{status}");
    for words in [
        &["blobs", "check"][..],
        &["blobs", "status"],
        &["blobs", "health"],
        &["blobs", "collect", "--immediate", "--share", "100"],
        &["blobs", "collect", "--dry-run"],
    ] {
        let refusal = farm.run(words).unwrap_err();
        // A check reports lost changes as a fault. If the database is merely unavailable, the check is incomplete.
        let is_away = words == ["blobs", "check"] && !refusal.output.contains("lacks");
        let status = if is_away { 3 } else { 1 };
        assert_eq!(refusal.status.code(), Some(status), "{words:?}: {}", refusal.output);
        assert!(refusal.output.contains("second"), "{words:?}: {}", refusal.output);
    }
    assert!(farm.run(&["site", "list"]).unwrap().contains("archive"));
    let listed = farm.json(&["site", "database", "list"]);
    let second = listed.as_array().unwrap().iter().find(|row| row["name"] == "second").unwrap();
    let trouble = second["trouble"].as_str().unwrap();
    assert!(farm.run(&["site", "database", "list"]).unwrap().contains(trouble), "{listed:#}");
    assert!(client.get("kept.bin").await.unwrap().body == bytes(1, 100_000));
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_database_that_is_missing_is_named_and_comes_back_by_itself() {
    let rig = Rig::new().await;
    fs::rename(&rig.file, aside(&rig.file)).unwrap();
    is_told(&rig.farm, "it is missing", rig.scratch.path()).await;
    assert!(!rig.file.exists(), "it was made anew");

    let server = rig.farm.start();
    let client = server.client(&rig.farm.token());
    assert_eq!(archived(&client).await.0, StatusCode::SERVICE_UNAVAILABLE);
    fs::rename(aside(&rig.file), &rig.file).unwrap();
    let deadline = Instant::now() + TIMEOUT;
    while archived(&client).await != (StatusCode::OK, bytes(2, 100_001)) {
        assert!(Instant::now() < deadline, "it is there again, and is not used");
        // sleep: polled, since the server finds the database again by itself without a notification
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    rig.farm.json(&["blobs", "collect"]);
    rig.farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_database_that_was_emptied_or_is_anothers_is_named_left_alone_and_restored() {
    let rig = Rig::new().await;
    rig.farm.json(&["backup", &rig.backups()]);
    fs::rename(&rig.file, aside(&rig.file)).unwrap();
    fs::write(&rig.file, b"").unwrap();
    is_told(&rig.farm, "it is empty", rig.scratch.path()).await;
    assert_eq!(fs::metadata(&rig.file).unwrap().len(), 0);

    // Retention must not remove the only complete set.
    let refusal = rig.farm.run(&["backup", &rig.backups(), "--retain", "last=1"]).unwrap_err();
    assert!(refusal.output.contains("second"), "{}", refusal.output);
    let sets = rig.farm.json(&["backup", "list", &rig.backups()]);
    assert_eq!(sets.to_string().matches("\"second\"").count(), 1, "{sets:#}");

    // Two foreign databases: the first one of the same farm, and one from an older version that wrote no identity.
    let other = Farm::on(Engine::Sqlite).await;
    assert!(other.start().stop().success());
    let old = other.data.join("databases/main.sqlite");
    open_file(&old).execute("DELETE FROM identity", []).unwrap();
    for foreign in [rig.farm.data.join("databases/main.sqlite"), old] {
        fs::copy(&foreign, &rig.file).unwrap();
        let before = fs::read(&rig.file).unwrap();
        is_told(&rig.farm, "it was replaced by another database", rig.scratch.path()).await;
        assert!(fs::read(&rig.file).unwrap() == before, "{} was changed", foreign.display());
    }

    rig.farm.json(&["restore", &rig.backups(), "--content-database", "second"]);
    let server = rig.farm.start();
    assert_eq!(archived(&server.client(&rig.farm.token())).await, (StatusCode::OK, bytes(2, 100_001)));
    rig.farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_a_version_that_wrote_no_identity_is_adopted() {
    let rig = Rig::new().await;
    let main = rig.farm.data.join("databases/main.sqlite");
    for file in [&main, &rig.file] {
        open_file(file).execute("DELETE FROM identity", []).unwrap();
    }
    let server = rig.farm.start();
    assert_eq!(archived(&server.client(&rig.farm.token())).await, (StatusCode::OK, bytes(2, 100_001)));
    assert!(server.stop().success());
    for file in [&main, &rig.file] {
        let count = |row: &rusqlite::Row<'_>| row.get::<_, i64>(0);
        let found = open_file(file).query_row("SELECT count(*) FROM identity", [], count).unwrap();
        assert_eq!(found, 1, "{}", file.display());
    }
    let refusal =
        rig.farm.run(&["site", "database", "add", "third", "--location", "databases/../databases/main.sqlite"]);
    let said = refusal.unwrap_err().output;
    assert!(said.contains("already"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_postgres_database_that_is_empty_or_anothers_is_named() {
    let farm = Farm::on(Engine::Sqlite).await;
    let address = database::testing::fresh_postgres().await;
    add(&farm, &address).await;
    let move_to = |location: &str| {
        let configuration = open_file(&farm.data.join("configuration.sqlite"));
        configuration.execute("UPDATE content_database SET location = ?1 WHERE name = 'second'", [location]).unwrap();
    };
    let other = Farm::with_content(&database::testing::fresh_postgres().await);
    assert!(other.start().stop().success());
    let theirs: String = open_file(&other.data.join("configuration.sqlite"))
        .query_row("SELECT location FROM content_database", [], |row| row.get(0))
        .unwrap();
    for (location, why) in
        [(database::testing::fresh_postgres().await, "it is empty"), (theirs, "it was replaced by another database")]
    {
        move_to(&location);
        is_told(&farm, why, Path::new("postgres://")).await;
    }
    move_to(&address);
    let server = farm.start();
    assert_eq!(archived(&server.client(&farm.token())).await, (StatusCode::OK, bytes(2, 100_001)));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_second_farm_is_made_over_what_is_left_of_the_first() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    assert!(server.client(&token).put("kept.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    let file = farm.data.join("configuration.sqlite");
    fs::rename(&file, aside(&file)).unwrap();
    for emptied in [false, true] {
        if emptied {
            fs::write(&file, b"").unwrap();
        }
        let refusal = farm.try_start().err().expect("a farm was made over another one");
        assert!(refusal.output.contains("configuration.sqlite"), "{}", refusal.output);
        assert!(refusal.output.contains("main.sqlite"), "{}", refusal.output);
        let refusal = farm.run(&["blobs", "check"]).unwrap_err();
        assert!(refusal.output.contains("missing or empty"), "{}", refusal.output);
        assert_eq!(fs::metadata(&file).map(|data| data.len()).ok(), emptied.then_some(0), "it was made anew");
    }
    fs::rename(aside(&file), &file).unwrap();
    let server = farm.start();
    assert!(server.client(&token).get("kept.bin").await.unwrap().body == bytes(1, 100_000));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_serves_an_existing_farm_never_makes_one() {
    let scratch = tempfile::tempdir().unwrap();
    for data in [scratch.path().join("unmounted"), scratch.path().join("nothing")] {
        if data.ends_with("unmounted") {
            fs::create_dir(&data).unwrap();
        }
        let there = data.exists();
        let refusal = Farm::at(&data).run(&["serve", "--existing", "--listen", "127.0.0.1:0"]).unwrap_err();
        assert!(refusal.output.contains("mounted"), "{}", refusal.output);
        assert_eq!(data.exists(), there);
        assert!(!there || fs::read_dir(&data).unwrap().next().is_none(), "something was made");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_set_lacks_is_named_and_not_restored_in_silence() {
    let rig = Rig::new().await;
    // The state left by a version that created a missing database again.
    open_file(&rig.file).execute_batch("PRAGMA foreign_keys = off; DELETE FROM collection").unwrap();
    rig.farm.json(&["backup", &rig.backups()]);
    let copy = Farm::at(rig.scratch.path().join("copy"));
    let refusal = copy.run(&["restore", &rig.backups()]).unwrap_err();
    assert_eq!(refusal.status.code(), Some(2), "{}", refusal.output);
    assert!(refusal.output.contains("\"/archive\""), "{}", refusal.output);
    let refusal = copy.run(&["restore", &rig.backups(), "--accept-missing"]).unwrap_err();
    assert_eq!(refusal.status.code(), Some(1), "{}", refusal.output);
    assert!(refusal.output.contains("\"/archive\""), "{}", refusal.output);
    let refusal = rig.farm.run(&["restore", &rig.backups(), "--content-database", "second"]).unwrap_err();
    assert!(refusal.output.contains("\"/archive\""), "{}", refusal.output);
    let configuration = open_file(&rig.farm.data.join("configuration.sqlite"));
    let known = "SELECT count(*) FROM site_collection WHERE path = 'archive'";
    assert_eq!(configuration.query_row(known, [], |row| row.get::<_, i64>(0)).unwrap(), 1, "it was forgotten");
}

/// A running collection takes account of a database that is added before it ends.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_database_that_was_added_during_a_collection_needs_is_kept() {
    const DOCUMENTS: u64 = 700;
    const SIZE: usize = 2_000;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--minimum-size", "0"]);
    keep_no_versions(&client).await;
    for document in 0..DOCUMENTS {
        assert!(client.put(&format!("{document}.bin"), bytes(document, SIZE)).await.unwrap().status.is_success());
    }
    for document in 0..DOCUMENTS {
        let answer = client.put(&format!("{document}.bin"), b"replaced".to_vec()).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
    }
    // At this rate the collection pauses for eight seconds between two pages of 256 BLOBs.
    let rate = (256 * SIZE / 8).to_string();
    let words = ["blobs", "collect", "--immediate", "--share", "100", "--rate", &rate, "--background"];
    let job = farm.json(&words)["id"].as_str().unwrap().to_owned();
    let job = || farm.json(&["jobs", "show", &job]);
    let deleted = |job: &Value| job["results"]["deleted_blobs"].as_u64().unwrap_or(0);
    let deadline = Instant::now() + 3 * TIMEOUT;
    while deleted(&job()) == 0 {
        assert!(Instant::now() < deadline, "{:#}", job());
    }
    farm.json(&["site", "database", "add", "second"]);
    farm.json(&["blobs", "policy", "set", "--database", "second", "--minimum-size", "0"]);
    farm.json(&["site", "create", "archive", "--database", "second"]);
    farm.json(&["site", "add-library", "archive/Papers"]);
    let path = |document: u64| format!("/api/v1/content/archive/Papers/{document}.bin");
    assert!(deleted(&job()) < DOCUMENTS, "the collection ended before the database was added");
    let kept = DOCUMENTS - 100..DOCUMENTS;
    for document in kept.clone() {
        let answer = client.send(Method::PUT, &path(document), bytes(document, SIZE)).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
    }
    while job()["finished_at"].is_null() {
        assert!(Instant::now() < deadline, "{:#}", job());
    }
    for document in kept {
        let answer = client.send(Method::GET, &path(document), Vec::new()).await.unwrap();
        assert!(answer.body == bytes(document, SIZE), "{document}: {} {}", answer.status, answer.text());
    }
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_content_database_delivers_nothing_wrong_hides_nothing_and_is_named() {
    const DOCUMENTS: u64 = 60;
    const PAGE: usize = 4096;
    let rig = Rig::new().await;
    let server = rig.farm.start();
    let token = rig.farm.token();
    let client = server.client(&token);
    let path = |document: u64| format!("/api/v1/content/archive/Papers/{document}.bin");
    let content = |document: u64| bytes(document, 500 + document as usize * 700 % 9_000);
    for document in 0..DOCUMENTS {
        let answer = client.send(Method::PUT, &path(document), content(document)).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
    }
    rig.farm.json(&["backup", &rig.backups()]);
    assert!(server.stop().success());
    let whole = fs::read(&rig.file).unwrap();
    let mut random = Random::fresh();
    let mut met = 0;
    for round in 0..6 {
        let mut damaged = whole.clone();
        for _ in 0..8 {
            let page = random.below((whole.len() / PAGE) as u64) as usize * PAGE;
            match round % 2 {
                0 => damaged[page + random.below(PAGE as u64) as usize] ^= 1 << random.below(8),
                _ => damaged[page..page + PAGE].fill(0),
            }
        }
        if round == 5 {
            damaged = whole[..whole.len() / 2 + PAGE / 2].to_vec();
        }
        fs::write(&rig.file, &damaged).unwrap();
        let server = rig.farm.start();
        let client = server.client(&token);
        let mut refused = 0;
        for document in 0..DOCUMENTS {
            // A response that breaks off does not count.
            let Ok(answer) = client.send(Method::GET, &path(document), Vec::new()).await else { continue };
            match answer.status {
                StatusCode::OK => assert!(answer.body == content(document), "round {round}: wrong bytes of {document}"),
                status => {
                    assert!(status.is_server_error(), "round {round}: {document}: {status} {}", answer.text());
                    refused += 1;
                }
            }
        }
        assert!(client.get("kept.bin").await.unwrap().body == bytes(1, 100_000));
        if refused > 0 {
            met += 1;
            let ready = client.send(Method::GET, "/readyz", Vec::new()).await.unwrap().text();
            assert!(ready.contains("\"second\""), "round {round}: {ready}");
            let health = client.send(Method::GET, "/api/v1/farm/health", Vec::new()).await.unwrap().text();
            assert!(health.contains("second"), "round {round}: {health}");
            assert!(health.contains("\"database-"), "round {round}: {health}");
            let refusal = rig.farm.run(&["blobs", "check"]).unwrap_err();
            assert_eq!(refusal.status.code(), Some(1), "round {round}: {}", refusal.output);
            assert!(refusal.output.contains("second"), "round {round}: {}", refusal.output);
        }
        assert!(server.stop().success());
    }
    assert!(met > 2, "the damage was met in {met} rounds only");
    rig.farm.json(&["restore", &rig.backups(), "--content-database", "second"]);
    let server = rig.farm.start();
    let client = server.client(&token);
    for document in 0..DOCUMENTS {
        assert!(client.send(Method::GET, &path(document), Vec::new()).await.unwrap().body == content(document));
    }
    rig.farm.check_blobs();
}

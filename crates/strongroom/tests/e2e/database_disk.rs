//! Content databases that the disk returns damaged or not at all. The server detects this by itself, users and
//! administrators are informed of the cause and the remedy, and the other databases are still checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use database::Engine;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Client, Farm, Injector, bytes, damage};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A farm with a second content database in its own directory, with documents in it.
async fn farm_with_second(scratch: &Path) -> (Farm, PathBuf) {
    let folder = scratch.join("disk");
    fs::create_dir(&folder).unwrap();
    let file = folder.join("second.sqlite");
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    farm.json(&["site", "database", "add", "second", "--location", file.to_str().unwrap()]);
    farm.json(&["site", "create", "archive", "--database", "second"]);
    farm.json(&["site", "add-library", "archive/Papers"]);
    let client = server.client(&farm.token());
    assert!(client.put("kept.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    for number in 0..20 {
        let path = format!("/api/v1/content/archive/Papers/{number}.bin");
        assert!(client.send(Method::PUT, &path, small(number)).await.unwrap().status.is_success());
    }
    assert!(server.stop().success());
    (farm, file)
}

/// Content small enough to stay in the database.
fn small(number: u64) -> Vec<u8> {
    bytes(number, 1_500)
}

async fn read(client: &Client, path: &str) -> Value {
    let answer = client.send(Method::GET, path, Vec::new()).await.unwrap();
    assert!(answer.status.is_success(), "{path}: {}", answer.text());
    answer.json()
}

/// Repeats a request until `found` accepts the response.
async fn wait_for(client: &Client, path: &str, found: impl Fn(&str) -> bool) -> String {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let text = client.send(Method::GET, path, Vec::new()).await.unwrap().text();
        if found(&text) {
            return text;
        }
        assert!(Instant::now() < deadline, "{path} goes on saying {text}");
        // sleep: polled, since the server finds the damage in the background without a notification
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_finds_a_damaged_database_by_itself() {
    let scratch = tempfile::tempdir().unwrap();
    let (farm, file) = farm_with_second(scratch.path()).await;
    damage(file.parent().unwrap(), &small(7));
    let server = farm.start();
    let client = server.client(&farm.token_named("another"));
    let ready = wait_for(&client, "/readyz", |text| text.contains("damaged")).await;
    assert!(ready.contains("\"second\""), "{ready}");
    assert!(client.get("kept.bin").await.unwrap().body == bytes(1, 100_000));
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_names_the_database_that_its_disk_does_not_give_and_goes_on() {
    let scratch = tempfile::tempdir().unwrap();
    let (farm, file) = farm_with_second(scratch.path()).await;
    let server = farm.start();
    let client = server.client(&farm.token_named("another"));
    let log = scratch.path().join("strace");
    let injector = Injector::attach(&server, "pread64", "EIO", "1+", std::slice::from_ref(&file), &log);
    let job = client.send_json(Method::POST, "/api/v1/farm/jobs", &json!({ "kind": "check" })).await.unwrap();
    assert!(job.status.is_success(), "{}", job.text());
    let id = job.json()["id"].as_str().unwrap().to_owned();
    let path = format!("/api/v1/farm/jobs/{id}");
    let ended = wait_for(&client, &path, |text| text.contains("\"finished_at\":\"")).await;
    assert!(ended.contains("1 database could not be checked"), "{ended}");
    assert!(ended.contains("\"incomplete\""), "{ended}");
    let errors = read(&client, &format!("{path}/errors")).await.to_string();
    assert!(errors.contains("database second"), "{errors}");
    assert!(errors.contains("disk"), "{errors}");
    let ready = client.send(Method::GET, "/readyz", Vec::new()).await.unwrap().text();
    assert!(ready.contains("\"second\": a part of it cannot be read from its disk"), "{ready}");
    let health = read(&client, "/api/v1/farm/health").await.to_string();
    assert!(health.contains("database-damaged"), "{health}");
    assert!(health.contains("Check the disk"), "{health}");
    assert!(client.get("kept.bin").await.unwrap().body == bytes(1, 100_000));
    // Nothing is collected while a database cannot be read.
    let collect = client.send_json(Method::POST, "/api/v1/farm/jobs", &json!({ "kind": "collect" })).await.unwrap();
    let path = format!("/api/v1/farm/jobs/{}", collect.json()["id"].as_str().unwrap());
    let refused = wait_for(&client, &path, |text| text.contains("\"second\\\"")).await;
    assert!(!refused.contains("\"state\":\"finished\""), "{refused}");
    assert!(!injector.detach().is_empty());
    assert!(server.stop().success());
}

/// Python script that rewrites a database without checksums, as older versions did, and makes it so large that no
/// server start adds them.
const WITHOUT_CHECKSUMS: &str = "
import os, sqlite3, sys
path = sys.argv[1]
old, new = sqlite3.connect(path), sqlite3.connect(path + '.new')
new.executescript(''.join(old.iterdump()))
for name in ('application_id', 'user_version'):
    new.execute(f'PRAGMA {name} = ' + str(old.execute(f'PRAGMA {name}').fetchone()[0]))
new.execute('CREATE TABLE filler (x BLOB)')
new.execute('INSERT INTO filler VALUES (zeroblob(270000000))')
new.commit(); new.close(); old.close()
os.rename(path + '.new', path)
for end in ('-wal', '-shm', '-commits'):
    if os.path.exists(path + end): os.remove(path + end)
";

#[tokio::test(flavor = "multi_thread")]
async fn a_database_without_checksums_is_named_until_it_is_written_anew() {
    let scratch = tempfile::tempdir().unwrap();
    let (farm, file) = farm_with_second(scratch.path()).await;
    let made = Command::new("python3").args(["-c", WITHOUT_CHECKSUMS]).arg(&file).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let health = farm.json_any_status(&["blobs", "health"]).to_string();
    assert!(health.contains("database-without-checksums"), "{health}");
    assert!(health.contains("site database compact second"), "{health}");
    farm.json(&["site", "database", "compact", "second"]);
    let health = farm.json_any_status(&["blobs", "health"]).to_string();
    assert!(!health.contains("database-without-checksums"), "{health}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_gone_comes_back_from_a_backup() {
    let scratch = tempfile::tempdir().unwrap();
    let (farm, file) = farm_with_second(scratch.path()).await;
    let backups = scratch.path().join("backups").display().to_string();
    farm.json(&["backup", &backups]);
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
    farm.json(&["restore", &backups, "--content-database", "second"]);
    farm.check_blobs();
    let server = farm.start();
    let client = server.client(&farm.token_named("another"));
    let back = client.send(Method::GET, "/api/v1/content/archive/Papers/7.bin", Vec::new()).await.unwrap();
    assert!(back.status.is_success(), "{}", back.status);
    assert!(back.body == small(7), "{}", back.status);
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_copy_in_place_of_a_database_is_known_and_everything_else_goes_on() {
    let scratch = tempfile::tempdir().unwrap();
    let (farm, file) = farm_with_second(scratch.path()).await;
    let older = fs::read(&file).unwrap();
    let server = farm.start();
    let client = server.client(&farm.token_named("another"));
    let later = "/api/v1/content/archive/Papers/later.bin";
    assert!(client.send(Method::PUT, later, small(99)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    let newer = fs::read(&file).unwrap();
    fs::write(&file, &older).unwrap();
    let server = farm.start();
    let client = server.client(&farm.token_named("third"));
    let ready = client.send(Method::GET, "/readyz", Vec::new()).await.unwrap().text();
    assert!(ready.contains("\"second\""), "{ready}");
    assert!(ready.contains("lacks acknowledged changes"), "{ready}");
    assert_eq!(client.send(Method::GET, later, Vec::new()).await.unwrap().status.as_u16(), 503);
    assert!(client.get("kept.bin").await.unwrap().body == bytes(1, 100_000));
    assert!(server.stop().success());
    assert!(fs::read(&file).unwrap() == older, "what lacks changes is left as it is");
    fs::write(&file, newer).unwrap();
    let server = farm.start();
    let client = server.client(&farm.token_named("fourth"));
    assert!(client.send(Method::GET, later, Vec::new()).await.unwrap().body == small(99));
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_configuration_database_is_named_by_the_server_and_by_a_check() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    // In a row that only a complete check reads.
    let name = "a token whose name is long enough to be found in the file it lies in, again and again";
    farm.token_named(name);
    assert!(server.stop().success());
    let file = farm.data.join("configuration.sqlite");
    let whole = fs::read(&file).unwrap();
    let place = whole.windows(name.len()).position(|window| window == name.as_bytes()).unwrap();
    for (at, what) in [(20, "the header"), (place, "a row")] {
        let mut damaged = whole.clone();
        damaged[at] ^= 8;
        fs::write(&file, &damaged).unwrap();
        match farm.try_start() {
            Err(refusal) => assert!(refusal.output.contains("damaged"), "{what}: {}", refusal.output),
            Ok(server) => {
                let client = server.client("none");
                let ready = wait_for(&client, "/readyz", |text| text.contains("damaged")).await;
                assert!(ready.contains("the configuration database"), "{what}: {ready}");
                assert!(server.stop().success());
            }
        }
        let refused = farm.run(&["blobs", "check"]).unwrap_err();
        assert!(refused.output.contains("damaged"), "{what}: {}", refused.output);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_blob_that_is_damaged_deep_inside_is_copied_again_by_a_restoration() {
    let scratch = tempfile::tempdir().unwrap();
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let (large, other) = (bytes(5, 3_000_000), bytes(6, 2_000_000));
    for (name, content) in [("large.bin", &large), ("other.bin", &other)] {
        assert!(client.put(name, content.clone()).await.unwrap().status.is_success());
    }
    let backups = scratch.path().join("backups").display().to_string();
    farm.json(&["backup", &backups]);
    assert!(server.stop().success());
    damage(&farm.data.join("blobs"), &large);
    let back = farm.json(&["restore", &backups, "--force"]);
    assert_eq!(back["copied_blobs"], 1, "{back:#}");
    farm.check_blobs();
    let server = farm.start();
    let client = server.client(&farm.token_named("another"));
    assert!(client.get("large.bin").await.unwrap().body == large);
    assert!(client.get("other.bin").await.unwrap().body == other);
    assert!(server.stop().success());
}

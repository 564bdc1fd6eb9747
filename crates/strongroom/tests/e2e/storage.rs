//! Migration and collection of BLOBs during use, with crashes in between. Nothing acknowledged is lost, no reader
//! notices, and unreferenced BLOBs are deleted.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use database::Engine;
use reqwest::StatusCode;
use serde_json::Value;

use crate::support::{Farm, Ledger, Random, bytes, damage, keep_no_versions};

/// Document sizes: inline, in segments, and in separate files.
const SIZES: &[usize] = &[300, 20_000, 150_000, 3_000_000];
/// Timeout without progress on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// A command that runs in parallel with the test. It is killed when dropped.
struct Running(Child);

impl Running {
    fn start(farm: &Farm, words: &[&str]) -> Self {
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_strongroom")]).args(words);
        command.arg("--data").arg(&farm.data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Number of BLOBs by store name.
type Counts = Vec<(String, u64)>;

/// References and BLOBs by store, as counted by `blobs status`.
fn counts(farm: &Farm) -> (Counts, Counts) {
    let status = farm.json(&["blobs", "status"]);
    let count = |list: &Value, name: &str| -> Counts {
        let entries = list.as_array().unwrap().iter();
        entries.map(|entry| (entry[name].as_str().unwrap().to_owned(), entry["blobs"].as_u64().unwrap())).collect()
    };
    (count(&status["databases"][0]["references"], "store"), count(&status["stores"], "name"))
}

fn count_of(counts: &[(String, u64)], name: &str) -> u64 {
    counts.iter().find(|(store, _)| store == name).map_or(0, |(_, count)| *count)
}

/// Waits until no job is running or waiting. Panics if a job failed or none makes progress.
fn wait_for_jobs(farm: &Farm) {
    let (mut deadline, mut before) = (Instant::now() + TIMEOUT, Value::Null);
    loop {
        let mut jobs = farm.json(&["jobs", "list"]);
        for job in jobs.as_array_mut().unwrap() {
            job["seconds"].take();
        }
        if jobs != before {
            (deadline, before) = (Instant::now() + TIMEOUT, jobs.clone());
        }
        let states: Vec<&str> = jobs.as_array().unwrap().iter().filter_map(|job| job["state"].as_str()).collect();
        assert!(!states.contains(&"failed"), "{jobs:#}");
        if !states.iter().any(|state| matches!(*state, "waiting" | "running")) {
            return;
        }
        assert!(Instant::now() < deadline, "jobs do not end: {jobs:#}");
        // sleep: polled, since a job ends without a notification
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Asserts that uploads were refused only because a copy of the same bytes was just being deleted, in which case the
/// client is asked to retry.
fn require_only_retries(ledger: &Ledger) {
    let refused = ledger.refused();
    let other: Vec<&String> = refused.iter().filter(|refusal| !refusal.contains("blob_being_deleted")).collect();
    assert!(other.is_empty(), "the server refused what it must take: {other:#?}");
}

async fn migrate_with_crashes(engine: Engine) {
    let mut random = Random::fresh();
    let farm = Farm::on(engine).await;
    let ledger = Ledger::new(4, 8, SIZES);
    let mut server = farm.start();
    let token = farm.token();
    farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    let stop = Arc::new(AtomicBool::new(false));
    let mut load = ledger.load(&server.client(&token), &mut random, &stop);
    ledger.wait_for(60).await;
    for (round, target) in ["database", "second", "files", "database", "files"].iter().cycle().take(10).enumerate() {
        let words = ["blobs", "migrate", "--database", "main", "--to", target];
        match round % 3 {
            // A server may still be moving BLOBs in the other direction, so single BLOBs may stay in their store.
            0 => drop(farm.json_any_status(&words)),
            1 => {
                let running = Running::start(&farm, &words);
                ledger.wait_for(random.below(20)).await;
                drop(running);
            }
            _ => {
                farm.json(&[&words[..], &["--background"]].concat());
                ledger.wait_for(random.below(20)).await;
                server.kill();
                load.join_all().await;
                server = farm.start();
                ledger.verify(&server.client(&token), true).await;
                load = ledger.load(&server.client(&token), &mut random, &stop);
            }
        }
        ledger.wait_for(5).await;
    }
    stop.store(true, Ordering::Relaxed);
    load.join_all().await;
    require_only_retries(&ledger);
    wait_for_jobs(&farm);
    ledger.verify(&server.client(&token), false).await;
    farm.json(&["blobs", "migrate", "--to", "second", "--min-size", "0"]);
    ledger.verify(&server.client(&token), false).await;
    // Copies that a crash left unreferenced are orphans. They are recent and stay for now.
    let (references, _) = counts(&farm);
    assert_eq!(references.iter().map(|(store, _)| store.as_str()).collect::<Vec<_>>(), ["second"]);
    farm.check_blobs();
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_beside_uploads_and_crashes_loses_nothing_on_sqlite() {
    migrate_with_crashes(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn moving_beside_uploads_and_crashes_loses_nothing_on_postgres() {
    migrate_with_crashes(Engine::Postgres).await;
}

async fn collect_with_crashes(engine: Engine) {
    let mut random = Random::fresh();
    let farm = Farm::on(engine).await;
    let ledger = Ledger::new(4, 6, SIZES);
    let mut server = farm.start();
    let token = farm.token();
    keep_no_versions(&server.client(&token)).await;
    let stop = Arc::new(AtomicBool::new(false));
    let mut load = ledger.load(&server.client(&token), &mut random, &stop);
    ledger.wait_for(40).await;
    let words = ["blobs", "collect", "--immediate", "--share", "100"];
    for round in 0..12 {
        match round % 3 {
            0 => drop(farm.json(&words)),
            1 => {
                let running = Running::start(&farm, &words);
                ledger.wait_for(random.below(10)).await;
                drop(running);
            }
            _ => {
                farm.json(&[&words[..], &["--background"]].concat());
                ledger.wait_for(random.below(10)).await;
                server.kill();
                load.join_all().await;
                server = farm.start();
                ledger.verify(&server.client(&token), true).await;
                load = ledger.load(&server.client(&token), &mut random, &stop);
            }
        }
        ledger.wait_for(10).await;
    }
    stop.store(true, Ordering::Relaxed);
    load.join_all().await;
    require_only_retries(&ledger);
    wait_for_jobs(&farm);
    ledger.verify(&server.client(&token), false).await;
    farm.json(&words);
    farm.check_blobs();
    let jobs = farm.json(&["jobs", "list"]);
    let deleted: u64 = jobs.as_array().unwrap().iter().filter_map(|job| job["results"]["deleted_blobs"].as_u64()).sum();
    assert!(deleted > 0, "what was replaced is dead, and goes: {jobs:#}");
    let (references, stores) = counts(&farm);
    // Contents of refused or interrupted uploads are orphans. They are recent and stay for now.
    assert!(count_of(&references, "files") <= count_of(&stores, "files"), "{references:?} {stores:?}");
    assert_eq!(count_of(&references, "database"), count_of(&stores, "database"), "{references:?} {stores:?}");
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn collecting_beside_uploads_of_the_same_bytes_loses_nothing_on_sqlite() {
    collect_with_crashes(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn collecting_beside_uploads_of_the_same_bytes_loses_nothing_on_postgres() {
    collect_with_crashes(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_dead_goes_after_its_window_and_not_before() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    keep_no_versions(&client).await;
    for seed in 0..40 {
        assert!(client.put(&format!("{seed}.bin"), bytes(seed, 50_000)).await.unwrap().status.is_success());
    }
    for seed in 0..10 {
        assert!(client.put(&format!("{seed}.bin"), bytes(1000 + seed, 50_000)).await.unwrap().status.is_success());
    }
    let dry = farm.json(&["blobs", "collect", "--immediate", "--dry-run"]);
    assert_eq!(
        (&dry["results"]["would_mark_blobs"], &dry["results"]["would_delete_blobs"]),
        (&10.into(), &10.into()),
        "{dry:#}"
    );
    assert_eq!(count_of(&counts(&farm).1, "files"), 50, "a dry run deletes nothing");
    let kept = farm.json(&["blobs", "collect"]);
    assert_eq!(kept["results"]["marked_blobs"], 10);
    let status = farm.json(&["blobs", "status"]);
    assert_eq!(status["pending_reclaim"][0]["blobs"], 10, "{status:#}");
    assert_eq!(count_of(&counts(&farm).1, "files"), 50, "the window keeps them");
    // Bytes that are needed again before their window has ended are kept.
    assert!(client.put("again.bin", bytes(3, 50_000)).await.unwrap().status.is_success());
    let dry = farm.json(&["blobs", "collect", "--immediate", "--dry-run"]);
    let gone = farm.json(&["blobs", "collect", "--immediate"]);
    assert_eq!(gone["results"]["deleted_blobs"], 9, "{gone:#}");
    assert_eq!(dry["results"]["would_delete_blobs"], 9, "a dry run foretells what is deleted: {dry:#}");
    assert_eq!(count_of(&counts(&farm).1, "files"), 41);
    assert_eq!(client.get("again.bin").await.unwrap().body, bytes(3, 50_000));
    // Documents in a recycle bin still reference their BLOBs.
    assert!(client.delete("20.bin").await.unwrap().status.is_success());
    assert_eq!(farm.json(&["blobs", "collect", "--immediate"])["results"]["deleted_blobs"], Value::Null);
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_that_would_delete_an_unlikely_share_stops() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    keep_no_versions(&client).await;
    for seed in 0..60 {
        client.put(&format!("{seed}.bin"), bytes(seed, 20_000)).await.unwrap();
        client.put(&format!("{seed}.bin"), bytes(1000 + seed, 20_000)).await.unwrap();
    }
    let foretold = farm.run(&["blobs", "collect", "--immediate", "--dry-run"]).unwrap_err();
    assert!(foretold.output.contains("60 of 120"), "a dry run foretells it: {}", foretold.output);
    let refusal = farm.run(&["blobs", "collect", "--immediate"]).unwrap_err();
    assert!(refusal.output.contains("60 of 120"), "{}", refusal.output);
    assert!(refusal.output.contains("larger share"), "{}", refusal.output);
    assert_eq!(count_of(&counts(&farm).1, "files"), 120);
    farm.json(&["blobs", "collect", "--immediate", "--share", "50"]);
    assert_eq!(count_of(&counts(&farm).1, "files"), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_decide_where_the_next_upload_goes() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    farm.json(&["blobs", "stores", "add", "scans", "--kind", "directory", "--path", "scans"]);
    let set = |words: &[&str]| farm.json(&[&["blobs", "policy", "set"], words].concat());
    let policy = set(&["--library", "Documents", "--active", "scans", "--types", "PDF,tiff", "--minimum-size", "100"]);
    assert_eq!((policy["active_store"].as_str(), policy["types"][0].as_str()), (Some("scans"), Some("pdf")));
    // The counts of references show the store of each upload.
    let put = async |name: &str, seed: u64, size: usize| {
        let before = counts(&farm).0;
        assert!(client.put(name, bytes(seed, size)).await.unwrap().status.is_success());
        let after = counts(&farm).0;
        after.into_iter().find(|(store, count)| count_of(&before, store) < *count).map(|(store, _)| store).unwrap()
    };
    assert_eq!(put("a.pdf", 1, 5_000).await, "scans");
    assert_eq!(put("b.pdf", 2, 50).await, "database");
    assert_eq!(put("c.txt", 3, 2_000_000).await, "database");
    set(&["--library", "Documents", "--types", "all"]);
    assert_eq!(put("d.txt", 4, 5_000).await, "scans");
    set(&["--site", "/", "--active", "files", "--minimum-size", "1"]);
    assert_eq!(put("e.txt", 5, 5_000).await, "scans", "the library's own policy goes first");
    set(&["--library", "Documents", "--reset"]);
    assert_eq!(put("f.txt", 6, 5_000).await, "files");
    set(&["--site", "/", "--reset"]);
    assert_eq!(put("g.txt", 7, 5_000).await, "database", "the content database's policy is what is left");
    for (words, said) in [
        (&["--database", "main", "--active", "nowhere"][..], "there are: database, files, scans"),
        (&["--library", "Nothing", "--active", "files"], "nothing at"),
        (&["--database", "main", "--types", "a/b"], "not a file type"),
        (&["--database", "main", "--tier", "age:0:files"], "1 to 36500 days"),
        (&["--database", "main", "--tier", "age:30:files", "--tier", "age:30:scans"], "two tiers begin after 30 days"),
    ] {
        let refusal = farm.run(&[&["blobs", "policy", "set"], words].concat()).unwrap_err();
        assert!(refusal.output.contains(said), "{words:?}: {}", refusal.output);
    }
    for (name, seed, size) in [("a.pdf", 1, 5_000), ("c.txt", 3, 2_000_000), ("g.txt", 7, 5_000)] {
        assert_eq!(client.get(name).await.unwrap().body, bytes(seed, size));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_is_closed_drained_and_removed_only_when_nothing_needs_it() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    farm.json(&["blobs", "stores", "add", "old", "--kind", "directory", "--path", "old"]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "old"]);
    assert!(client.put("a.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    let refused = |words: &[&str], said: &str| {
        let refusal = farm.run(&[&["blobs", "stores"], words].concat()).unwrap_err();
        assert!(refusal.output.contains(said), "{words:?}: {}", refusal.output);
    };
    refused(&["add", "old", "--kind", "directory", "--path", "other"], "already");
    refused(&["add", "new", "--kind", "directory", "--path", "old"], "already at that location");
    refused(&["add", "new", "--kind", "floppy", "--path", "x"], "kind");
    refused(&["read-only", "old"], "content database \"main\"");
    refused(&["read-only", "database"], "minimum size");
    refused(&["remove", "files"], "belongs to every farm");
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "files"]);
    farm.json(&["blobs", "stores", "read-only", "old"]);
    refused(&["remove", "old"], "drain it first");
    let policy = farm.run(&["blobs", "policy", "set", "--database", "main", "--active", "old"]).unwrap_err();
    assert!(policy.output.contains("activate it first"), "{}", policy.output);
    assert_eq!(client.get("a.bin").await.unwrap().body, bytes(1, 100_000), "what is read-only stays readable");
    let drained = farm.json(&["blobs", "stores", "drain", "old"]);
    assert_eq!((drained["state"].as_str(), drained["items"].as_u64()), (Some("finished"), Some(1)));
    farm.json(&["blobs", "stores", "remove", "old"]);
    assert_eq!(client.get("a.bin").await.unwrap().body, bytes(1, 100_000));
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_away_stops_nothing_else_and_is_not_taken_for_empty() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    farm.json(&["blobs", "stores", "add", "share", "--kind", "directory", "--path", "share"]);
    assert!(client.put("here.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "share"]);
    assert!(client.put("there.bin", bytes(2, 100_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    // Something else is mounted in the place of the store.
    let (place, away) = (farm.data.join("share"), farm.data.join("share.away"));
    std::fs::rename(&place, &away).unwrap();
    std::fs::write(&place, b"not a directory").unwrap();
    let server = farm.start();
    let client = server.client(&token);
    assert_eq!(client.get("here.bin").await.unwrap().body, bytes(1, 100_000));
    assert_eq!(client.get("there.bin").await.unwrap().status, StatusCode::SERVICE_UNAVAILABLE);
    let upload = client.put("new.bin", bytes(3, 100_000)).await.unwrap();
    assert_eq!(upload.status, StatusCode::SERVICE_UNAVAILABLE, "{}", upload.text());
    assert_eq!(client.get("new.bin").await.unwrap().status, StatusCode::NOT_FOUND, "nothing half stored");
    let listed = farm.json(&["blobs", "stores", "list"]);
    assert_eq!(listed[2]["answers"], false, "{listed:#}");
    let health = farm.json_any_status(&["blobs", "health"]);
    let worst = &health["findings"][0];
    assert_eq!((worst["rule"].as_str(), worst["severity"].as_str()), (Some("store-away"), Some("critical")));
    assert_eq!(farm.json(&["blobs", "faults"]), serde_json::json!([]));
    assert!(farm.run(&["blobs", "stores", "remove", "share"]).is_err());
    assert!(farm.run(&["blobs", "migrate", "--from", "share", "--to", "files"]).is_err());
    // No further policy can be pointed at the store, but other settings of its existing policies can still be changed.
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "share", "--minimum-size", "20k"]);
    for words in [&["--active", "share"][..], &["--tier", "age:30:share"]] {
        let refusal = farm.run(&[&["blobs", "policy", "set", "--library", "Documents"], words].concat()).unwrap_err();
        assert!(
            refusal.output.contains("no policy can send BLOBs to the store \"share\" at the moment: "),
            "{}",
            refusal.output
        );
        assert!(refusal.output.contains("share"), "{}", refusal.output);
        assert!(refusal.output.contains("directory"), "{}", refusal.output);
    }
    std::fs::remove_file(&place).unwrap();
    std::fs::rename(&away, &place).unwrap();
    assert!(server.stop().success());
    let server = farm.start();
    assert_eq!(server.client(&token).get("there.bin").await.unwrap().body, bytes(2, 100_000));
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_settings_of_a_store_are_in_its_help_and_refused_in_words() {
    let farm = Farm::on(Engine::Sqlite).await;
    assert!(farm.start().stop().success());
    let add = |setting: &str| {
        let words = ["blobs", "stores", "add", "cloud", "--kind", "s3", "--bucket", "b", "--set", setting];
        farm.run(&words).unwrap_err().output
    };
    let all = add("nonsense=1");
    let names = all.split("there are: ").nth(1).unwrap().trim().split(", ");
    let help = farm.run(&["blobs", "stores", "add", "--help"]).unwrap();
    for name in names {
        assert!(help.contains(&format!("\n  {name} ")), "{name} is not in the help:\n{help}");
    }
    let nothing = farm.run(&["blobs", "stores", "set", "files"]).unwrap_err().output;
    assert!(nothing.contains("nothing to change was given"), "{nothing}");
    assert!(nothing.contains("--set NAME=VALUE"), "{nothing}");
    let sizes = ["blobs", "migrate", "--from", "files", "--to", "database", "--min-size", "2M", "--max-size", "1M"];
    assert!(
        farm.run(&sizes).unwrap_err().output.contains("no BLOB has at least 2,097,152 and at most 1,048,576 bytes")
    );
    assert!(add("compression=zstd").contains("compression is a level of zstd from 1 to 19, not \"zstd\""));
    assert!(add("retention_days=99999999").contains("retention_days is between 1 and 36500, not 99999999"));
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_is_found_kept_on_record_and_resolved() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    let content = [bytes(1, 300_000), bytes(2, 3_000_000), bytes(3, 200_000)];
    for (at, body) in content.iter().enumerate() {
        assert!(client.put(&format!("{at}.bin"), body.clone()).await.unwrap().status.is_success());
    }
    assert!(server.stop().success());
    damage(&farm.data.join("blobs"), &content[0]);
    damage(&farm.data.join("blobs"), &content[1]);
    let server = farm.start();
    let client = server.client(&token);
    let refusal = farm.run(&["blobs", "check", "--json"]).unwrap_err();
    let report: Value = serde_json::from_str(&refusal.output).unwrap();
    assert_eq!(report["faults"].as_array().unwrap().len(), 2, "{report:#}");
    let faults = farm.json_any_status(&["blobs", "faults"]);
    assert_eq!(faults.as_array().unwrap().len(), 2, "a check leaves its findings on record: {faults:#}");
    let health = farm.json_any_status(&["blobs", "health"]);
    assert_eq!(health["findings"][0]["rule"], "blobs-damaged", "{health:#}");
    let digest = faults.as_array().unwrap().iter().find(|fault| fault["documents"][0]["name"] == "1.bin").unwrap();
    let digest = digest["digest"].as_str().unwrap().to_owned();
    let repaired = farm.run(&["blobs", "repair", &digest]).unwrap_err();
    assert!(repaired.output.contains("no other store"), "{}", repaired.output);
    farm.json(&["blobs", "accept-loss", &digest]);
    // Uploading the same bytes again repairs the first document.
    assert!(client.put("copy.bin", content[0].clone()).await.unwrap().status.is_success());
    assert_eq!(client.get("0.bin").await.unwrap().body, content[0]);
    let check = farm.json(&["blobs", "check"]);
    assert_eq!(check["accepted"].as_array().unwrap().len(), 1, "the accepted loss is still a loss: {check:#}");
    let faults = farm.json_any_status(&["blobs", "faults"]);
    assert_eq!(faults.as_array().unwrap().len(), 1, "{faults:#}");
    assert!(faults[0]["accepted_at"].is_string());
    assert_eq!(client.get("2.bin").await.unwrap().body, content[2]);
}

/// Ages all BLOBs of a stopped farm by 400 days, and makes the daily moves due.
fn age(farm: &Farm) {
    let days_ago = |days: i64| model::Timestamp::now().micros() - days * 24 * 3_600 * 1_000_000;
    let content = database::testing::open_file(&farm.data.join("databases/main.sqlite"));
    content.execute("UPDATE blob SET created_at = ?1", [days_ago(400)]).unwrap();
    let configuration = database::testing::open_file(&farm.data.join("configuration.sqlite"));
    let put = "INSERT OR REPLACE INTO setting (name, value) VALUES ('schedule.tiers', ?1)";
    configuration.execute(put, [days_ago(2).to_string()]).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_later_tier_has_taken_no_earlier_one_fetches_back() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    for store in ["warm", "cold", "gone"] {
        farm.json(&["blobs", "stores", "add", store, "--kind", "directory", "--path", store]);
    }
    let tiers = ["--tier", "age:30:warm", "--tier", "age:365:cold"];
    farm.json(&[&["blobs", "policy", "set", "--database", "main"], &tiers[..]].concat());
    assert!(client.put("old.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    // An unresponsive store does not prevent moves between the others.
    std::fs::rename(farm.data.join("gone"), farm.data.join("gone.away")).unwrap();
    let mut known = 0;
    for moved in [1, 0] {
        age(&farm);
        let server = farm.start();
        let client = server.client(&token);
        let deadline = Instant::now() + TIMEOUT;
        let jobs = loop {
            let jobs = farm.json(&["jobs", "list"]);
            let ended = |job: &&Value| job["state"] == "incomplete" || job["state"] == "finished";
            if jobs.as_array().unwrap().iter().filter(ended).count() == known + 2 {
                break jobs;
            }
            assert!(Instant::now() < deadline, "{jobs:#}");
        };
        for job in &jobs.as_array().unwrap()[..2] {
            let (items, failed) = (job["items"].as_u64().unwrap(), job["failed"].as_u64().unwrap());
            assert_eq!((items - failed, failed), (moved, 1), "{jobs:#}");
        }
        known += 2;
        let status = farm.json(&["blobs", "status"]);
        assert_eq!(status["databases"][0]["references"][0]["store"], "cold", "{status:#}");
        assert_eq!(client.get("old.bin").await.unwrap().body, bytes(1, 100_000));
        assert!(server.stop().success());
    }
}

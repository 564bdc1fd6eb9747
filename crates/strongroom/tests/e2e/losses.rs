//! Lost BLOBs, unresponsive stores and unreferenced BLOBs. A check distinguishes them, and an accepted loss blocks no
//! other operation.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use database::Engine;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::backups::Place;
use crate::support::{Client, Farm, bytes, damage, file_with, files_below, recorded};

/// Timeout for a job on a slow and busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);

/// Runs a check. Returns the exit status and the report.
fn check(farm: &Farm, words: &[&str]) -> (i32, Value) {
    let words: Vec<&str> = [&["blobs", "check"], words, &["--json"]].concat();
    let (status, said) = match farm.run(&words) {
        Ok(said) => (0, said),
        Err(refusal) => (refusal.status.code().unwrap_or(-1), refusal.output),
    };
    (status, serde_json::from_str(&said).unwrap_or_else(|error| panic!("no JSON ({error}): {said}")))
}

/// Path of the first document of each fault, sorted.
fn paths(faults: &Value) -> Vec<String> {
    let mut paths: Vec<String> = faults
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["documents"][0]["path"].as_str().unwrap_or_else(|| panic!("{fault:#}")).to_owned())
        .collect();
    paths.sort();
    paths
}

/// Waits until a job has ended.
async fn ended(client: &Client, id: &str) -> Value {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        let job = client.send(Method::GET, &format!("/api/v1/farm/jobs/{id}"), Vec::new()).await.unwrap();
        let job: Value = serde_json::from_slice(&job.body).unwrap();
        if !matches!(job["state"].as_str().unwrap(), "waiting" | "running") {
            return job;
        }
        assert!(Instant::now() < deadline, "the job does not end: {job:#}");
        // sleep: polled, since a job ends without a notification
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn accept(engine: Engine) {
    let place = Place::new();
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    farm.json(&["blobs", "stores", "add", "old", "--kind", "directory", "--path", "old"]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "old"]);
    let documents = [("damaged", bytes(1, 300_000)), ("missing", bytes(2, 3_000_000)), ("kept", bytes(3, 200_000))];
    client.send(Method::PUT, "/api/v1/content/Documents/a/b/kept.bin", documents[2].1.clone()).await.unwrap();
    for (name, content) in &documents[..2] {
        assert!(client.put(&format!("a/{name}.bin"), content.clone()).await.unwrap().status.is_success());
    }
    let backups = place.text("backups");
    farm.json(&["backup", &backups]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "files"]);
    assert!(server.stop().success());
    let store = farm.data.join("old");
    damage(&store, &documents[0].1);
    std::fs::remove_file(file_with(&store, &documents[1].1).0).unwrap();
    let server = farm.start();
    let client = server.client(&token);

    let (status, report) = check(&farm, &[]);
    assert_eq!((status, &report["state"]), (1, &json!("finished")), "{report:#}");
    let lost = vec!["Documents/a/damaged.bin".to_owned(), "Documents/a/missing.bin".to_owned()];
    assert_eq!(paths(&report["faults"]), lost, "{report:#}");
    let listed = farm.run(&["blobs", "faults"]).unwrap_err().output;
    assert!(lost.iter().all(|path| listed.contains(path)), "{listed}");
    let answer = client.send(Method::GET, "/api/v1/farm/faults", Vec::new()).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(paths(&answer["items"]), lost, "{answer:#}");

    // A drain before the losses are accepted leaves the lost BLOBs in their store and reports it.
    let drain = farm.json_any_status(&["blobs", "stores", "drain", "old"]);
    assert_eq!((&drain["state"], &drain["failed"]), (&json!("incomplete"), &json!(2)), "{drain:#}");
    for fault in report["faults"].as_array().unwrap() {
        farm.json(&["blobs", "accept-loss", fault["digest"].as_str().unwrap()]);
    }
    let (status, report) = check(&farm, &[]);
    assert_eq!((status, report["faults"].as_array().unwrap().len()), (0, 0), "{report:#}");
    assert_eq!(paths(&report["accepted"]), lost, "{report:#}");
    let said = farm.run(&["blobs", "check"]).unwrap();
    assert!(said.contains("apart from 2 whose loss was accepted"), "{said}");
    assert!(said.contains(&lost[0]), "{said}");

    // An accepted loss does not block the removal of its store, and is recorded for the next store too.
    let drained = farm.json(&["blobs", "stores", "drain", "old"]);
    assert_eq!((&drained["state"], &drained["failed"]), (&json!("finished"), &json!(0)), "{drained:#}");
    assert!(drained["message"].as_str().unwrap().contains("2 more, whose loss was accepted"), "{drained:#}");
    farm.json(&["blobs", "stores", "remove", "old"]);
    assert_eq!(client.get("a/b/kept.bin").await.unwrap().body, documents[2].1);
    for path in ["a/damaged.bin", "a/missing.bin"] {
        let answer = client.get(path).await;
        assert!(!answer.is_ok_and(|answer| answer.status.is_success()), "{path} is still lost");
    }
    let (status, report) = check(&farm, &[]);
    assert_eq!((status, paths(&report["accepted"])), (0, lost), "{report:#}");
    assert_eq!(report["accepted"][0]["store"], "files", "{report:#}");

    // The same bytes repair the loss, from an upload or from a backup.
    assert!(client.put("again.bin", documents[0].1.clone()).await.unwrap().status.is_success());
    assert_eq!(client.get("a/damaged.bin").await.unwrap().body, documents[0].1);
    let (status, report) = check(&farm, &[]);
    assert_eq!((status, paths(&report["accepted"])), (0, vec!["Documents/a/missing.bin".to_owned()]), "{report:#}");
    farm.json(&["blobs", "repair", report["accepted"][0]["digest"].as_str().unwrap(), "--from-backup", &backups]);
    assert_eq!(client.get("a/missing.bin").await.unwrap().body, documents[1].1);
    let (status, report) = check(&farm, &[]);
    assert_eq!((status, report["accepted"].as_array().unwrap().len()), (0, 0), "{report:#}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_loss_holds_no_store_back_and_can_still_be_healed_on_sqlite() {
    accept(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_accepted_loss_holds_no_store_back_and_can_still_be_healed_on_postgres() {
    accept(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_names_the_store_that_gives_no_answer_and_looks_at_all_others() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    // Added before the others, so that it is queried first.
    farm.json(&["blobs", "stores", "add", "share", "--kind", "directory", "--path", "share"]);
    farm.json(&["blobs", "stores", "add", "other", "--kind", "directory", "--path", "other"]);
    for (seed, (store, count)) in [("share", 3), ("other", 2), ("files", 1)].into_iter().enumerate() {
        farm.json(&["blobs", "policy", "set", "--database", "main", "--active", store]);
        for number in 0..count {
            let content = bytes(100 * seed as u64 + number, 3_000_000);
            assert!(client.put(&format!("{store}-{number}.bin"), content).await.unwrap().status.is_success());
        }
    }
    // The share becomes unavailable while the server has it open.
    let (share, away) = (farm.data.join("share"), farm.data.join("share.away"));
    std::fs::rename(&share, &away).unwrap();
    std::fs::create_dir(&share).unwrap();

    let wanted = json!({ "kind": "check", "rate": 1_000_000_000 });
    let job = client.send_json(Method::POST, "/api/v1/farm/jobs", &wanted).await.unwrap();
    let job: Value = serde_json::from_slice(&job.body).unwrap();
    let job = ended(&client, job["id"].as_str().unwrap()).await;
    let told =
        (&job["state"], &job["failed"], &job["results"]["unchecked"], &job["items"], &job["results"]["references"]);
    assert_eq!(told, (&json!("incomplete"), &json!(1), &json!(3), &json!(3), &json!(3)), "{job:#}");
    let message = job["message"].as_str().unwrap();
    assert!(message.starts_with("3 references could not be checked"), "{message}");
    assert!(message.contains("the store \"share\" gives no answer"), "{message}");

    let (status, report) = check(&farm, &[]);
    assert_eq!((status, &report["state"], &report["unchecked"]), (3, &json!("incomplete"), &json!(3)), "{report:#}");
    assert_eq!((&report["blobs"], &report["references"]), (&json!(3), &json!(3)), "{report:#}");
    assert_eq!(report["errors"][0]["item"], "store share", "{report:#}");
    assert_eq!(farm.json(&["blobs", "faults"]), json!([]), "no answer is no absence");
    let (status, report) = check(&farm, &["--store", "other", "--rate", "100M"]);
    assert_eq!((status, &report["blobs"], &report["references"]), (0, &json!(2), &json!(2)), "{report:#}");
    assert_eq!(check(&farm, &["--store", "share"]).0, 3);
    let refused = farm.run(&["blobs", "check", "--store", "nowhere"]).unwrap_err();
    assert!(refused.output.contains("database, files, share, other"), "{}", refused.output);

    // Damage elsewhere is still found, and determines the exit status.
    std::fs::remove_file(file_with(&farm.data.join("other"), &bytes(100, 3_000_000)).0).unwrap();
    let (lost, _) = file_with(&farm.data.join("blobs"), &bytes(200, 3_000_000));
    let copy = farm.data.join("other").join(lost.strip_prefix(farm.data.join("blobs")).unwrap());
    std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
    std::fs::rename(&lost, &copy).unwrap();
    let (status, report) = check(&farm, &[]);
    let expected = vec!["Documents/files-0.bin".to_owned(), "Documents/other-0.bin".to_owned()];
    assert_eq!((status, paths(&report["faults"])), (1, expected), "{report:#}");
    assert_eq!(report["state"], "incomplete", "{report:#}");
    // An unresponsive store does not prevent a repair from another store.
    let digest = lost.file_name().unwrap().to_str().unwrap();
    let repaired =
        client.send(Method::POST, &format!("/api/v1/farm/faults/{digest}/repair"), Vec::new()).await.unwrap();
    assert_eq!((repaired.status, repaired.text().contains("other")), (StatusCode::OK, true), "{}", repaired.text());

    // Once the share is back, the same job checks everything.
    std::fs::remove_dir(&share).unwrap();
    std::fs::rename(&away, &share).unwrap();
    let id = job["id"].as_str().unwrap();
    client.send(Method::POST, &format!("/api/v1/farm/jobs/{id}/resume"), Vec::new()).await.unwrap();
    let job = ended(&client, id).await;
    let told = (&job["state"], &job["items"], &job["results"]["references"], &job["results"]["faults"]);
    assert_eq!(told, (&json!("finished"), &json!(6), &json!(6), &json!(1)), "{job:#}");
    let errors = client.send(Method::GET, &format!("/api/v1/farm/jobs/{id}/errors"), Vec::new()).await.unwrap();
    assert!(!errors.text().contains("share"), "it could be done after all: {}", errors.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_copy_that_no_document_needs_is_told_and_is_no_fault() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let content = bytes(7, 3_000_000);
    assert!(client.put("kept.bin", content.clone()).await.unwrap().status.is_success());
    let (kept, _) = file_with(&farm.data.join("blobs"), &content);
    let large = kept.parent().unwrap().parent().unwrap();
    let stray = format!("00{}", &kept.file_name().unwrap().to_str().unwrap()[2..]);
    std::fs::create_dir_all(large.join("00")).unwrap();
    std::fs::copy(&kept, large.join("00").join(&stray)).unwrap();
    let (status, report) = check(&farm, &[]);
    assert_eq!((status, report["faults"].as_array().unwrap().len()), (0, 0), "{report:#}");
    assert_eq!(report["damaged_unreferenced"], 1, "{report:#}");
    let said = farm.run(&["blobs", "check"]).unwrap();
    assert!(said.contains("1 BLOB damaged, but needed by no document"), "{said}");
    assert_eq!(farm.json(&["blobs", "faults"]), json!([]));
    assert_eq!(files_below(large).len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_migration_that_was_killed_counts_what_it_moved_before() {
    const DOCUMENTS: u64 = 150;
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    for seed in 0..DOCUMENTS {
        assert!(client.put(&format!("{seed}.bin"), bytes(seed, 20_000)).await.unwrap().status.is_success());
    }
    farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
    command.args(["blobs", "migrate", "--to", "second", "--rate", "1M", "--data"]).arg(&farm.data);
    let mut migration = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let moved = || {
        let status = farm.json(&["blobs", "status"]);
        let of = status["databases"][0]["references"].as_array().unwrap().iter().find(|of| of["store"] == "second");
        of.and_then(|of| of["blobs"].as_u64()).unwrap_or(0)
    };
    let deadline = Instant::now() + TIMEOUT;
    while moved() < 20 {
        assert!(Instant::now() < deadline, "nothing is moved");
    }
    migration.kill().unwrap();
    migration.wait().unwrap();
    assert!(moved() < DOCUMENTS, "the migration came to its end before it was killed");
    // The server takes the job over once its runner has sent no heartbeat for a while.
    let jobs = farm.json(&["jobs", "list"]);
    let job = ended(&client, jobs[0]["id"].as_str().unwrap()).await;
    assert_eq!((&job["state"], &job["items"]), (&json!("finished"), &json!(DOCUMENTS)), "{job:#}");
    assert_eq!(job["bytes"], DOCUMENTS * 20_000, "{job:#}");
    assert_eq!(job["message"], format!("{DOCUMENTS} BLOBs were moved"), "{job:#}");
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn who_reads_or_moves_a_lost_blob_puts_it_on_record_like_a_check() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    farm.json(&["blobs", "stores", "add", "old", "--kind", "directory", "--path", "old"]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "old"]);
    // One document is read from memory as a whole, one in pieces, one is a separate file, and the others are never
    // read.
    let documents =
        [("small", 60_000), ("read", 400_000), ("gone", 3_000_000), ("moved", 300_000), ("away", 3_000_000)];
    let content = |at: usize| bytes(at as u64, documents[at].1);
    for (at, (name, _)) in documents.iter().enumerate() {
        assert!(server.client(&token).put(&format!("a/{name}.bin"), content(at)).await.unwrap().status.is_success());
    }
    assert!(server.client(&token).put("a/whole.bin", bytes(9, 100_000)).await.unwrap().status.is_success());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "files"]);
    assert!(server.stop().success());
    let store = farm.data.join("old");
    for at in [0, 1, 3] {
        damage(&store, &content(at));
    }
    for at in [2, 4] {
        std::fs::remove_file(file_with(&store, &content(at)).0).unwrap();
    }
    let server = farm.start();
    let client = server.client(&token);

    let on_record = || farm.json_any_status(&["blobs", "faults"]);
    let states = || {
        let found = on_record();
        let state = |fault: &Value| (paths(&json!([fault]))[0].clone(), fault["state"].as_str().unwrap().to_owned());
        let mut states: Vec<_> = found.as_array().unwrap().iter().map(state).collect();
        states.sort();
        states
    };
    let expected = |names: &[(&str, &str)]| -> Vec<(String, String)> {
        names.iter().map(|(name, state)| (format!("Documents/a/{name}.bin"), (*state).to_owned())).collect()
    };
    assert_eq!(states(), []);
    for name in ["small", "read", "gone", "whole"] {
        let read = client.get(&format!("a/{name}.bin")).await;
        assert_eq!(read.is_ok_and(|answer| answer.status.is_success()), name == "whole", "{name}");
    }
    let lost = expected(&[("gone", "missing"), ("read", "damaged"), ("small", "damaged")]);
    recorded(&farm, lost.len()).await;
    assert_eq!(states(), lost);
    let before = on_record();
    for name in ["small", "read", "gone"] {
        assert!(!client.get(&format!("a/{name}.bin")).await.is_ok_and(|answer| answer.status.is_success()));
    }
    assert_eq!(on_record(), before, "what is on record stays as it was");

    let drain = farm.json_any_status(&["blobs", "stores", "drain", "old"]);
    assert_eq!((&drain["state"], &drain["failed"]), (&json!("incomplete"), &json!(5)), "{drain:#}");
    let all =
        [("away", "missing"), ("gone", "missing"), ("moved", "damaged"), ("read", "damaged"), ("small", "damaged")];
    assert_eq!(states(), expected(&all));
    // A check finds the same faults and no others.
    let (status, report) = check(&farm, &[]);
    assert_eq!((status, report["faults"].as_array().unwrap().len()), (1, 5), "{report:#}");
    assert_eq!(states(), expected(&all));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_tells_of_garbled_bytes_where_no_blob_lies() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    assert!(client.put("kept.bin", bytes(1, 100_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    let (segment, at) = file_with(&farm.data.join("blobs"), &bytes(1, 100_000));
    let mut content = std::fs::read(&segment).unwrap();
    // In the padding between the segment header and the first record.
    let place = 300;
    assert!(at > place);
    content[place] ^= 1;
    std::fs::write(&segment, &content).unwrap();
    let (_, report) = check(&farm, &[]);
    assert_eq!(report["garbled_places"], 1, "{report:#}");
    assert_eq!(report["faults"], json!([]), "{report:#}");
    let server = farm.start();
    assert!(server.client(&farm.token_named("another")).get("kept.bin").await.unwrap().body == bytes(1, 100_000));
    assert!(server.stop().success());
}

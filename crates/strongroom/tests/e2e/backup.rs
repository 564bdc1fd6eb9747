//! Backup and restore: under load, on both engines, interrupted at any time, and with damage in the destination.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use database::Engine;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::backups::{Place, SIZES, by_description, compare, document, fill, filled, restored, sets};
use crate::support::{Farm, Ledger, Random, bytes, files_below};

async fn comes_back_as_of_one_point_in_time(engine: Engine) {
    let place = Place::new();
    let (farm, _server, client) = filled(engine, 24).await;
    let (ledger, stop) = (Ledger::new(6, 6, SIZES), Arc::new(AtomicBool::new(false)));
    let load = ledger.load(&client, &mut Random::fresh(), &stop);
    ledger.wait_for(20).await;
    let before = ledger.acknowledged();
    let taken = farm.json(&["backup", &place.text("backups")]);
    assert!(taken["blobs"].as_u64().unwrap() >= 16, "{taken:#}");
    ledger.wait_for(5).await;
    println!("{} changes came while the backup was taken", ledger.acknowledged() - before - 5);
    client.delete("kept/3.bin").await.unwrap();
    stop.store(true, Ordering::Relaxed);
    load.join_all().await;
    assert_eq!(ledger.refused(), Vec::<String>::new());

    let copy = restored(engine, &place, "backups", "copy", &[]).await;
    let server = copy.start();
    let client = server.client(&copy.token());
    compare(&client, "kept", 24).await;
    // Each document of the load is either restored completely or absent.
    for path in (0..6).flat_map(|writer| (0..6).map(move |path| format!("load/w{writer}/{path}.bin"))) {
        let answer = client.get(&path).await.unwrap();
        assert!([StatusCode::OK, StatusCode::NOT_FOUND].contains(&answer.status), "{path}: {}", answer.status);
    }
    fill(&client, "new", 6).await;
    compare(&client, "new", 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_farm_comes_back_as_of_one_point_in_time_on_sqlite() {
    comes_back_as_of_one_point_in_time(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_farm_comes_back_as_of_one_point_in_time_on_postgres() {
    comes_back_as_of_one_point_in_time(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_larger_than_a_cache_comes_back_while_it_is_written() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 4).await;
    let files = tempfile::tempdir().unwrap();
    for number in 0..3_000 {
        std::fs::write(files.path().join(format!("{number}-{}.txt", "long".repeat(30))), number.to_string()).unwrap();
    }
    farm.json(&["import", files.path().to_str().unwrap(), "Documents"]);
    let database = database::testing::open_file(&farm.data.join("databases/main.sqlite"));
    let pages: i64 = database.query_row("PRAGMA page_count", [], |row| row.get(0)).unwrap();
    assert!(pages * 4_096 > 3 << 20, "{pages} pages are within a cache of 2 MB");
    // The WAL now holds newer pages than the database file.
    for number in 0..20 {
        client.put(&format!("new/{number}.txt"), bytes(number, 500)).await.unwrap();
    }
    farm.json(&["backup", &place.text("backups")]);
    let copy = restored(Engine::Sqlite, &place, "backups", "copy", &[]).await;
    let server = copy.start();
    let client = server.client(&copy.token());
    compare(&client, "kept", 4).await;
    assert_eq!(client.get("new/19.txt").await.unwrap().body, bytes(19, 500));
    let check = copy.json(&["blobs", "check"]);
    assert_eq!((&check["errors"], &check["faults"]), (&json!([]), &json!([])), "{check:#}");
    let database = database::testing::open_file(&copy.data.join("databases/main.sqlite"));
    let said: String = database.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(said, "ok");
}

/// Starts a command and kills it after `after`. Returns whether it was still running.
fn cut(words: &[String], after: Duration) -> bool {
    let mut child: Child = Command::new(env!("CARGO_BIN_EXE_strongroom"))
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    // sleep: the kill must come at a random moment
    std::thread::sleep(after);
    let runs = child.try_wait().unwrap().is_none();
    child.kill().unwrap();
    child.wait().unwrap();
    runs
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_or_restoration_that_is_killed_leaves_nothing_half_and_goes_on_from_there() {
    let (place, mut random) = (Place::new(), Random::fresh());
    let (farm, _server, client) = filled(Engine::Sqlite, 60).await;
    let words = |words: &[&str], data: &Path| -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).chain(["--data".into(), data.display().to_string()]).collect()
    };
    let destination = place.text("backups");
    let mut caught = 0;
    for _ in 0..12 {
        let after = Duration::from_millis(random.below(400));
        caught += usize::from(cut(&words(&["backup", &destination], &farm.data), after));
    }
    println!("{caught} of 12 backups were cut short");
    farm.json(&["backup", &destination]);
    let finished = sets(&farm, &destination);
    let verified = farm.json(&["backup", "verify", &destination]);
    assert_eq!(verified["fault_count"], 0, "{verified:#}");
    assert_eq!(verified["sets"].as_array().unwrap().len(), finished.len());

    let copy = place.path("copy");
    for _ in 0..8 {
        let after = Duration::from_millis(random.below(300));
        if !cut(&words(&["restore", &destination], &copy), after) {
            break;
        }
    }
    let copy = Farm::at(&copy);
    // If the farm was complete before the process was killed, the restore refuses to replace it without `--force`.
    if let Err(refused) = copy.run(&["restore", &destination]) {
        assert!(refused.output.contains("--force"), "{}", refused.output);
    }
    copy.check_blobs();
    let server = copy.start();
    compare(&server.client(&copy.token()), "kept", 60).await;
    compare(&client, "kept", 60).await;
}

/// Changes one bit in the middle of the longest file below a directory.
fn damage(directory: &Path) -> PathBuf {
    let mut files = files_below(directory);
    files.sort_by_key(|file| std::fs::metadata(file).unwrap().len());
    let file = files.pop().unwrap();
    let mut content = std::fs::read(&file).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 0x10;
    std::fs::write(&file, content).unwrap();
    file
}

#[tokio::test(flavor = "multi_thread")]
async fn damage_in_a_backup_is_found_never_restored_and_mended_by_the_next_one() {
    let place = Place::new();
    let (farm, _server, _client) = filled(Engine::Sqlite, 12).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    let damaged = damage(&place.path("backups/data/large"));
    println!("damaged {}", damaged.display());

    let refused = Farm::at(place.path("copy")).run(&["restore", &destination]).unwrap_err();
    assert!(
        ["5", "11"].iter().any(|name| refused.output.contains(&format!("needed by \"Documents/kept/{name}.bin\""))),
        "{}",
        refused.output
    );
    assert!(!place.path("copy/configuration.sqlite").exists(), "a farm that lacks content must not come into being");
    let found = farm.run(&["backup", "verify", &destination, "--json"]).unwrap_err();
    let found: Value = serde_json::from_str(&found.output).unwrap();
    assert_eq!(found["fault_count"], 1, "{found:#}");

    let partly = Farm::at(place.path("copy"));
    let accepted = partly.run(&["restore", &destination, "--accept-missing", "--json"]).unwrap_err();
    let accepted: Value = serde_json::from_str(&accepted.output).unwrap();
    assert_eq!(accepted["missing_blobs"], 1, "{accepted:#}");

    farm.json(&["backup", &destination]);
    let found = farm.json(&["backup", "verify", &destination, "--drill"]);
    assert_eq!(found["fault_count"], 0, "{found:#}");
    restored(Engine::Sqlite, &place, "backups", "whole", &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_encrypted_backup_opens_with_its_key_only_and_shows_nothing_without() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 12).await;
    let secret = b"the recipe is a secret that nobody may read ".repeat(2_000);
    client.put("kept/recipe.txt", secret.clone()).await.unwrap();
    let (destination, key, other) = (place.text("backups"), place.text("key"), place.text("other"));
    std::fs::write(&key, "an uncommon passphrase\n").unwrap();
    std::fs::write(&other, "a common passphrase\n").unwrap();
    farm.json(&["backup", &destination, "--encrypt-with", &key]);
    farm.json(&["backup", &destination, "--encrypt-with", &key]);
    for file in files_below(&place.path("backups")) {
        let content = std::fs::read(&file).unwrap();
        let shows = |word: &[u8]| content.windows(word.len()).any(|window| window == word);
        assert!(!shows(b"recipe"), "{} shows what is in it", file.display());
        assert!(!shows(b"SQLite format"), "{} shows what is in it", file.display());
    }
    for (words, why) in [
        (vec!["backup", "list", &destination], "--encrypt-with"),
        (vec!["backup", &destination], "--encrypt-with"),
        (vec!["backup", "verify", &destination, "--encrypt-with", &other], "does not hold the key"),
    ] {
        let refused = farm.run(&words).unwrap_err();
        assert!(refused.output.contains(why), "{words:?}: {}", refused.output);
    }
    let verified = farm.json(&["backup", "verify", &destination, "--encrypt-with", &key]);
    assert_eq!(verified["fault_count"], 0, "{verified:#}");
    let copy = restored(Engine::Sqlite, &place, "backups", "copy", &["--encrypt-with", &key]).await;
    let server = copy.start();
    let client = server.client(&copy.token());
    compare(&client, "kept", 12).await;
    assert!(client.get("kept/recipe.txt").await.unwrap().body == secret);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_backup_adds_what_changed_and_pruning_removes_what_nothing_keeps() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 60).await;
    let destination = place.text("backups");
    let first = farm.json(&["backup", &destination]);
    client.put("kept/2.bin", bytes(99, 20_000)).await.unwrap();
    let second = farm.json(&["backup", &destination]);
    let added = |backup: &Value| backup["new_bytes"].as_u64().unwrap();
    println!("{} bytes at first, then {}", added(&first), added(&second));
    // The new data: the document, the changed database pages, and the lists.
    assert!(added(&second) > 20_000, "{second:#}");
    assert!(added(&second) < added(&first) / 30, "{second:#}");
    assert_eq!(sets(&farm, &destination).len(), 2);

    // Only the first set needs the old content of the document; the database keeps the version.
    let pruned = farm.json(&["backup", "prune", &destination, "--retain", "last=1"]);
    assert_eq!(pruned["removed"].as_array().unwrap().len(), 1, "{pruned:#}");
    assert!(pruned["things"].as_u64().unwrap() > 0, "{pruned:#}");
    let verified = farm.json(&["backup", "verify", &destination]);
    assert_eq!((&verified["fault_count"], verified["sets"].as_array().unwrap().len()), (&Value::from(0), 1));
    let copy = restored(Engine::Sqlite, &place, "backups", "copy", &[]).await;
    let server = copy.start();
    let answer = server.client(&copy.token()).get("kept/2.bin").await.unwrap();
    assert!(answer.body == bytes(99, 20_000));

    let third = farm.json(&["backup", &destination, "--retain", "last=1"]);
    assert_eq!(third["pruned"]["removed"].as_array().unwrap().len(), 1, "{third:#}");
    assert_eq!(sets(&farm, &destination), [third["id"].as_str().unwrap()]);
    // Backups of databases only do not count towards the retention of full backups.
    farm.json(&["backup", &destination, "--databases-only", "--retain", "last=1"]);
    let alone = farm.json(&["backup", &destination, "--databases-only", "--retain", "last=1"]);
    let mut kept = sets(&farm, &destination);
    kept.sort();
    let mut expected = [&third, &alone].map(|set| set["id"].as_str().unwrap().to_owned());
    expected.sort();
    assert_eq!(kept, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_alone_are_restored_against_stores_that_survived() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 12).await;
    let destination = place.text("backups");
    let taken = farm.json(&["backup", &destination, "--databases-only"]);
    assert_eq!(taken["blobs"], 0, "{taken:#}");
    fill(&client, "later", 6).await;
    assert!(server.stop().success());
    for file in ["configuration.sqlite", "databases/main.sqlite"] {
        std::fs::remove_file(farm.data.join(file)).unwrap();
    }
    let back = farm.json(&["restore", &destination]);
    assert_eq!(back["copied_blobs"], 0, "{back:#}");
    assert!(back["present_blobs"].as_u64().unwrap() > 0, "{back:#}");
    farm.check_blobs();
    let server = farm.start();
    let client = server.client(&farm.token());
    compare(&client, "kept", 12).await;
    assert_eq!(client.get("later/0.bin").await.unwrap().status, StatusCode::NOT_FOUND);
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_comes_out_without_this_program() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 6).await;
    // Compressible content is stored compressed, in one piece or in several.
    let texts = [10_000, 900_000].map(|lines| b"all work and no play ".repeat(lines));
    for (number, text) in texts.iter().enumerate() {
        assert!(client.put(&format!("{number}.txt"), text.clone()).await.unwrap().status.is_success());
    }
    let taken = farm.json(&["backup", &place.text("backups")]);
    let out = by_description(&place, "backups", taken["id"].as_str().unwrap());
    for content in [&document("kept", 2), &document("kept", 3), &document("kept", 5), &texts[0], &texts[1]] {
        let found = std::fs::read(out.join("blobs").join(blobs::digest_of(content).to_string())).unwrap();
        assert!(found == *content, "{} bytes are not what they were", content.len());
    }
    assert_eq!(std::fs::read(out.join("farm.key")).ok(), std::fs::read(farm.data.join("farm.key")).ok());
    for database in ["main.sqlite", "configuration.sqlite"] {
        assert!(std::fs::read(out.join(database)).unwrap().starts_with(b"SQLite format 3"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_a_place_of_backups_is_refused_with_the_reason() {
    let place = Place::new();
    let (farm, _server, _client) = filled(Engine::Sqlite, 1).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    std::fs::create_dir(place.path("full")).unwrap();
    std::fs::write(place.path("full/letter.txt"), "dear").unwrap();
    let inside = farm.data.join("backups").display().to_string();
    let above = farm.data.parent().unwrap().display().to_string();
    for (words, why) in [
        (vec!["backup", &place.text("full")], "holds other data"),
        (vec!["backup", &inside], "overlap: choose a directory outside"),
        (vec!["backup", &above], "overlap: choose a directory outside"),
        (vec!["backup", "list", &place.text("nowhere")], "no backups"),
        (vec!["backup", &destination, "--retain", "daily=0"], "keep no backup"),
        (vec!["restore", &destination], "a server or another restore is using"),
        (vec!["restore", &destination, "--set", "1"], "no set 1"),
    ] {
        let refused = farm.run(&words).unwrap_err();
        assert!(refused.output.contains(why), "{words:?}: {}", refused.output);
    }
    let other = Farm::on(Engine::Sqlite).await;
    drop(other.start());
    let refused = other.run(&["backup", &destination]).unwrap_err();
    assert!(refused.output.contains("another farm"), "{}", refused.output);
    let lock = std::fs::File::open(place.path("backups/lock")).unwrap();
    lock.lock().unwrap();
    let refused = farm.run(&["backup", &destination]).unwrap_err();
    assert!(refused.output.contains("is using"), "{}", refused.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_is_as_good_a_place_as_a_directory() {
    let place = Place::new();
    let (farm, _server, client) = filled(Engine::Sqlite, 12).await;
    let service = blobs::testing::s3::S3Server::start(&place.path("service"));
    let (options, secrets) = (service.options("backups"), service.secrets());
    let destination = format!("s3://{}/backups", options.bucket);
    let run = |farm: &Farm, words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
        command.args(words).arg("--json").arg("--data").arg(&farm.data).stdin(Stdio::null());
        command.env("STRONGROOM_BACKUP_S3_ENDPOINT", options.endpoint.as_deref().unwrap_or_default());
        command.env("STRONGROOM_BACKUP_S3_KEY_ID", &secrets.key_id).env("STRONGROOM_BACKUP_S3_SECRET", &secrets.secret);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {said}");
        serde_json::from_str::<Value>(&said).unwrap()
    };
    let key = place.text("key");
    std::fs::write(&key, "an uncommon passphrase\n").unwrap();
    let sealed = ["--encrypt-with", &key];
    let with = |words: &[&'static str]| -> Vec<String> {
        words
            .iter()
            .chain(&[])
            .map(|word| (*word).to_owned())
            .chain([destination.clone()])
            .chain(sealed.map(str::to_owned))
            .collect()
    };
    let go =
        |farm: &Farm, words: &[&'static str]| run(farm, &with(words).iter().map(String::as_str).collect::<Vec<_>>());
    let first = go(&farm, &["backup"]);
    client.put("kept/2.bin", bytes(99, 20_000)).await.unwrap();
    let second = go(&farm, &["backup"]);
    assert!(second["new_bytes"].as_u64().unwrap() < first["new_bytes"].as_u64().unwrap() / 5, "{second:#}");
    let verified = go(&farm, &["backup", "verify"]);
    assert_eq!((&verified["fault_count"], verified["sets"].as_array().unwrap().len()), (&Value::from(0), 2));
    let copy = Farm::at(place.path("copy"));
    go(&copy, &["restore"]);
    copy.check_blobs();
    let server = copy.start();
    let there = server.client(&copy.token());
    assert!(there.get("kept/2.bin").await.unwrap().body == bytes(99, 20_000));
    assert!(there.get("kept/5.bin").await.unwrap().body == document("kept", 5));
}

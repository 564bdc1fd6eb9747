//! A farm whose BLOBs are compressed and encrypted in a directory. No plaintext is on the disk, nothing is lost, and
//! encryption can be given up again.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use database::Engine;
use reqwest::{Method, StatusCode};
use serde_json::Value;

use crate::support::backups::{Place, restored};
use crate::support::{Client, Farm, Ledger, Random, files_below};

/// Sizes for segments and for separate files.
const SIZES: &[usize] = &[20_000, 150_000, 3_000_000];
const SECRET: &[u8] = b"the recipe is a secret that nobody may read";

/// Compressible text that could be found if it were stored in plaintext.
fn text(seed: usize, length: usize) -> Vec<u8> {
    let line = |number: usize| [SECRET, format!(", says line {number} of {seed}. ").as_bytes()].concat();
    let mut all: Vec<u8> = (0..length / 60 + 1).flat_map(line).collect();
    all.truncate(length);
    all
}

fn shows(directory: &Path) -> bool {
    let holds = |content: Vec<u8>| content.windows(SECRET.len()).any(|window| window == SECRET);
    files_below(directory).iter().any(|file| std::fs::read(file).is_ok_and(holds))
}

async fn require_all(client: &Client, names: &[(String, usize, usize)]) {
    for (name, seed, length) in names {
        let expected = text(*seed, *length);
        let answer = client.get(name).await.unwrap();
        assert!(answer.status == StatusCode::OK, "{name}: {}", answer.status);
        assert!(answer.body == expected, "{name}: {}", answer.status);
        for (from, count) in [(0, 1), (length / 2 - 70_000.min(length / 4), 100_000.min(length / 2)), (length - 5, 5)] {
            let part = client.get_range(name, from, count).await.unwrap();
            assert_eq!(part.status, StatusCode::PARTIAL_CONTENT, "{name} from {from}");
            assert!(part.body == expected[from..from + count], "{name} from {from}");
        }
    }
}

async fn upload(client: &Client, names: &mut Vec<(String, usize, usize)>, folder: &str) {
    for (seed, length) in [(1, 90_000), (2, 240_000), (3, 4_000_000)] {
        let (name, seed) = (format!("{folder}/{length}.txt"), seed + 10 * names.len());
        let answer = client.put(&name, text(seed, length)).await.unwrap();
        assert!(answer.status.is_success(), "{}", answer.text());
        names.push((name, seed, length));
    }
}

async fn work_in_a_vault(engine: Engine) {
    let (mut random, place) = (Random::fresh(), Place::new());
    let farm = Farm::on(engine).await;
    let vault = farm.data.join("vault");
    let server = farm.start();
    let token = farm.token();
    let add = ["blobs", "stores", "add", "vault", "--kind", "directory", "--path", "vault", "--encrypt", "--set"];
    let refused = farm.run(&[&add[..], &["cache_bytes=0"]].concat()).unwrap_err();
    assert!(refused.output.contains("has no setting \"cache_bytes\""), "{}", refused.output);
    farm.json(&[&add[..], &["compression=3"]].concat());
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "vault"]);
    let tested = farm.json(&["blobs", "stores", "test", "vault"]);
    assert!(tested["failure"].is_null(), "{tested:#}");

    let (ledger, stop) = (Ledger::new(4, 4, SIZES), Arc::new(AtomicBool::new(false)));
    let mut names = Vec::new();
    upload(&server.client(&token), &mut names, "first").await;
    let load = ledger.load(&server.client(&token), &mut random, &stop);
    ledger.wait_for(30).await;
    server.kill();
    load.join_all().await;
    assert!(!shows(&vault), "what people wrote lies open after a crash");

    let server = farm.start();
    let client = server.client(&token);
    ledger.verify(&client, true).await;
    require_all(&client, &names).await;
    let load = ledger.load(&client, &mut random, &stop);
    farm.json(&["blobs", "stores", "rotate-key", "vault"]);
    upload(&client, &mut names, "second").await;
    farm.json(&["blobs", "stores", "set", "vault", "--set", "compression="]);
    upload(&client, &mut names, "third").await;
    ledger.wait_for(20).await;
    stop.store(true, Ordering::Relaxed);
    load.join_all().await;
    assert_eq!(ledger.refused(), Vec::<String>::new(), "the server refused what it must take");
    ledger.verify(&client, false).await;
    require_all(&client, &names).await;
    farm.check_blobs();
    assert!(!shows(&vault), "what people wrote lies open");

    // A backup holds the decoded bytes, and a restored farm encrypts them again.
    farm.json(&["backup", &place.text("backups")]);
    let copy = restored(engine, &place, "backups", "copy", &[]).await;
    assert!(files_below(&copy.data.join("vault")).len() > 3);
    assert!(!shows(&copy.data.join("vault")));
    let again = copy.start();
    require_all(&again.client(&copy.token()), &names).await;
    assert!(again.stop().success());

    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "files"]);
    let drained = farm.json(&["blobs", "stores", "drain", "vault"]);
    assert_eq!((drained["state"].as_str(), drained["failed"].as_u64()), (Some("finished"), Some(0)), "{drained:#}");
    require_all(&client, &names).await;
    assert!(shows(&farm.data.join("blobs")), "the search finds what lies open");
    farm.check_blobs();
    assert!(server.stop().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_live_encrypted_in_a_directory_through_crashes_and_come_back_on_sqlite() {
    work_in_a_vault(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn documents_live_encrypted_in_a_directory_through_crashes_and_come_back_on_postgres() {
    work_in_a_vault(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_whose_blobs_need_a_key_is_no_store_without_it() {
    let place = Place::new();
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    let key = format!("encryption_keys={}", "5a".repeat(32));
    let add = |name: &str, path: &str, more: &[&str]| {
        let words = ["blobs", "stores", "add", name, "--kind", "directory", "--path", path];
        farm.run(&[&words[..], more].concat()).map_err(|refused| refused.output)
    };
    add("vault", "vault", &["--secret", &key]).unwrap();
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "vault"]);
    upload(&client, &mut Vec::new(), "first").await;
    let stores = client.send(Method::GET, "/api/v1/farm/stores", Vec::new()).await.unwrap();
    let stores: Value = serde_json::from_slice(&stores.body).unwrap();
    for store in stores["items"].as_array().unwrap() {
        assert_eq!(store["encrypted"] == true, store["name"] == "vault", "{stores:#}");
    }
    assert!(server.stop().success());
    let vault = farm.data.join("vault");
    for file in files_below(&vault) {
        let copy = place.path("copy").join(file.strip_prefix(&vault).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(file, copy).unwrap();
    }
    std::fs::create_dir_all(place.path("copy/incoming")).unwrap();
    for more in [&[][..], &["--encrypt"]] {
        let refused = add("copy", &place.text("copy"), more).unwrap_err();
        assert!(refused.contains("which its store does not have"), "{refused}");
        assert!(refused.contains("--secret encryption_keys=KEY"), "{refused}");
    }
    assert_eq!(farm.json(&["blobs", "stores", "list"]).as_array().unwrap().len(), 3, "none was added");
    add("copy", &place.text("copy"), &["--secret", &key]).unwrap();
}

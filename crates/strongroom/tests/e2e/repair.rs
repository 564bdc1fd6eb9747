//! Repair of missing and damaged BLOBs from backups, each in its own store. BLOBs that no backup has are reported.

use database::Engine;
use serde_json::Value;

use crate::support::backups::{Place, document, filled};
use crate::support::{Farm, bytes, damage, file_with};

/// Digests of the BLOBs with faults, with the name of each one's first document.
fn faults(farm: &Farm) -> Vec<(String, String)> {
    let listed = farm.json_any_status(&["blobs", "faults"]);
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let faults = listed.as_array().unwrap().iter();
    faults.map(|fault| (text(&fault["digest"]), text(&fault["documents"][0]["name"]))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_missing_or_damaged_comes_back_from_a_backup_and_the_rest_is_named() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 12).await;
    let destination = place.text("backups");
    let first = farm.json(&["backup", &destination]);
    let (middle, late) = (bytes(77, 90_000), bytes(78, 120_000));
    assert!(client.put("middle.bin", middle.clone()).await.unwrap().status.is_success());
    let second = farm.json(&["backup", &destination]);
    farm.json(&["backup", &destination, "--databases-only"]);
    assert!(client.put("late.bin", late.clone()).await.unwrap().status.is_success());
    assert!(server.stop().success());

    let store = farm.data.join("blobs");
    for content in [&document("kept", 3), &document("kept", 10), &middle, &late] {
        damage(&store, content);
    }
    std::fs::remove_file(file_with(&store, &document("kept", 5)).0).unwrap();
    let server = farm.start();
    let client = server.client(&farm.token_named("second"));
    assert!(farm.run(&["blobs", "check"]).is_err());
    assert_eq!(faults(&farm).len(), 5, "{:?}", faults(&farm));

    let told = farm.run(&["blobs", "repair", "--from-backup", &destination]).unwrap_err();
    let left = faults(&farm);
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(left[0].1, "late.bin");
    assert!(told.output.contains("4 BLOBs are intact again"), "{}", told.output);
    assert!(told.output.contains(&format!("{}: no backup in {destination} has it", left[0].0)), "{}", told.output);
    for number in [3, 5, 10] {
        assert!(client.get(&format!("kept/{number}.bin")).await.unwrap().body == document("kept", number));
    }
    assert!(client.get("middle.bin").await.unwrap().body == middle);
    let check = farm.json_any_status(&["blobs", "check"]);
    assert_eq!(check["faults"].as_array().unwrap().len(), 1, "{check:#}");

    // The audit log records the backup set that was used.
    let audit = client.send(reqwest::Method::GET, "/api/v1/farm/audit-log", Vec::new()).await.unwrap();
    let audit: Value = serde_json::from_slice(&audit.body).unwrap();
    let repairs = audit["items"].as_array().unwrap().iter().filter(|event| event["action"] == "blob.repair");
    let details: Vec<&str> = repairs.filter_map(|event| event["detail"].as_str()).collect();
    let newest = second["id"].as_str().unwrap();
    assert_eq!(details.len(), 4, "{audit:#}");
    assert!(details.iter().all(|detail| detail.contains(newest)), "{details:?} {}", first["id"]);

    // Uploading the same bytes again ends the last fault, and nothing is left to repair.
    assert!(client.put("again.bin", late.clone()).await.unwrap().status.is_success());
    farm.check_blobs();
    let nothing = farm.json(&["blobs", "repair", "--from-backup", &destination]);
    assert_eq!((nothing["repaired"].as_array().unwrap().len(), nothing["bytes"].as_u64()), (0, Some(0)), "{nothing:#}");
    let refused = farm.run(&["blobs", "repair", &left[0].0, "--from-backup", &destination]).unwrap_err();
    assert!(refused.output.contains("no open fault"), "{}", refused.output);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_blob_comes_back_from_an_encrypted_backup_that_is_damaged_elsewhere() {
    let place = Place::new();
    let (farm, server, _client) = filled(Engine::Sqlite, 6).await;
    let (destination, key) = (place.text("backups"), place.text("key"));
    std::fs::write(&key, "an uncommon passphrase\n").unwrap();
    farm.json(&["backup", &destination, "--encrypt-with", &key]);
    assert!(server.stop().success());
    let store = farm.data.join("blobs");
    damage(&store, &document("kept", 4));
    damage(&store, &document("kept", 5));
    // The largest file of the backup holds the largest document.
    let mut stored = crate::support::files_below(&place.path("backups/data/large"));
    stored.sort_by_key(|file| std::fs::metadata(file).unwrap().len());
    let longest = stored.pop().unwrap();
    let mut content = std::fs::read(&longest).unwrap();
    let middle = content.len() / 2;
    content[middle] ^= 0x10;
    std::fs::write(&longest, content).unwrap();

    assert!(farm.run(&["blobs", "check"]).is_err());
    let found = faults(&farm);
    let digest = |name: &str| found.iter().find(|(_, document)| document == name).map(|(digest, _)| digest).unwrap();
    let refused = farm.run(&["blobs", "repair", digest("4.bin"), "--from-backup", &destination]).unwrap_err();
    assert!(refused.output.contains("--encrypt-with"), "{}", refused.output);
    let words = ["--from-backup", &destination, "--encrypt-with", &key];
    let repaired = farm.json(&[&["blobs", "repair", digest("4.bin")][..], &words].concat());
    assert_eq!(repaired["repaired"][0]["digest"], digest("4.bin").as_str(), "{repaired:#}");
    let told = farm.run(&[&["blobs", "repair"][..], &words].concat()).unwrap_err();
    assert!(told.output.contains(digest("5.bin").as_str()), "{}", told.output);
    assert_eq!(faults(&farm).len(), 1);

    let server = farm.start();
    let client = server.client(&farm.token_named("second"));
    assert!(client.get("kept/4.bin").await.unwrap().body == document("kept", 4));
    assert!(!client.get("kept/5.bin").await.is_ok_and(|answer| answer.status.is_success()), "damage is never served");
}

async fn same_bytes_again(engine: Engine) {
    let farm = Farm::on(engine).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    // All of them are separate files in the store; the second one is small enough to be kept in the database as a
    // whole.
    let documents = [("large", bytes(1, 3_000_000)), ("small", bytes(2, 400_000)), ("whole", bytes(3, 300_000))];
    for (name, content) in &documents {
        assert!(client.put(&format!("{name}.bin"), content.clone()).await.unwrap().status.is_success());
    }
    let store = farm.data.join("blobs");
    for (_, content) in &documents[..2] {
        std::fs::remove_file(file_with(&store, content).0).unwrap();
    }
    farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    farm.json(&["blobs", "policy", "set", "--database", "main", "--active", "second"]);
    let again = async |name: &str, content: &Vec<u8>| {
        let answer = client.put(&format!("{name}-again.bin"), content.clone()).await.unwrap();
        assert!(answer.status.is_success(), "{name}: {}", answer.text());
        for name in [format!("{name}.bin"), format!("{name}-again.bin")] {
            let answer = client.get(&name).await.unwrap();
            assert!(answer.status.is_success(), "{name}: {}", answer.status);
            assert!(answer.body == *content, "{name}: {}", answer.status);
        }
    };
    // A loss that was not detected, one that a check found, and a BLOB that is not lost.
    again(documents[0].0, &documents[0].1).await;
    assert!(farm.run(&["blobs", "check"]).is_err());
    assert_eq!(faults(&farm).len(), 1, "{:?}", faults(&farm));
    farm.json(&["blobs", "policy", "set", "--database", "main", "--minimum-size", "1m"]);
    again(documents[1].0, &documents[1].1).await;
    again(documents[2].0, &documents[2].1).await;
    assert_eq!(faults(&farm), [], "it is whole again");
    // An import also reuses BLOBs that are in another store.
    let tree = tempfile::tempdir().unwrap();
    std::fs::write(tree.path().join("imported.bin"), &documents[2].1).unwrap();
    farm.json(&["import", tree.path().to_str().unwrap(), "Documents"]);
    assert_eq!(client.get("imported.bin").await.unwrap().body, documents[2].1);
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_of_the_same_bytes_brings_them_back_though_new_ones_go_elsewhere_on_sqlite() {
    same_bytes_again(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upload_of_the_same_bytes_brings_them_back_though_new_ones_go_elsewhere_on_postgres() {
    same_bytes_again(Engine::Postgres).await;
}

//! Directories of stores: some are a store already, others no longer exist.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use database::Engine;
use reqwest::StatusCode;
use serde_json::{Value, json};

use crate::support::backups::Place;
use crate::support::{Farm, bytes, files_below};

#[tokio::test(flavor = "multi_thread")]
async fn one_directory_is_one_store_whatever_it_is_called() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let client = server.client(&farm.token());
    assert!(client.put("a.bin", bytes(1, 60_000)).await.unwrap().status.is_success());
    std::os::unix::fs::symlink(farm.data.join("blobs"), farm.data.join("link")).unwrap();
    let absolute = farm.data.join("blobs").to_str().unwrap().to_owned();
    for path in ["blobs", "./blobs", "blobs/", "blobs/../blobs", "link", &absolute] {
        let words = ["blobs", "stores", "add", "own", "--kind", "directory", "--path", path];
        let refusal = farm.run(&words).unwrap_err();
        assert!(refusal.output.contains("already at that location"), "{path}: {}", refusal.output);
    }
    let missing = farm.data.with_file_name("missing");
    let far = missing.join("far").to_str().unwrap().to_owned();
    let words = ["blobs", "stores", "add", "far", "--kind", "directory", "--path", &far];
    assert!(farm.run(&words).unwrap_err().output.contains("mount its disk"));
    assert!(!missing.exists());
    assert!(client.get("a.bin").await.unwrap().body == bytes(1, 60_000));
    farm.check_blobs();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_lies_neither_within_nor_around_anything_else() {
    let place = Place::new();
    let (farm, other) = (Farm::at(place.path("farm/data")), Farm::at(place.path("strange/data")));
    std::fs::create_dir_all(place.path("farm")).unwrap();
    std::fs::create_dir_all(place.path("strange")).unwrap();
    std::fs::create_dir_all(place.path("kept")).unwrap();
    let (_server, _other) = (farm.start(), other.start());
    other.json(&["blobs", "stores", "add", "theirs", "--kind", "directory", "--path", &place.text("far")]);
    farm.json(&["backup", &place.text("kept/backups")]);
    std::os::unix::fs::symlink(place.path("far"), place.path("link")).unwrap();
    let add = |path: &str| farm.run(&["blobs", "stores", "add", "new", "--kind", "directory", "--path", path]);
    for (path, other) in [
        ("link/inner", "far"),
        ("farm/../far/inner", "far"),
        ("kept", "kept/backups"),
        ("kept/backups/inner", "kept/backups"),
        ("farm", "farm/data"),
        ("farm/data", "farm/data"),
        ("farm/data/databases", "farm/data/databases"),
        ("farm/data/databases/inner", "farm/data/databases"),
        ("farm/data/blobs/inner", "farm/data/blobs"),
        ("strange", "strange/data"),
        ("strange/data", "strange/data"),
        ("strange/data/inner", "strange/data"),
        ("strange/data/blobs/inner", "strange/data/blobs"),
    ] {
        let said = add(&place.text(path)).unwrap_err().output;
        let real = repository::real_path(&place.path(path)).unwrap().display().to_string();
        assert!(said.contains(&real), "{path}: {said}");
        assert!(said.contains(&place.text(other)), "{path}: {said}");
        assert!(
            [" lies within ", " is the data directory of ", " is a directory that "]
                .iter()
                .any(|how| said.contains(how)),
            "{path}: {said}"
        );
        assert!(said.contains("choose "), "{path}: {said}");
    }
    assert!(add("").unwrap_err().output.contains("needs a directory"));
    assert!(!place.path("far/inner").exists());
    assert!(!place.path("kept/store.toml").exists());
    add("stores/new").unwrap();
    farm.json(&["blobs", "stores", "add", "beside", "--kind", "directory", "--path", &place.text("kept/store")]);

    // Restores and backups into directories that overlap stores, backup destinations or other farms are refused as
    // well.
    for (path, other, what) in [
        ("kept/backups/inner", "kept/backups", "a backup destination"),
        ("kept/backups", "kept/backups", "a backup destination"),
        ("kept", "kept/backups", "a backup destination"),
        ("link/inner", "far", "a BLOB store"),
        ("farm/data/blobs/inner", "farm/data/blobs", "a BLOB store"),
    ] {
        let refused = Farm::at(place.path(path)).run(&["restore", &place.text("kept/backups")]).unwrap_err().output;
        let told =
            refused.contains(&place.text(other)) && refused.contains(what) && refused.contains("directory outside");
        assert!(told, "{path}: {refused}");
    }
    std::fs::create_dir(place.path("around")).unwrap();
    std::fs::rename(place.path("far"), place.path("around/far")).unwrap();
    let refused = Farm::at(place.path("around")).run(&["restore", &place.text("kept/backups")]).unwrap_err().output;
    assert!(refused.contains(&place.text("around/far")), "{refused}");
    assert!(refused.contains("a BLOB store"), "{refused}");
    for (path, other) in [("strange/data/inner", "strange/data"), ("around", "around/far")] {
        let refused = farm.run(&["backup", &place.text(path)]).unwrap_err().output;
        assert!(refused.contains(&place.text(other)), "{path}: {refused}");
        assert!(refused.contains("choose a directory"), "{path}: {refused}");
    }
    Farm::at(place.path("restored")).json(&["restore", &place.text("kept/backups")]);
    farm.json(&["backup", &place.text("kept/backups")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_farm_and_its_backups_write_is_for_nobody_else() {
    let scratch = tempfile::tempdir().unwrap();
    let (data, backup) = (scratch.path().join("data"), scratch.path().join("backup"));
    for place in [&data, &backup] {
        std::fs::create_dir(place).unwrap();
        std::fs::set_permissions(place, Permissions::from_mode(0o755)).unwrap();
    }
    let farm = Farm::at(&data);
    let server = farm.start();
    assert!(server.client(&farm.token()).put("a.bin", bytes(1, 60_000)).await.unwrap().status.is_success());
    farm.json(&["backup", backup.to_str().unwrap()]);
    for place in [&data, &backup] {
        let open: Vec<PathBuf> = files_below(place)
            .into_iter()
            .filter(|path| std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o077 != 0))
            .collect();
        assert!(!files_below(place).is_empty(), "open to others: {open:?}");
        assert!(open.is_empty(), "open to others: {open:?}");
    }
}

fn answers(farm: &Farm, store: &str) -> bool {
    let stores = farm.json(&["blobs", "stores", "list"]);
    let found = stores.as_array().unwrap().iter().find(|row| row["name"] == store).unwrap_or(&Value::Null);
    found["answers"] == json!(true)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_whose_disk_is_not_mounted_is_never_made_anew_by_itself() {
    let farm = Farm::on(Engine::Sqlite).await;
    let server = farm.start();
    let token = farm.token();
    for (store, seed) in [("share", 1), ("files", 2)] {
        if store == "share" {
            farm.json(&["blobs", "stores", "add", "share", "--kind", "directory", "--path", "share"]);
        }
        farm.json(&["blobs", "policy", "set", "--database", "main", "--active", store]);
        let stored = server.client(&token).put(&format!("{store}.bin"), bytes(seed, 60_000)).await.unwrap();
        assert!(stored.status.is_success(), "{}", stored.text());
    }
    assert!(server.stop().success());
    for (store, place, seed) in [("share", "share", 1), ("files", "blobs", 2)] {
        farm.json(&["blobs", "policy", "set", "--database", "main", "--active", store]);
        let (place, away) = (farm.data.join(place), farm.data.join("away"));
        std::fs::rename(&place, &away).unwrap();
        // First an empty mount point, then a missing one.
        for there in [true, false] {
            if there {
                std::fs::create_dir(&place).unwrap();
            } else {
                std::fs::remove_dir(&place).unwrap();
            }
            assert!(!answers(&farm, store), "{store}");
            let server = farm.start();
            let client = server.client(&token);
            let refused = client.put("new.bin", bytes(9, 60_000)).await.unwrap();
            assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{}", refused.text());
            let unreachable = client.get(&format!("{store}.bin")).await.unwrap();
            assert_eq!(unreachable.status, StatusCode::SERVICE_UNAVAILABLE, "{store}");
            let health = farm.run(&["blobs", "health"]).unwrap_or_else(|refusal| refusal.output);
            assert!(health.contains("does not answer"), "{health}");
            assert!(!health.contains("missing or damaged"), "{health}");
            assert!(server.stop().success());
            assert_eq!(place.exists(), there, "nothing is made there");
        }
        std::fs::rename(&away, &place).unwrap();
        let server = farm.start();
        assert!(server.client(&token).get(&format!("{store}.bin")).await.unwrap().body == bytes(seed, 60_000));
        // The disk becomes unavailable while the server runs.
        std::fs::rename(&place, &away).unwrap();
        // The store was measured at the start, and is measured again when that is no longer new.
        let client = server.client(&token);
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let health = client.send(reqwest::Method::GET, "/api/v1/farm/health", Vec::new()).await.unwrap();
            if health.text().contains("does not answer") {
                break;
            }
            assert!(Instant::now() < end, "{}", health.text());
            // sleep: between two looks.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        std::fs::rename(&away, &place).unwrap();
        assert!(server.stop().success());
    }
    farm.check_blobs();
    // The store is permanently lost.
    std::fs::remove_dir_all(farm.data.join("share")).unwrap();
    farm.json(&["blobs", "stores", "make-anew", "share"]);
    assert!(answers(&farm, "share"));
    assert!(farm.run(&["blobs", "stores", "make-anew", "share"]).unwrap_err().output.contains("still exists"));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_farm_is_made_within_another_one_and_no_backups_where_a_disk_is_away() {
    let place = Place::new();
    let farm = Farm::at(place.path("data"));
    let server = farm.start();
    let away = place.text("mount/x/backups");
    let refused = farm.run(&["backup", &away]).unwrap_err();
    assert!(refused.output.contains(&place.text("mount/x")), "{}", refused.output);
    assert!(refused.output.contains("mount its disk"), "{}", refused.output);
    assert!(!place.path("mount").exists(), "something was made where a disk is away");
    let backups = place.text("backups");
    farm.json(&["backup", &backups]);
    let inner = farm.data.join("sub");
    let refused = Farm::at(&inner).run(&["restore", &backups]).unwrap_err();
    assert!(refused.output.contains("the data directory of a farm"), "{}", refused.output);
    assert!(!inner.exists());
    let refused = Farm::at(&inner).try_start().err().expect("a farm was made within another one");
    assert!(refused.output.contains("the data directory of a farm"), "{}", refused.output);
    assert!(!inner.exists());
    // A drill may have its scratch directory within the data directory.
    farm.json(&["backup", "verify", &backups, "--drill"]);
    let taken = farm.run(&["blobs", "stores", "add", "one", "--kind", "directory", "--path", &place.text("one")]);
    taken.unwrap();
    let again = farm.run(&["blobs", "stores", "add", "two", "--kind", "directory", "--path", &place.text("one")]);
    let said = again.unwrap_err().output;
    assert!(said.contains(&format!("({})", place.text("one"))), "{said}");
    assert!(server.stop().success());
}

//! Interrupted restores, and directories that are unsuitable for one. A partial farm is never taken for a complete one,
//! no files of other users or of an earlier farm are lost, and a repeated restore completes.

use std::path::Path;
use std::process::{Command, Stdio};

use database::Engine;
use serde_json::Value;

use crate::support::backups::{Place, compare, document, fill, filled};
use crate::support::{Farm, file_with, files_below};

const NOTE: &str = "restore-unfinished.json";

/// Starts a restore into a directory and kills it once `shows` returns true. Returns false if the restore ended before.
fn cut(words: &[&str], data: &Path, shows: impl Fn() -> bool) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "--", env!("CARGO_BIN_EXE_strongroom"), "restore"]).args(words);
    command.arg("--data").arg(data).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = command.spawn().unwrap();
    while !shows() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        std::hint::spin_loop();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    data.join(NOTE).exists()
}

/// Asserts that everything but a restore refuses the directory and says what to do.
fn refuses(farm: &Farm, source: &str, more: &str) {
    let server = farm.try_start().map(|_| "it serves").unwrap_err().output;
    let others: [&[&str]; 4] = [
        &["blobs", "status"],
        &["user", "list"],
        &["backup", source],
        &["restore", source, "--document", "Documents/a"],
    ];
    let others = others.map(|words| farm.run(words).unwrap_err().output);
    for said in others.iter().chain([&server]) {
        assert!(said.contains("did not finish"), "{said}");
        assert!(said.contains(&format!("strongroom restore {source}")), "{said}");
        assert!(said.contains(more), "{said}");
    }
}

async fn cut_short_anywhere(engine: Engine) {
    let place = Place::new();
    let (farm, _server, _client) = filled(engine, 24).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    let mut words = vec![destination.clone()];
    for database in ["main", "configuration"].into_iter().filter(|_| engine == Engine::Postgres) {
        let url = database::testing::fresh_postgres().await;
        words.extend(["--database-url".to_owned(), format!("{database}={url}")]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let copy = Farm::at(place.path("copy"));
    let note = copy.data.join(NOTE);
    let loaded = || std::fs::read_to_string(&note).is_ok_and(|note| note.contains("postgres://"));
    let put = || copy.data.join("databases/main.sqlite").exists();
    let moments: [&dyn Fn() -> bool; 2] = match engine {
        Engine::Sqlite => [&|| note.exists(), &put],
        Engine::Postgres => [&|| note.exists(), &loaded],
    };
    for shows in moments {
        let was_cut = (0..20).any(|_| {
            let was_cut = cut(&words, &copy.data, shows);
            if !was_cut {
                std::fs::remove_dir_all(&copy.data).unwrap();
            }
            was_cut
        });
        assert!(was_cut, "no restoration could be cut short");
        refuses(&copy, &destination, &copy.data.display().to_string());
    }
    copy.json(&[&["restore"], &words[..]].concat());
    assert!(!note.exists());
    copy.check_blobs();
    let server = copy.start();
    compare(&server.client(&copy.token_named("restored")), "kept", 24).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_farm_is_named_and_becomes_a_whole_one_on_sqlite() {
    cut_short_anywhere(Engine::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_farm_is_named_and_becomes_a_whole_one_on_postgres() {
    cut_short_anywhere(Engine::Postgres).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_farm_that_is_replaced_is_whole_or_named_and_its_databases_are_kept() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 12).await;
    let destination = place.text("backups");
    let taken = farm.json(&["backup", &destination]);
    fill(&client, "later", 6).await;
    assert!(server.stop().success());
    let kept = || {
        let files = files_below(&farm.data.join("databases")).into_iter();
        files.filter(|file| file.to_str().unwrap().contains("main.sqlite.before-restore-")).collect::<Vec<_>>()
    };
    let words = [destination.as_str(), "--force"];
    // As long as nothing has been replaced, the farm is unchanged.
    assert!(!cut(&words, &farm.data, || farm.data.join("restore-incoming").exists()));
    farm.json(&["blobs", "status"]);
    let stored = place.path("backups/data/large");
    let lost = file_with(&stored, &document("kept", 5)).0;
    std::fs::rename(&lost, place.path("lost")).unwrap();
    std::fs::remove_file(file_with(&farm.data.join("blobs"), &document("kept", 5)).0).unwrap();
    assert!(farm.run(&["restore", &destination, "--force"]).unwrap_err().output.contains("5.bin"));
    assert!(kept().is_empty());
    farm.json(&["blobs", "status"]);
    std::fs::rename(place.path("lost"), &lost).unwrap();

    // The stopped server and later commands may have left a WAL next to the database. The two belong together.
    let with_log = |file: &Path| {
        let log = std::fs::read(format!("{}-wal", file.display())).unwrap_or_default();
        (std::fs::read(file).unwrap(), log)
    };
    let original = with_log(&farm.data.join("databases/main.sqlite"));
    let mut was_cut = cut(&words, &farm.data, || !kept().is_empty());
    for _ in 0..20 {
        if was_cut {
            break;
        }
        was_cut = cut(&words, &farm.data, || farm.data.join(NOTE).exists());
    }
    assert!(was_cut, "no restoration could be cut short");
    refuses(&farm, &destination, taken["id"].as_str().unwrap());
    farm.json(&["restore", &destination]);
    assert!(kept().iter().any(|file| with_log(file) == original), "{:?}", kept());
    let server = farm.start();
    let client = server.client(&farm.token_named("restored"));
    compare(&client, "kept", 12).await;
    assert!(!client.get("later/0.bin").await.unwrap().status.is_success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_database_that_was_half_replaced_is_named_and_replaced() {
    let place = Place::new();
    let (farm, server, _client) = filled(Engine::Sqlite, 6).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    assert!(server.stop().success());
    let words = [destination.as_str(), "--content-database", "main"];
    let was_cut = (0..20).any(|_| cut(&words, &farm.data, || farm.data.join(NOTE).exists()));
    assert!(was_cut, "no restoration could be cut short");
    refuses(&farm, &destination, "--content-database main");
    let other = farm.run(&["restore", &destination, "--content-database", "other"]).unwrap_err();
    assert!(other.output.contains("did not finish"), "{}", other.output);
    farm.json(&["restore", &destination, "--content-database", "main"]);
    farm.check_blobs();
    let server = farm.start();
    compare(&server.client(&farm.token_named("restored")), "kept", 6).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_have_in_a_directory_stays_alone() {
    let place = Place::new();
    let (farm, server, _client) = filled(Engine::Sqlite, 6).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    let full = Farm::at(place.path("full"));
    std::fs::create_dir(&full.data).unwrap();
    std::fs::write(full.data.join("letter.txt"), "dear").unwrap();
    for force in [&[][..], &["--force"]] {
        let refused = full.run(&[&["restore", destination.as_str()], force].concat()).unwrap_err();
        assert!(refused.output.contains("such as \"letter.txt\""), "{refused:?}");
        assert!(refused.output.contains("empty directory"), "{refused:?}");
    }
    assert_eq!(files_below(&full.data), [full.data.join("letter.txt")], "nothing else came");
    // Stores that outlived their farm do not count as foreign content.
    assert!(server.stop().success());
    let moved = Farm::at(place.path("moved"));
    std::fs::create_dir(&moved.data).unwrap();
    std::fs::rename(farm.data.join("blobs"), moved.data.join("blobs")).unwrap();
    let back = moved.json(&["restore", &destination]);
    assert_eq!((&back["copied_blobs"], &back["missing_blobs"]), (&Value::from(0), &Value::from(0)), "{back:#}");
}

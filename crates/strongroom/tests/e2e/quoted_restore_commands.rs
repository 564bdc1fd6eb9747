//! Errors name the damaged part and the command that restores it, and exactly this command works.

use std::fs;
use std::path::Path;
use std::process::Command;

use database::configuration::job;
use database::{Database, Engine, Location, Options, Schema, Transaction};
use model::{Id, Timestamp};

use crate::support::backups::{Place, document, filled};
use crate::support::{Farm, bytes, damage, file_with, files_below};

/// Overwrites either the first 100 bytes of a file or everything after the first 4,096.
fn garble(file: &Path, header: bool) {
    let mut found = fs::read(file).unwrap();
    let part = if header { 0..100 } else { 4_096..found.len() };
    found[part].fill(0x5a);
    fs::write(file, found).unwrap();
}

/// Runs the `strongroom restore` command that an error message quotes, in another directory. Only BACKUP is replaced.
fn follow(said: &str, backup: &str) {
    let quoted = said.split('`').find(|part| part.starts_with("strongroom restore BACKUP ")).expect(said);
    let words = quoted.strip_prefix("strongroom").unwrap().replace("BACKUP", backup);
    let elsewhere = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("{}{words}", env!("CARGO_BIN_EXE_strongroom"))]).current_dir(elsewhere.path());
    let ended = shell.output().unwrap();
    assert!(ended.status.success(), "{quoted}: {}", String::from_utf8_lossy(&ended.stderr));
}

/// Adds errors about BLOBs to a job, as left by a store that does not respond.
async fn add_errors(configuration: &Path, job: Id, count: usize) {
    let place = Location::Sqlite(configuration.to_owned());
    let database = Database::open(&place, Schema::Configuration, &Options::default()).await.unwrap();
    let write = move |transaction: &mut Transaction<'_>| {
        (0..count).try_for_each(|number| {
            job::put_error(transaction, job, &format!("{number:064x}"), "no answer", Timestamp::now())
        })
    };
    database.write(write).await.unwrap();
    database.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_configuration_database_is_named_with_what_brings_it_back() {
    let place = Place::new();
    let (farm, server, _client) = filled(Engine::Sqlite, 3).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    assert!(server.stop().success());
    let file = farm.data.join("configuration.sqlite");
    let help = format!("`strongroom restore BACKUP --data {} --force`", farm.data.display());
    for header in [true, false] {
        garble(&file, header);
        let before = fs::read(&file).unwrap();
        let served = farm.try_start().err().expect("the server starts on a damaged database").output;
        let asked = farm.run(&["blobs", "status"]).unwrap_err().output;
        for said in [served, asked.clone()] {
            assert!(said.contains(&format!("the configuration database {}", file.display())), "{said}");
            assert!(said.contains("is damaged"), "{said}");
            assert!(said.contains(&help), "{said}");
            assert!(
                said.contains("the whole farm, including its other databases, to the state of the backup"),
                "{said}"
            );
            assert!(said.contains("later changes are lost"), "{said}");
            assert!(!said.contains("stay there"), "{said}");
        }
        assert!(fs::read(&file).unwrap() == before, "it was changed");
        follow(&asked, &destination);
        farm.check_blobs();
    }
    farm.start();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_database_that_lacks_changes_is_not_called_damaged() {
    let (farm, server, _client) = filled(Engine::Sqlite, 1).await;
    assert!(server.stop().success());
    let file = farm.data.join("configuration.sqlite");
    let older = fs::read(&file).unwrap();
    farm.token_named("later");
    fs::write(&file, &older).unwrap();
    let served = farm.try_start().err().expect("the server starts on a database that lacks changes").output;
    let asked = farm.run(&["blobs", "status"]).unwrap_err().output;
    for said in [served, asked] {
        assert!(said.contains("a database lacks "), "{said}");
        assert!(said.contains(" acknowledged changes"), "{said}");
        assert!(said.contains("whose name ends with -commits"), "{said}");
        assert!(said.contains(file.to_str().unwrap()), "{said}");
        assert!(!said.contains("is damaged"), "{said}");
        assert!(!said.contains("--force"), "{said}");
    }
    assert!(fs::read(&file).unwrap() == older, "it was changed");
    fs::remove_file(farm.data.join("configuration.sqlite-commits")).unwrap();
    farm.start();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_content_database_that_lacks_changes_may_go_on_without_them() {
    let (farm, server, _client) = filled(Engine::Sqlite, 1).await;
    assert!(server.stop().success());
    let file = farm.data.join("databases/main.sqlite");
    let older = fs::read(&file).unwrap();
    let server = farm.start();
    let client = server.client(&farm.token_named("another"));
    assert!(client.put("later.bin", bytes(9, 300)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    fs::write(&file, &older).unwrap();
    let mut server = farm.spawn();
    server.wait_until_it_listens();
    let said = server.output();
    assert!(said.contains("remove the file beside it whose name ends with -commits"), "{said}");
    assert!(server.stop().success());
    let checked = farm.run(&["blobs", "check"]).unwrap_err().output;
    assert!(checked.contains("A database that only lacks changes can continue without them"), "{checked}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_content_database_is_named_with_what_brings_it_back() {
    let place = Place::new();
    let (farm, server, _client) = filled(Engine::Sqlite, 3).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    assert!(server.stop().success());
    let file = farm.data.join("databases/main.sqlite");
    let help = format!("`strongroom restore BACKUP --data {} --content-database main`", farm.data.display());
    for header in [true, false] {
        garble(&file, header);
        let mut server = farm.spawn();
        server.wait_until_it_listens();
        let said = server.output();
        assert!(said.contains(file.to_str().unwrap()), "{said}");
        assert!(said.contains(&help), "{said}");
        assert!(server.stop().success());
        let checked = farm.run(&["blobs", "check"]).unwrap_err().output;
        assert!(checked.contains(&help), "{checked}");
        assert!(!checked.contains("jobs resume"), "{checked}");
        assert!(checked.contains("to the state of the backup: later changes to it are lost"), "{checked}");
        // More errors than are shown, and in the second case more than one page of them.
        let job = latest_job(&farm);
        let configuration = farm.data.join("configuration.sqlite");
        add_errors(&configuration, job.parse().unwrap(), if header { 25 } else { 1_025 }).await;
        let shown = farm.run(&["jobs", "show", &job]).unwrap();
        assert!(shown.contains(&help), "{shown}");
        assert!(!shown.contains("\ndatabase main"), "{shown}");
        follow(&shown, &destination);
        farm.check_blobs();
    }
}

/// The identifier of the latest job.
fn latest_job(farm: &Farm) -> String {
    farm.json(&["jobs", "list"])[0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn jobs_name_what_helps_and_going_on_only_where_it_does() {
    let place = Place::new();
    let (farm, _server, _client) = filled(Engine::Sqlite, 6).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    damage(&farm.data.join("blobs"), &document("kept", 5));
    let repair = "`strongroom blobs repair --from-backup BACKUP` brings missing and damaged BLOBs back";
    for words in [&["blobs", "check"][..], &["blobs", "faults"]] {
        let said = farm.run(words).unwrap_err().output;
        assert!(said.contains(repair), "{words:?}: {said}");
        assert!(!said.contains("jobs resume"), "{words:?}: {said}");
    }
    let shown = farm.run(&["jobs", "show", &latest_job(&farm)]).unwrap();
    assert!(shown.contains(repair), "{shown}");
    assert!(!shown.contains("jobs resume"), "{shown}");

    farm.json(&["blobs", "stores", "add", "second", "--kind", "directory", "--path", "second"]);
    let moved = farm.run(&["blobs", "migrate", "--from", "files", "--to", "second"]).unwrap_err().output;
    let resume = format!("`strongroom jobs resume {}`", latest_job(&farm));
    assert!(moved.contains(repair), "{moved}");
    assert!(moved.contains(&format!("{resume} then processes what was skipped")), "{moved}");
    farm.json(&["blobs", "repair", "--from-backup", &destination]);
    let id = latest_job(&farm);
    farm.json(&["jobs", "resume", &id]);
    let ended = farm.run(&["jobs", "show", &id]).unwrap();
    assert!(!ended.contains("jobs resume"), "{ended}");
    assert!(!ended.contains("repair"), "{ended}");
    farm.check_blobs();

    // Once an unavailable store is back, its BLOBs are checked again.
    fs::rename(farm.data.join("second"), farm.data.join("away")).unwrap();
    let away = farm.run(&["blobs", "check"]).unwrap_err().output;
    assert!(away.contains("jobs resume"), "{away}");
    assert!(!away.contains("strongroom restore"), "{away}");
    fs::rename(farm.data.join("away"), farm.data.join("second")).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_restoration_leaves_is_not_called_an_upload_that_broke_off() {
    let place = Place::new();
    let (farm, server, client) = filled(Engine::Sqlite, 3).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination]);
    assert!(client.put("later.bin", bytes(9, 900_000)).await.unwrap().status.is_success());
    assert!(server.stop().success());
    farm.json(&["restore", &destination, "--force"]);
    assert!(file_with(&farm.data.join("blobs"), &bytes(9, 900_000)).0.exists());
    let said = farm.run(&["blobs", "check"]).unwrap();
    assert!(said.contains("1 BLOB ("), "{said}");
    assert!(said.contains("or by a restore of an older state"), "{said}");
    assert!(said.contains("set aside may still need them"), "{said}");
    assert!(!said.contains("no harm"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repair_of_nothing_says_what_can_be_repaired_and_where_secrets_are_looked_for() {
    let scratch = tempfile::tempdir().unwrap();
    // The arguments are refused before the farm is opened, so this works even without a farm.
    let farm = Farm::at(scratch.path().join("data"));
    let said = farm.run(&["blobs", "repair"]).unwrap_err().output;
    for way in
        ["repair --from-backup BACKUP`", "repair BLOB --from-backup BACKUP`", "repair BLOB`: one BLOB, from another"]
    {
        assert!(said.contains(&format!("`strongroom blobs {way}")), "{said}");
    }
    let program = || {
        let mut command = Command::new(env!("CARGO_BIN_EXE_strongroom"));
        command.env_remove("STRONGROOM_LAB_TOKEN").current_dir(scratch.path());
        command
    };
    for words in [&["lab", "agent", "--listen", "127.0.0.1:0"][..], &["lab", "run", "mixed", "--agents", "127.0.0.1:1"]]
    {
        let ended = program().args(words).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains("--token"), "{words:?}: {said}");
        assert!(said.contains("variable STRONGROOM_LAB_TOKEN"), "{words:?}: {said}");
    }
    let ended = program().args(["backup", "list", "s3://bucket/farm", "--s3-key-id", "us"]).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(said.contains("variable STRONGROOM_BACKUP_S3_SECRET"), "{said}");
    assert!(files_below(scratch.path()).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_in_refusals_are_readable() {
    let (farm, _server, client) = filled(Engine::Sqlite, 1).await;
    farm.json(&["site", "quota", "/", "1536k"]);
    let refused = client.put("large.bin", bytes(1, 3 << 20)).await.unwrap();
    let text = refused.text();
    assert!(
        text.contains("quota of 1.5 MiB (1,572,864 bytes) does not allow 3 MiB (3,145,728 bytes) more"),
        "{}: {text}",
        refused.status
    );
    let sites = farm.json(&["site", "list"]).to_string();
    assert!(sites.contains("\"quota_bytes\":1572864"), "{sites}");
    let limits = farm.run(&["blobs", "health", "--limits"]).unwrap();
    assert!(limits.contains("200 GiB"), "{limits}");
    assert!(!limits.contains("214748364800"), "{limits}");
    let collected = farm.run(&["blobs", "collect"]).unwrap();
    assert!(collected.contains("deleted (0 bytes)") || collected.contains("(0 bytes) deleted"), "{collected}");
}

//! Backups of whole PostgreSQL servers: taken during uploads, unpacked, started and served. Restores of single parts,
//! and servers that cannot be copied, are refused.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use database::Engine;
use database::testing::{Cluster, fresh_postgres};
use reqwest::StatusCode;

use crate::support::backups::{Place, SIZES, by_description, compare, document, fill, filled};
use crate::support::{Farm, Ledger, Random, files_below, keep_no_versions};

/// A directory that the PostgreSQL server's user can enter.
fn open_place() -> Place {
    let place = Place::new();
    std::fs::set_permissions(place.path(""), PermissionsExt::from_mode(0o755)).unwrap();
    place
}

/// The database name in a URL.
fn name_of(address: &str) -> &str {
    address.rsplit('/').next().unwrap()
}

fn sql(address: &str, text: &str) {
    let output =
        Command::new("psql").args(["-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", text, address]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_farm_comes_back_with_its_whole_server() {
    let place = open_place();
    let (content, configuration) = (fresh_postgres().await, fresh_postgres().await);
    let farm = Farm::with_databases(&content, &configuration);
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    keep_no_versions(&client).await;
    fill(&client, "kept", 12).await;
    let destination = place.text("backups");
    let take = || farm.json(&["backup", &destination, "--postgres", "basebackup"]);
    // Documents are created, replaced and deleted while the server is copied.
    let (ledger, stop) = (Ledger::new(4, 4, SIZES), Arc::new(AtomicBool::new(false)));
    let load = ledger.load(&client, &mut Random::fresh(), &stop);
    ledger.wait_for(10).await;
    let first = take();
    stop.store(true, Ordering::Relaxed);
    load.join_all().await;
    take();
    let third = take();
    println!("{} bytes at first, {} at last", first["new_bytes"], third["new_bytes"]);
    // No BLOB is stored again. The server's changed files are stored, including databases of other tests.
    assert!(third["new_bytes"].as_u64().unwrap() <= third["database_bytes"].as_u64().unwrap(), "{third:#}");
    let listed = farm.json(&["backup", "list", &destination]);
    assert_eq!(listed["sets"][0]["servers"].as_array().unwrap().len(), 1, "{listed:#}");
    let scratch = place.text("");
    let verified = farm.run(&["backup", "verify", &destination, "--drill", "--scratch", &scratch]).unwrap();
    assert!(verified.contains("versions of documents"), "{verified}");
    assert!(!place.path("strongroom-drill").exists());
    assert!(!place.path("strongroom-drill-servers").exists());

    let refused = |farm: &Farm, words: &[&str], why: &str| {
        let refusal = farm.run(&[&["restore", &destination], words].concat()).unwrap_err();
        assert!(refusal.output.contains(why), "{words:?}: {}", refusal.output);
    };
    refused(&farm, &["--document", "Documents/kept/3.bin"], "copy of the whole PostgreSQL server");
    refused(&farm, &["--library", "Documents"], "restore that server first");
    refused(&farm, &["--site", "/"], "restore that server first");
    refused(&farm, &["--content-database", "main"], "restore that server first");
    let copy = Farm::at(place.path("copy"));
    refused(&copy, &[], "restore that server first with --postgres-directory");

    // Restores the older of the two backups into a new directory.
    let set = first["id"].as_str().unwrap();
    let out = by_description(&place, "backups", set);
    let tar = std::fs::read_dir(&out).unwrap().map(|entry| entry.unwrap().path());
    let tar = tar.into_iter().find(|path| path.extension().is_some_and(|end| end == "tar")).unwrap();
    let files = Command::new("tar").arg("--list").arg("--file").arg(&tar).output().unwrap();
    assert!(files.status.success(), "{files:?}");
    assert!(String::from_utf8_lossy(&files.stdout).contains("PG_VERSION"), "{files:?}");
    let document = document("kept", 3);
    let found = std::fs::read(out.join("blobs").join(blobs::digest_of(&document).to_string())).unwrap();
    assert!(found == document);
    let cluster = place.text("cluster");
    let unpacked = copy.json(&["restore", &destination, "--set", set, "--postgres-directory", &cluster]);
    let told = &unpacked["servers"][0];
    assert_eq!(told["directory"], cluster.as_str(), "{unpacked:#}");
    assert!(told["start"].as_str().unwrap().contains(&format!("pg_ctl -D {cluster} -w start")), "{unpacked:#}");
    assert!(unpacked["next"].as_str().unwrap().contains("--database-url main="), "{unpacked:#}");
    assert!(!place.path("copy/configuration.sqlite").exists());
    refused(&copy, &["--postgres-directory", &cluster], "is not empty");

    let running = Cluster::start(&place.path("cluster"), &[]);
    let url = |name: &str, address: &str| format!("{name}={}", running.address(name_of(address)));
    let (main, ours) = (url("main", &content), url("configuration", &configuration));
    let theirs = format!("configuration={configuration}");
    let words = ["--set", set, "--database-url", &main, "--database-url"];
    refused(&copy, &[&words[..], &[&theirs]].concat(), "is not the one of this set");
    assert!(server.stop().success());
    let back = copy.json(&[&["restore", &destination], &words[..], &[&ours]].concat());
    assert_eq!(back["missing_blobs"], 0, "{back:#}");
    assert!(back["copied_blobs"].as_u64().unwrap() >= 8, "{back:#}");
    copy.check_blobs();
    let server = copy.start();
    let client = server.client(&token);
    compare(&client, "kept", 12).await;
    for path in (0..4).flat_map(|writer| (0..4).map(move |path| format!("load/w{writer}/{path}.bin"))) {
        let answer = client.get(&path).await.unwrap();
        assert!([StatusCode::OK, StatusCode::NOT_FOUND].contains(&answer.status), "{path}: {}", answer.status);
    }
    fill(&client, "new", 6).await;
    compare(&client, "new", 6).await;
    assert!(server.stop().success());

    // The restored farm is backed up as usual, unless its server does not allow a base backup.
    drop(running);
    let running = Cluster::start(&place.path("cluster"), &["max_wal_senders=0"]);
    let other = place.text("other");
    let refusal = copy.run(&["backup", &other, "--postgres", "basebackup"]).unwrap_err();
    assert!(refusal.output.contains("max_wal_senders is 0"), "{}", refusal.output);
    copy.json(&["backup", &other]);
    drop(running);
    let _running = Cluster::start(&place.path("cluster"), &[]);
    copy.json(&["backup", &other, "--postgres", "basebackup"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_copied_as_a_whole_is_refused_with_the_remedy() {
    let place = Place::new();
    let (embedded, _server, _client) = filled(Engine::Sqlite, 1).await;
    let destination = place.text("backups");
    let refusal = embedded.run(&["backup", &destination, "--postgres", "basebackup"]).unwrap_err();
    assert!(refusal.output.contains("no database on a PostgreSQL server"), "{}", refusal.output);
    let refusal = embedded.run(&["backup", &destination, "--postgres", "wishes"]).unwrap_err();
    assert!(refusal.output.contains("dump or basebackup"), "{}", refusal.output);
    embedded.json(&["backup", &destination]);
    let refusal = embedded.run(&["restore", &destination, "--postgres-directory", &place.text("x")]).unwrap_err();
    assert!(refusal.output.contains("no copy of a PostgreSQL server"), "{}", refusal.output);

    let (content, configuration) = (fresh_postgres().await, fresh_postgres().await);
    sql(&content, "CREATE ROLE plain LOGIN");
    for address in [&content, &configuration] {
        sql(address, &format!("ALTER DATABASE {} OWNER TO plain", name_of(address)));
    }
    let plain = |address: &str| address.replace("postgres@", "plain@");
    let farm = Farm::with_databases(&plain(&content), &plain(&configuration));
    let _server = farm.start();
    let destination = place.text("theirs");
    let refusal = farm.run(&["backup", &destination, "--postgres", "basebackup"]).unwrap_err();
    assert!(refusal.output.contains("ALTER ROLE \"plain\" REPLICATION"), "{}", refusal.output);
    sql(&content, "ALTER ROLE plain REPLICATION");
    farm.json(&["backup", &destination, "--postgres", "basebackup"]);

    // No server is created from damaged data.
    let chunk = files_below(&place.path("theirs/data/large")).pop().unwrap();
    let mut bytes = std::fs::read(&chunk).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0x10;
    std::fs::write(&chunk, bytes).unwrap();
    let refusal = farm.run(&["restore", &destination, "--postgres-directory", &place.text("half")]).unwrap_err();
    assert!(refusal.output.contains("cannot be restored from this set"), "{}", refusal.output);
    assert!(!place.path("half").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_and_files_come_back_together_and_pruning_keeps_what_servers_need() {
    let place = open_place();
    let content = fresh_postgres().await;
    let farm = Farm::with_content(&content);
    let server = farm.start();
    let token = farm.token();
    let client = server.client(&token);
    fill(&client, "kept", 6).await;
    let destination = place.text("backups");
    farm.json(&["backup", &destination, "--postgres", "basebackup"]);
    farm.json(&["backup", &destination]);
    fill(&client, "later", 6).await;
    farm.json(&["backup", &destination, "--postgres", "basebackup", "--retain", "last=1"]);
    let verified = farm.json(&["backup", "verify", &destination]);
    assert_eq!((&verified["fault_count"], verified["sets"].as_array().unwrap().len()), (&0.into(), 1), "{verified:#}");
    assert!(server.stop().success());

    let copy = Farm::at(place.path("copy"));
    let cluster = place.text("cluster");
    copy.json(&["restore", &destination, "--postgres-directory", &cluster]);
    let running = Cluster::start(&place.path("cluster"), &[]);
    let main = format!("main={}", running.address(name_of(&content)));
    copy.json(&["restore", &destination, "--database-url", &main]);
    copy.check_blobs();
    let server = copy.start();
    let client = server.client(&token);
    compare(&client, "kept", 6).await;
    compare(&client, "later", 6).await;

    // Each server gets its own directory.
    copy.json(&["site", "database", "add", "second", "--location", &fresh_postgres().await]);
    let other = place.text("other");
    copy.json(&["backup", &other, "--postgres", "basebackup"]);
    let unpacked = copy.json(&["restore", &other, "--postgres-directory", &place.text("both")]);
    let servers = unpacked["servers"].as_array().unwrap();
    assert_eq!(servers.len(), 2, "{unpacked:#}");
    for server in servers {
        let directory = std::path::Path::new(server["directory"].as_str().unwrap());
        assert_eq!(directory.parent(), Some(place.path("both").as_path()));
        assert!(directory.join("PG_VERSION").exists());
        assert!(directory.join("backup_label").exists());
    }
}

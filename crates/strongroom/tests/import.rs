//! Runs `strongroom import`, `export`, `site` and `blobs` as an administrator would, during the operation of a server
//! and after kills.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like tests")]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_strongroom");
const PASSWORD: &str = "the-admin-password";

/// A server that is stopped when the test ends, even if it panics.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut process = program(data, &["serve", "--listen", "127.0.0.1:0"])
            .env("STRONGROOM_ADMIN_PASSWORD", PASSWORD)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let greeting = output.lines().map_while(Result::ok).find(|line| line.starts_with("Strongroom serves at"));
        let address = greeting.unwrap().trim_start_matches("Strongroom serves at ").trim_end_matches('/').to_owned();
        Self { process, address }
    }

    async fn get(&self, path: &str) -> (u16, Vec<u8>) {
        let url = format!("{}/api/v1/content/{path}", self.address);
        let response = reqwest::Client::new().get(url).basic_auth("admin", Some(PASSWORD)).send().await.unwrap();
        (response.status().as_u16(), response.bytes().await.unwrap().to_vec())
    }

    async fn put(&self, path: &str, bytes: Vec<u8>) -> u16 {
        let url = format!("{}/api/v1/content/{path}", self.address);
        let request = reqwest::Client::new().put(url).basic_auth("admin", Some(PASSWORD)).body(bytes);
        request.send().await.unwrap().status().as_u16()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A data directory with a farm and no running server.
fn farm() -> tempfile::TempDir {
    let data = tempfile::tempdir().unwrap();
    drop(Server::start(data.path()));
    data
}

fn program(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data").arg(data).current_dir(data).stdin(Stdio::null());
    command
}

fn run(data: &Path, arguments: &[&str]) -> Output {
    program(data, arguments).output().unwrap()
}

/// Runs a command with `--json`. Returns its exit status and output.
fn json(data: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = program(data, arguments).arg("--json").output().unwrap();
    let status = output.status.code().unwrap();
    let value = serde_json::from_slice(&output.stdout);
    (status, value.unwrap_or_else(|_| panic!("{arguments:?}: {}", String::from_utf8_lossy(&output.stderr))))
}

fn fault(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// Files of several size classes, each with different bytes.
fn tree(files: usize) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for n in 0..files {
        let directory = root.path().join(format!("{}", n % 20));
        std::fs::create_dir_all(&directory).unwrap();
        let size = [100, 3_000, 40_000, 1_500_000][if n % 50 == 49 { 3 } else { n % 3 }];
        let mut bytes = format!("file {n} ").into_bytes();
        bytes.resize(size, (n % 251) as u8);
        std::fs::write(directory.join(format!("{n}.bin")), bytes).unwrap();
    }
    root
}

fn same(one: &Path, other: &Path) {
    let output = Command::new("diff").args(["-r", "-q"]).arg(one).arg(other).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn import_and_export_work_beside_a_server_that_takes_uploads_meanwhile() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path());
    let source = tree(600);
    let import = program(data.path(), &["import", text(source.path()), "Documents", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut uploads = 0;
    let importing = tokio::task::spawn_blocking(move || import.wait_with_output().unwrap());
    while !importing.is_finished() || uploads < 5 {
        assert_eq!(server.put(&format!("Documents/meanwhile/{uploads}.txt"), vec![b'x'; 50_000]).await, 201);
        uploads += 1;
    }
    let output = importing.await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((summary["created"].as_u64(), summary["folders"].as_u64()), (Some(600), Some(20)));

    let bytes = std::fs::read(source.path().join("9/49.bin")).unwrap();
    assert_eq!(server.get("Documents/9/49.bin").await, (200, bytes));

    let destination = tempfile::tempdir().unwrap();
    let (status, exported) = json(data.path(), &["export", "Documents", text(destination.path())]);
    assert_eq!((status, exported["written"].as_u64()), (0, Some(600 + uploads)));
    std::fs::remove_dir_all(destination.path().join("meanwhile")).unwrap();
    same(source.path(), destination.path());
    let (status, checked) = json(data.path(), &["blobs", "check"]);
    assert_eq!((status, checked["faults"].as_array().unwrap().len()), (0, 0));
}

#[test]
fn an_import_that_was_killed_goes_on_where_it_was_and_loses_nothing() {
    let data = farm();
    let source = tree(2_000);
    let arguments = ["import", text(source.path()), "Documents"];
    for delay in [150, 300, 450] {
        let mut import = program(data.path(), &arguments).stdout(Stdio::null()).spawn().unwrap();
        // sleep: the kill may come at any moment, it waits for nothing
        std::thread::sleep(Duration::from_millis(delay));
        import.kill().unwrap();
        import.wait().unwrap();
    }
    let (status, last) = json(data.path(), &arguments);
    assert_eq!(status, 0, "{last}");
    assert_eq!(last["created"].as_u64().unwrap() + last["unchanged"].as_u64().unwrap(), 2_000);
    assert_eq!(last["replaced"], 0, "nothing was stored in part");
    let (_, again) = json(data.path(), &arguments);
    assert_eq!((again["created"].as_u64(), again["unchanged"].as_u64()), (Some(0), Some(2_000)));
    let destination = tempfile::tempdir().unwrap();
    json(data.path(), &["export", "Documents", text(destination.path())]);
    same(source.path(), destination.path());
    let (status, _) = json(data.path(), &["blobs", "check"]);
    assert_eq!(status, 0);
}

#[test]
fn what_was_not_taken_is_told_in_words_in_a_report_and_by_the_exit_status() {
    let data = farm();
    let source = tempfile::tempdir().unwrap();
    std::fs::write(source.path().join("good.txt"), "good").unwrap();
    std::os::unix::fs::symlink("/etc", source.path().join("link")).unwrap();
    let report = data.path().join("report.jsonl");
    let output = run(data.path(), &["import", text(source.path()), "Documents", "--report", text(&report)]);
    assert_eq!(output.status.code(), Some(1));
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("1 document imported"), "{shown}");
    assert!(shown.contains("link: it is a symbolic link"), "{shown}");
    let lines = std::fs::read_to_string(&report).unwrap();
    let line: Value = serde_json::from_str(lines.trim()).unwrap();
    assert_eq!((line["path"].as_str(), line["reason"].as_str()), (Some("link"), Some("link")));

    // Kernel files report lengths that differ from their content. None is imported, and nothing hangs.
    let (status, summary) = json(data.path(), &["import", "/proc/sys/kernel/random", "Documents"]);
    assert_eq!((status, summary["created"].as_u64()), (1, Some(0)));
    assert!(summary["not_taken"]["changed"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn what_cannot_be_done_says_what_to_do() {
    let data = farm();
    let missing = fault(data.path(), &["import", "/no/such/place", "Documents"]);
    assert!(missing.contains("/no/such/place"), "{missing}");
    assert!(fault(data.path(), &["import", ".", "NoLibrary"]).contains("NoLibrary"));
    assert!(fault(data.path(), &["import", ".", "/"]).contains("SITE/LIBRARY"));
    assert!(fault(data.path(), &["export", "/", "out"]).contains("SITE/LIBRARY"));
    assert!(fault(data.path(), &["import", ".", "../etc"]).contains("\"..\""));
    std::fs::write(data.path().join("map.toml"), "[user]\nann = 'ann'\n").unwrap();
    let mapping = fault(data.path(), &["import", ".", "Documents", "--mapping", "map.toml"]);
    assert!(mapping.contains("unknown field `user`"), "{mapping}");
    let empty = tempfile::tempdir().unwrap();
    // The error must not suggest to start the server: that would create another farm, although the cause may be an
    // unmounted disk.
    let no_farm = fault(empty.path(), &["import", ".", "Documents"]);
    assert!(no_farm.contains("`--data DIRECTORY`") && no_farm.contains("disk is mounted"), "{no_farm}");
    assert!(!no_farm.contains("strongroom serve"), "{no_farm}");
    assert!(
        fault(data.path(), &["blobs", "policy", "set", "--database", "other", "--active", "files"]).contains("main")
    );
    assert!(fault(data.path(), &["blobs", "policy", "set", "--database", "main", "--active", "x"]).contains("files"));
}

#[test]
fn sites_go_into_the_content_database_that_was_named() {
    let data = farm();
    let (status, _) = json(data.path(), &["site", "database", "add", "second"]);
    assert_eq!((status, data.path().join("databases/second.sqlite").exists()), (0, true));
    assert!(fault(data.path(), &["site", "database", "add", "Second"]).contains("already"));
    let (_, site) = json(data.path(), &["site", "create", "sites/sales", "--database", "second"]);
    assert_eq!((site["database"].as_str(), site["title"].as_str()), (Some("second"), Some("sales")));
    assert!(
        fault(data.path(), &["site", "create", "sites/more", "--database", "third"]).contains("no content database")
    );
    json(data.path(), &["site", "add-library", "sites/sales/Offers", "--versioning", "major-minor"]);

    let source = tree(30);
    let (status, summary) = json(data.path(), &["import", text(source.path()), "sites/sales/Offers"]);
    assert_eq!((status, summary["created"].as_u64()), (0, Some(30)));
    let (_, site) = json(data.path(), &["site", "show", "sites/SALES"]);
    assert_eq!(site["documents"], 30);
    let (_, sites) = json(data.path(), &["site", "list"]);
    assert_eq!(sites.as_array().unwrap().len(), 2);

    // An import that reaches a quota ends with advice, and continues once the quota is raised.
    json(data.path(), &["site", "quota", "sites/sales", "1.2M"]);
    std::fs::write(source.path().join("more.bin"), vec![1; 900_000]).unwrap();
    assert!(fault(data.path(), &["import", text(source.path()), "sites/sales/Offers"]).contains("quota"));
    json(data.path(), &["site", "quota", "sites/sales", "none"]);
    let (_, summary) = json(data.path(), &["import", text(source.path()), "sites/sales/Offers"]);
    assert_eq!((summary["created"].as_u64(), summary["unchanged"].as_u64()), (Some(1), Some(30)));
}

#[test]
fn a_policy_counts_for_the_next_upload_and_a_check_names_the_documents_of_damage() {
    let data = farm();
    let source = tempfile::tempdir().unwrap();
    std::fs::write(source.path().join("one.bin"), vec![1; 20_000]).unwrap();
    json(data.path(), &["import", text(source.path()), "Documents"]);
    let (_, policy) = json(data.path(), &["blobs", "policy", "set", "--database", "main", "--minimum-size", "64k"]);
    assert_eq!((policy["active_store"].as_str(), policy["minimum_size"].as_u64()), (Some("files"), Some(65_536)));
    std::fs::write(source.path().join("two.bin"), vec![2; 20_000]).unwrap();
    json(data.path(), &["import", text(source.path()), "Documents"]);
    json(data.path(), &["blobs", "policy", "set", "--database", "main", "--active", "database"]);
    std::fs::write(source.path().join("three.bin"), vec![3; 200_000]).unwrap();
    json(data.path(), &["import", text(source.path()), "Documents"]);
    let (_, policies) = json(data.path(), &["blobs", "policy", "show"]);
    assert_eq!(policies[0]["active_store"], "database");

    let (_, status) = json(data.path(), &["blobs", "status"]);
    let stores = status["stores"].as_array().unwrap();
    let blobs = |name: &str| stores.iter().find(|store| store["name"] == name).unwrap()["blobs"].as_u64().unwrap();
    assert_eq!((blobs("files"), blobs("database")), (1, 2));
    let (status, checked) = json(data.path(), &["blobs", "check"]);
    assert_eq!((status, checked["blobs"].as_u64(), checked["references"].as_u64()), (0, Some(3), Some(3)));

    damage(&data.path().join("blobs"), &[1; 64]);
    let (status, checked) = json(data.path(), &["blobs", "check"]);
    assert_eq!((status, checked["faults"].as_array().unwrap().len()), (1, 1), "{checked}");
    assert_eq!(checked["faults"][0]["documents"][0]["path"], "Documents/one.bin");
    let words = run(data.path(), &["blobs", "check"]);
    assert_eq!(words.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&words.stdout).contains("Documents/one.bin"));
}

/// Flips a bit in the first occurrence of these bytes below `directory`.
fn damage(directory: &Path, bytes: &[u8]) {
    let mut waiting: Vec<PathBuf> = vec![directory.to_owned()];
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(std::fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
            continue;
        }
        let mut content = std::fs::read(&path).unwrap();
        if let Some(at) = content.windows(bytes.len()).position(|window| window == bytes) {
            content[at] ^= 1;
            std::fs::write(path, content).unwrap();
            return;
        }
    }
    panic!("no file below {} holds the bytes", directory.display());
}

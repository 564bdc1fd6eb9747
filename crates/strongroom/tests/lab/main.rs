//! Runs `strongroom lab` as a user would, against a running server of the same program.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail like tests")]

mod interrupted;
mod searches;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_strongroom");
const PASSWORD: &str = "the-admin-password";

/// A plan with all operations and a corpus that is loaded in a second.
const PLAN: &str = r#"
name = "small"
thresholds = ["errors < 0.01%"]
[corpus]
sites = 2
libraries = 2
folders = 3
files = [{ size = "3KB", count = 20, spread = 0.4 }, { size = "60KB", count = 4 }]
[load]
users = 4
duration = "9s"
"#;

/// A server that is stopped when the test ends, even if it panics.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(data: &Path) -> Self {
        Self::start_with(data, &[])
    }

    fn start_with(data: &Path, words: &[&str]) -> Self {
        let mut process = Command::new(PROGRAM)
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .args(words)
            .env("STRONGROOM_ADMIN_PASSWORD", PASSWORD)
            // Variables of the lab must not be taken for settings of the server.
            .env("STRONGROOM_LAB_PASSWORD", "another")
            .env("STRONGROOM_LAB_TOKEN", "a word")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let greeting = output.lines().map_while(Result::ok).find(|line| line.starts_with("Strongroom serves at"));
        let address = greeting.unwrap().trim_start_matches("Strongroom serves at ").trim_end_matches('/').to_owned();
        Self { process, address }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn lab(directory: &Path, words: &[&str]) -> Output {
    Command::new(PROGRAM).arg("lab").args(words).current_dir(directory).stdin(Stdio::null()).output().unwrap()
}

fn fault(directory: &Path, words: &[&str]) -> String {
    let output = lab(directory, words);
    assert_eq!(output.status.code(), Some(2), "{words:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn plan_of(operations: &[String]) -> String {
    let parts = operations.iter().map(|name| format!("[[mix]]\noperation = \"{name}\"\nweight = 1\n"));
    PLAN.to_owned() + &parts.collect::<String>()
}

/// Names of the operations that a kind of target offers, as the program lists them.
fn operations(directory: &Path, webdav: bool) -> Vec<String> {
    let listed = String::from_utf8(lab(directory, &["operations"]).stdout).unwrap();
    let lines = listed.lines().skip(1).filter(|line| !webdav || line.contains("any WebDAV server"));
    lines.map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

#[test]
fn every_operation_succeeds_on_a_running_server() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(&directory.path().join("farm"));
    let all = operations(directory.path(), false);
    assert!(all.len() > 20, "{all:?}");
    let listed: Value = serde_json::from_slice(&lab(directory.path(), &["operations", "--json"]).stdout).unwrap();
    let names = listed["operations"].as_array().unwrap().iter().map(|of| of["name"].as_str().unwrap());
    assert!(names.eq(all.iter()), "{listed:#}");
    std::fs::write(directory.path().join("small.toml"), plan_of(&all)).unwrap();
    let words = [
        "run",
        "small.toml",
        "--target",
        &server.address,
        "--user",
        "admin",
        "--password",
        PASSWORD,
        "--out",
        "out",
        "--json",
    ];
    // Operations are drawn by chance, and a busy machine does few in one run.
    let mut done = BTreeSet::new();
    for _ in 0..5 {
        let output = lab(directory.path(), &words);
        let said: Value = serde_json::from_slice(&output.stdout).unwrap();
        let result = &said["result"];
        assert_eq!(result["faults"].as_array().map(Vec::len), Some(0), "{:#}", result["faults"]);
        assert_eq!(result["target_version"], format!("Strongroom {}", env!("CARGO_PKG_VERSION")));
        assert_eq!(result["thresholds"][0]["passed"], true);
        // On a machine that is busy with other tests the figures may be invalid, and the result then says so.
        assert_eq!(output.status.code(), Some(i32::from(said["passed"] == false)));
        let counted = result["operations"].as_array().unwrap().iter().filter(|of| of["done"].as_u64() > Some(0));
        done.extend(counted.map(|of| of["label"].as_str().unwrap().to_owned()));
        if done.len() == all.len() {
            break;
        }
    }
    assert!(done.iter().eq(all.iter().collect::<BTreeSet<_>>()), "{done:?} of {all:?}");
    for ending in ["json", "md", "html"] {
        assert!(directory.path().join(format!("out/small.{ending}")).exists());
    }
    let same = lab(directory.path(), &["compare", "out/small.json", "out/small.json", "--json"]);
    let same: Value = serde_json::from_slice(&same.stdout).unwrap();
    assert!(same["differences"].as_array().unwrap().iter().all(|of| of["significant"] == false), "{same:#}");
    assert_eq!(same["unlike"].as_array().map(Vec::len), Some(0), "{same:#}");
}

#[test]
fn more_users_of_pages_than_one_account_holds_have_accounts_for_the_time_of_a_run() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(&directory.path().join("farm"));
    // With a single account for all users, the first sessions would end as the last users sign in.
    let load = "users = 120\nthink = \"3s\"\nramp = \"6s\"\nwarmup = \"6s\"";
    let plan = plan_of(&["home-page".to_owned(), "library-page".to_owned(), "sign-in".to_owned()]);
    let plan = plan.replace("users = 4", load);
    std::fs::write(directory.path().join("crowd.toml"), plan).unwrap();
    let words = |user: &'static str| {
        let address = server.address.as_str();
        ["run", "crowd.toml", "--target", address, "--user", user, "--password", PASSWORD, "--json"]
    };
    let output = lab(directory.path(), &words("admin"));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["result"]["faults"].as_array().map(Vec::len), Some(0), "{:#}", said["result"]["faults"]);
    assert!(said["result"]["total"]["done"].as_u64() > Some(100), "{said:#}");
    let ask = |path: &str, change: Option<&str>| {
        let mut curl = Command::new("curl");
        curl.args(["-sS", "-f", "-u", &format!("admin:{PASSWORD}"), &format!("{}{path}", server.address)]);
        if let Some(change) = change {
            curl.args(["-H", "content-type: application/json", "-d", change]);
        }
        let output = curl.output().unwrap();
        assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let site: Value = serde_json::from_str(&ask("/api/v1/items/by-path?path=", None)).unwrap();
    let permissions = format!("/api/v1/items/{}/permissions", site["id"].as_str().unwrap());
    for path in ["/api/v1/users", "/api/v1/groups", &permissions] {
        assert!(!ask(path, None).to_lowercase().contains("lab"), "{path}: what was made for the run is gone");
    }
    let person = format!(r#"{{ "login": "ann", "password": "{PASSWORD}" }}"#);
    let person: Value = serde_json::from_str(&ask("/api/v1/users", Some(&person))).unwrap();
    let roles: Value = serde_json::from_str(&ask("/api/v1/roles", None)).unwrap();
    let all = roles["items"].as_array().unwrap().iter().find(|role| role["name"] == "Full control").unwrap();
    let grant = format!(r#"{{ "principal": {}, "role": {} }}"#, person["id"], all["id"]);
    ask(&format!("{permissions}/grants"), Some(&grant));
    let refused = fault(directory.path(), &words("ann"));
    assert!(refused.contains("need 3 accounts"), "{refused}");
    assert!(refused.contains("at most 50 users"), "{refused}");
}

#[test]
fn what_cannot_be_run_is_said_and_not_waited_for() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let small = plan_of(&["download".to_owned()]);
    std::fs::write(path.join("small.toml"), &small).unwrap();
    std::fs::write(path.join("wrong.toml"), small.replace("duration", "duratoin")).unwrap();
    assert!(fault(path, &["run", "wrong.toml"]).contains("did you mean \"duration\""));
    assert!(fault(path, &["run", "qiuck"]).contains("did you mean \"quick\""));
    assert!(fault(path, &["run", "capacity"]).contains("there are quick, files"));
    for (label, why) in [("", "label is empty"), (&*"x".repeat(300), "at most 100"), ("a\nb", "control characters")] {
        assert!(fault(path, &["run", "small.toml", "--label", label, "--out", "out"]).contains(why), "{label}");
    }
    assert!(!path.join("out").exists(), "nothing was made for a run that has no name");
    std::fs::write(path.join("hostile.toml"), small.replace("\"download\"", "\"down\\u001b[2Jload\"")).unwrap();
    let said = fault(path, &["run", "hostile.toml"]);
    assert!(said.contains("[2Jload"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said}");
    assert!(fault(path, &["run", "missing.toml"]).contains("missing.toml cannot be read"));
    assert!(fault(path, &["run", "small.toml"]).contains("names no target"));
    assert!(fault(path, &["run", "small.toml", "--target", "http://127.0.0.1:1"]).contains("no connection"));
    assert!(fault(path, &["run", "small.toml", "--target", "http://192.0.2.1"]).contains("does not name 192.0.2.1"));
    assert!(
        fault(path, &["run", "small.toml", "--target", "http://127.0.0.1:1", "--out", "/dev/null/x"])
            .contains("cannot be written")
    );
    assert!(fault(path, &["compare", "small.toml", "small.toml"]).contains("is not the result of a run"));
    std::fs::write(path.join("broken.json"), "{ \"version\": 1 }").unwrap();
    assert!(fault(path, &["compare", "broken.json", "broken.json"]).contains("broken.json is damaged"));
    assert!(fault(path, &["paper", "rbs-1999"]).contains("rbs-2010"));
    assert!(fault(path, &["agent", "--token", "short"]).contains("16 characters"));
    let server = Server::start(&path.join("farm"));
    let words = ["run", "small.toml", "--target", &server.address, "--user", "admin", "--password", "wrong"];
    assert!(fault(path, &words).contains("refuses these credentials"));
}

#[test]
fn a_paper_is_run_on_both_configurations() {
    let directory = tempfile::tempdir().unwrap();
    let words =
        ["paper", "rbs-2010", "--scale", "0.0002", "--users", "60", "--seconds", "6", "--scratch", ".", "--out", "out"];
    let output = lab(directory.path(), &words);
    let text = std::fs::read_to_string(directory.path().join("out/rbs-2010.md"));
    let text = text.unwrap_or_else(|_| String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(text.contains("| database with its log, GB | 217 | 7.00 | 0.03 |"), "{text}");
    assert!(!text.contains("is partial"), "{text}");
    let crawl = text.lines().find(|line| line.starts_with("| objects/s")).unwrap();
    assert!(!crawl.contains("not measured"), "{crawl}");
    let sizes = text.lines().find(|line| line.starts_with("| external data, GB")).unwrap();
    let cells: Vec<f64> = sizes.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
    // The paper has 0 and 96.2. Here the first configuration has nothing outside the database, and the second has the
    // documents there.
    assert!(cells[2] < 0.001, "{sizes}");
    assert!(cells[3] > 0.001, "{sizes}");
    let left: Vec<_> = std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["out"], "the scratch farms are gone");
}

#[test]
fn a_corpus_that_was_imported_is_what_a_run_expects() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let plan = plan_of(&["download".to_owned(), "list-folder".to_owned()]).replace("\"9s\"", "\"2s\"");
    std::fs::write(path.join("small.toml"), plan).unwrap();
    let output = lab(path, &["corpus", "small.toml", "--folder", "tree", "--json"]);
    let written: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&written["documents"], &written["written"]["documents"]), (&24.into(), &24.into()), "{written}");
    let again = lab(path, &["corpus", "small.toml", "--folder", "tree", "--json"]);
    assert_eq!(serde_json::from_slice::<Value>(&again.stdout).unwrap()["written"]["documents"], 0);
    let server = Server::start(&path.join("farm"));
    let imported =
        Command::new(PROGRAM).args(["import", "tree", "Documents", "--data", "farm"]).current_dir(path).output();
    let imported = imported.unwrap();
    assert!(imported.status.success(), "{}", String::from_utf8_lossy(&imported.stderr));
    let words = ["run", "small.toml", "--target", &server.address, "--user", "admin", "--password", PASSWORD];
    let more = ["--root", "Documents", "--live", "127.0.0.1:0", "--json"];
    let output = lab(path, &[&words[..], &more[..]].concat());
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["result"]["corpus"]["loaded"]["documents"], 0, "the import brought all of it");
    assert_eq!(said["result"]["faults"].as_array().map(Vec::len), Some(0), "{:#}", said["result"]["faults"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("can be followed at http://127.0.0.1:"));
    // A directory in the place of a result file: the result is still shown.
    std::fs::create_dir_all(path.join("out/small.json")).unwrap();
    let output = lab(path, &[&words[..], &["--root", "Documents", "--out", "out", "--json"]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("small.json cannot be written"));
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(said["result"]["total"]["done"].as_u64() > Some(0));
    assert!(said["files"] == Value::Array(Vec::new()));
    let load = said["result"]["load"].as_str().unwrap();
    assert_eq!(load, "closed model, 4 users without pauses; 2 s counted");
}

#[tokio::test]
async fn a_paper_is_run_on_postgresql() {
    let databases = [database::testing::fresh_postgres().await, database::testing::fresh_postgres().await];
    let tables = |database: &str, command: &str| {
        let psql = Command::new("psql").args(["-X", "-q", "-A", "-t", "-d", database, "-c", command]).output().unwrap();
        assert!(psql.status.success(), "{}", String::from_utf8_lossy(&psql.stderr));
        String::from_utf8(psql.stdout).unwrap().trim().to_owned()
    };
    let count = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    let both = databases.join(",");
    let directory = tempfile::tempdir().unwrap();
    let words = ["paper", "rbs-2010", "--scale", "0.0002", "--users", "60", "--seconds", "4"];
    let more = ["--scratch", ".", "--out", "out", "--postgresql", &both];
    let output = lab(directory.path(), &[&words[..], &more[..]].concat());
    let text = std::fs::read_to_string(directory.path().join("out/rbs-2010-postgresql.md"));
    let text = text.unwrap_or_else(|_| String::from_utf8_lossy(&output.stderr).into_owned());
    assert!(text.contains("databases on PostgreSQL"), "{text}");
    let sizes = text.lines().find(|line| line.starts_with("| database with its log, GB")).unwrap_or_default();
    let cells: Vec<f64> = sizes.split('|').filter_map(|cell| cell.trim().parse().ok()).collect();
    // Documents in the database make it larger than the database whose documents are external.
    assert!(cells[3] > cells[4], "{sizes}");
    assert!(cells[4] > 0.001, "{sizes}");
    assert!(fault(directory.path(), &["paper", "rbs-2010", "--postgresql", "postgres://a"]).contains("two databases"));
    assert_eq!(databases.each_ref().map(|database| tables(database, count)), ["0", "0"], "both are empty again");
    tables(&databases[1], "CREATE TABLE somebody_elses (id int)");
    let said = fault(directory.path(), &["paper", "rbs-2010", "--postgresql", &both]);
    assert!(said.contains("is not empty"), "{said}");
    assert_eq!(tables(&databases[1], count), "1");
}

#[test]
fn a_target_is_reached_by_tls_when_its_certificate_is_trusted() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
                 -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
                 -keyout key.pem -out certificate.pem";
    let made = Command::new("openssl").args(words.split_whitespace()).current_dir(path).output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (certificate, key) = (path.join("certificate.pem"), path.join("key.pem"));
    let tls = ["--tls-certificate", certificate.to_str().unwrap(), "--tls-key", key.to_str().unwrap()];
    let server = Server::start_with(&path.join("farm"), &tls);
    assert!(server.address.starts_with("https://"), "{}", server.address);
    let plan = plan_of(&["download".to_owned(), "upload".to_owned()]).replace("\"9s\"", "\"2s\"");
    std::fs::write(path.join("small.toml"), plan).unwrap();
    let words = ["run", "small.toml", "--target", &server.address, "--user", "admin", "--password", PASSWORD, "--json"];
    let said = fault(path, &words);
    assert!(said.contains("no connection to https://127.0.0.1"), "{said}");
    assert!(said.contains("certificate"), "{said}");
    let plain = server.address.replace("https://", "http://");
    let said = fault(path, &["run", "small.toml", "--target", &plain, "--user", "admin", "--password", PASSWORD]);
    assert!(said.contains("if the server speaks TLS, write https://"), "{said}");
    let mut trusting = Command::new(PROGRAM);
    trusting.arg("lab").args(words).current_dir(path).env("SSL_CERT_FILE", &certificate);
    let output = trusting.output().unwrap();
    let said: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(said["result"]["faults"].as_array().map(Vec::len), Some(0), "{:#}", said["result"]["faults"]);
    assert!(said["result"]["total"]["done"].as_u64() > Some(10), "{}", String::from_utf8_lossy(&output.stderr));
}

//! Runs `strongroom user` and `strongroom group` as an administrator would, with and without a server on the same
//! directory.

#![expect(clippy::unwrap_used, reason = "helpers of tests fail like tests")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_strongroom");

/// A server that is stopped when the test ends, even if it panics.
struct Server {
    process: Child,
    address: String,
}

impl Server {
    fn start(data: &Path) -> Self {
        let mut process = program(data, &["serve", "--listen", "127.0.0.1:0"])
            .env("STRONGROOM_ADMIN_PASSWORD", "the-admin-password")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(process.stdout.take().unwrap());
        let greeting = output.lines().map_while(Result::ok).find(|line| line.starts_with("Strongroom serves at"));
        let address = greeting.unwrap().trim_start_matches("Strongroom serves at ").trim_end_matches('/').to_owned();
        Self { process, address }
    }

    /// Status of a request for a document that does not exist: 404 for an authenticated user, 401 otherwise.
    async fn status(&self, authorize: impl FnOnce(reqwest::RequestBuilder) -> reqwest::RequestBuilder) -> u16 {
        let request = reqwest::Client::new().get(format!("{}/api/v1/content/Documents/none.txt", self.address));
        authorize(request).send().await.unwrap().status().as_u16()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn program(data: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data").arg(data).current_dir(data);
    command
}

fn run(data: &Path, arguments: &[&str]) -> Output {
    program(data, arguments).stdin(Stdio::null()).output().unwrap()
}

fn json(data: &Path, arguments: &[&str]) -> Value {
    let output = program(data, arguments).arg("--json").stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn fault(data: &Path, arguments: &[&str]) -> String {
    let output = run(data, arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_and_tokens_count_at_the_next_request_of_a_running_server() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    let server = Server::start(data);

    let ann = json(data, &["user", "add", "ann", "--name", "Ann Archer"]);
    let password = ann["password"].as_str().unwrap().to_owned();
    let basic = async || server.status(|request| request.basic_auth("ann", Some(&password))).await;
    assert_eq!(basic().await, 404);
    let token = json(data, &["user", "token", "create", "ann", "robot", "--days", "3"]);
    let secret = token["secret"].as_str().unwrap().to_owned();
    let bearer = async || server.status(|request| request.bearer_auth(&secret)).await;
    assert_eq!(bearer().await, 404);

    assert_eq!(json(data, &["user", "disable", "ann"])["disabled"], true);
    assert_eq!((basic().await, bearer().await), (401, 401));
    json(data, &["user", "enable", "ann"]);
    assert_eq!((basic().await, bearer().await), (404, 404));
    json(data, &["user", "password", "ann"]);
    assert_eq!((basic().await, bearer().await), (401, 404));
    json(data, &["user", "token", "revoke", "ann", token["id"].as_str().unwrap()]);
    assert_eq!(bearer().await, 401);
    assert!(fault(data, &["user", "disable", "admin"]).contains("last administrator"));
}

#[test]
fn without_a_server_people_are_managed_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let data = directory.path();
    assert!(fault(data, &["user", "list"]).contains("there is no farm in"));
    drop(Server::start(data));

    json(data, &["user", "add", "ann", "--without-password", "--email", "ann@example.org"]);
    let mut set = program(data, &["user", "password", "ann", "--password-stdin"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    set.stdin.take().unwrap().write_all(b"a password of her own\n").unwrap();
    assert!(set.wait().unwrap().success());
    assert!(fault(data, &["user", "password", "ann", "--password-stdin"]).contains("standard input"));
    assert!(fault(data, &["user", "add", "ANN"]).contains("taken"));

    json(data, &["group", "add", "Sales", "--description", "who sells"]);
    let sales = json(data, &["group", "member", "add", "sales", "ann", "admin"]);
    assert_eq!(sales["members"].as_array().unwrap().len(), 2);
    assert!(fault(data, &["group", "member", "remove", "Sales", "admin", "nobody"]).contains("nobody"));
    assert_eq!(json(data, &["group", "member", "list", "Sales"]).as_array().unwrap().len(), 2);
    json(data, &["group", "member", "remove", "Sales", "admin"]);
    assert_eq!(json(data, &["group", "member", "list", "Sales"])[0]["login"], "ann");

    json(data, &["user", "change", "ann", "--login-name", "anna", "--administrator", "true"]);
    assert_eq!(json(data, &["user", "show", "anna"])["administrator"], true);
    json(data, &["user", "delete", "anna"]);
    assert_eq!(json(data, &["user", "list"]).as_array().unwrap().len(), 1);
    json(data, &["group", "remove", "Sales"]);
    assert_eq!(json(data, &["group", "list"]).as_array().unwrap().len(), 1);

    let table = String::from_utf8(run(data, &["user", "list"]).stdout).unwrap();
    assert!(table.starts_with("LOGIN"), "{table}");
    assert!(table.contains("administrator"), "{table}");
}

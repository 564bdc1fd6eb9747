//! Runs and papers that are interrupted. The measurements so far are shown, and nothing is left behind.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::{PASSWORD, PROGRAM, Server, plan_of};

/// Maximum number of polls, 50 ms apart.
const ASKED: u32 = 1_200;

/// A running lab command.
struct Going {
    process: Child,
    /// Lines on standard error so far.
    said: Vec<String>,
    lines: std::io::Lines<BufReader<std::process::ChildStderr>>,
}

impl Going {
    fn start(directory: &Path, words: &[&str]) -> Self {
        let mut command = Command::new(PROGRAM);
        command.arg("lab").args(words).current_dir(directory).env("STRONGROOM_LAB_PASSWORD", PASSWORD);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().unwrap();
        let lines = BufReader::new(process.stderr.take().unwrap()).lines();
        Self { process, said: Vec::new(), lines }
    }

    /// Reads lines until one contains `word`, and returns it.
    fn line(&mut self, word: &str) -> String {
        loop {
            let line = self.lines.next().unwrap_or_else(|| panic!("it ended after {:?}", self.said)).unwrap();
            self.said.push(line.clone());
            if line.contains(word) {
                return line;
            }
        }
    }

    fn signal(&self, name: &str) {
        let sent = Command::new("kill").args([name, &self.process.id().to_string()]).status().unwrap();
        assert!(sent.success());
    }

    /// Waits for the end. Returns the exit status, standard output and standard error.
    fn end(mut self) -> (Option<i32>, String, String) {
        let mut printed = String::new();
        self.process.stdout.take().unwrap().read_to_string(&mut printed).unwrap();
        self.said.extend(self.lines.map_while(Result::ok));
        (self.process.wait().unwrap().code(), printed, self.said.join("\n"))
    }
}

fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    for _ in 0..ASKED {
        if is_there() {
            return;
        }
        // sleep: the interval between two polls
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("{what} did not come");
}

fn curl(words: &[&str]) -> String {
    let output = Command::new("curl").arg("-sS").args(words).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

fn has_people(server: &Server) -> bool {
    let login = format!("admin:{PASSWORD}");
    ["users", "groups"].iter().any(|kind| {
        let listed = curl(&["-f", "-u", &login, &format!("{}/api/v1/{kind}", server.address)]);
        assert!(listed.contains("items"), "{listed}");
        listed.to_lowercase().contains("lab")
    })
}

#[test]
fn an_interrupted_run_says_what_it_counted_and_takes_its_accounts_away() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(&directory.path().join("farm"));
    let plan = plan_of(&["home-page".to_owned(), "download".to_owned()]);
    let plan = plan.replace("users = 4", "users = 120\nthink = \"1s\"").replace("\"9s\"", "\"50s\"");
    std::fs::write(directory.path().join("crowd.toml"), plan).unwrap();
    let words =
        ["run", "crowd.toml", "--target", &server.address, "--user", "admin", "--json", "--live", "127.0.0.1:0"];
    for signal in ["-INT", "-TERM"] {
        let mut run = Going::start(directory.path(), &words);
        let page = run.line("can be followed at").split_whitespace().last().unwrap().to_owned();
        let mut seconds = 0;
        wait_for("the third second", || {
            let data: Value = serde_json::from_str(&curl(&[&format!("{page}data?from=0")])).unwrap_or_default();
            seconds = data["seconds"].as_array().map_or(0, Vec::len);
            seconds > 2
        });
        assert!(has_people(&server), "120 users of pages need accounts");
        run.signal(signal);
        let (status, printed, said) = run.end();
        let value: Value = serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}{said}"));
        let result = &value["result"];
        let (counted, done) = (result["seconds"].as_u64().unwrap(), result["total"]["done"].as_f64().unwrap());
        assert!(counted >= seconds as u64, "{counted}");
        assert!(counted < 50, "{counted}");
        let rate = result["total"]["rate"].as_f64().unwrap();
        assert!(rate > 0.0, "{rate} for {counted} s are more than {done}");
        assert!(rate * counted as f64 <= done + 0.5, "{rate} for {counted} s are more than {done}");
        assert_eq!((status, &value["passed"]), (Some(1), &Value::Bool(false)));
        let why = result["invalid_because"].to_string();
        assert!(why.contains(&format!("it ended early: {counted} of 50 seconds were counted")), "{why}");
        assert!(!has_people(&server), "{said}");
    }
}

#[test]
fn an_interrupted_run_through_agents_takes_its_accounts_away() {
    let directory = tempfile::tempdir().unwrap();
    let server = Server::start(&directory.path().join("farm"));
    let plan = plan_of(&["home-page".to_owned()]).replace("users = 4", "users = 60").replace("\"9s\"", "\"50s\"");
    std::fs::write(directory.path().join("crowd.toml"), plan).unwrap();
    let token = "a word of agents that nobody guesses";
    let mut agent = Going::start(directory.path(), &["agent", "--listen", "127.0.0.1:0", "--token", token]);
    let place = agent.line("waiting for orders on").split_whitespace().last().unwrap().to_owned();
    let words =
        ["run", "crowd.toml", "--target", &server.address, "--user", "admin", "--json", "--live", "127.0.0.1:0"];
    let mut run = Going::start(directory.path(), &[&words[..], &["--agents", &place, "--token", token]].concat());
    let page = run.line("can be followed at").split_whitespace().last().unwrap().to_owned();
    wait_for("the second second", || {
        let data: Value = serde_json::from_str(&curl(&[&format!("{page}data?from=0")])).unwrap_or_default();
        data["seconds"].as_array().map_or(0, Vec::len) > 1
    });
    run.signal("-INT");
    let (status, printed, said) = run.end();
    assert!(status == Some(1), "{printed}{said}");
    assert!(printed.contains("it ended early"), "{printed}{said}");
    assert!(!has_people(&server), "{said}");
    agent.signal("-INT");
    assert_eq!(agent.end().0, Some(0));
}

#[test]
fn an_interrupted_paper_leaves_neither_a_server_nor_its_farm() {
    let directory = tempfile::tempdir().unwrap();
    let words = ["paper", "rbs-2010", "--scale", "0.0002", "--users", "5", "--seconds", "60", "--scratch", "."];
    for signal in ["-INT", "-TERM"] {
        let mut paper = Going::start(directory.path(), &words);
        paper.line("documents in the store \"database\"");
        let id = paper.process.id();
        let mut server = None;
        wait_for("the server of the scratch farm", || {
            let listed = Command::new("ps").args(["-o", "pid=,args=", "--ppid", &id.to_string()]).output().unwrap();
            let listed = String::from_utf8(listed.stdout).unwrap();
            let line = listed.lines().find(|line| line.contains(" serve "));
            server = line.and_then(|line| line.split_whitespace().next()).map(str::to_owned);
            server.is_some()
        });
        paper.signal(signal);
        let (status, printed, said) = paper.end();
        assert!(status == Some(2), "{status:?} {printed}{said}");
        assert!(said.contains("interrupted"), "{status:?} {printed}{said}");
        assert!(!Path::new("/proc").join(server.unwrap()).exists(), "the server of the scratch farm goes on");
        let left: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["lab-results"], "the scratch farm is gone");
    }
}
